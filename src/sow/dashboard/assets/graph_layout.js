// The places of the tasks of a dependency graph: waves are columns from left to right, lines are smooth curves.

import { layersOf } from "./graph_order.js";

export const NODE = { width: 260, height: 70 };
const BETWEEN = 14;
const BEND = 16;
const NARROW_GAP = 56;
const WIDE_GAP = 140;
const PASSES = 8;

/**
 * Places of all tasks ({id, wave, needs}) and the lines between them. It looks at the shape of the graph only, never at
 * a status, so that a live update moves nothing; `earlier` is the last layout, whose order is kept where it can be.
 */
export function layout(tasks, earlier = null) {
  const joined = joinedOf(tasks);
  const linked = tasks.filter((task) => joined.has(task.id));
  const loose = tasks.filter((task) => !joined.has(task.id));
  const order = earlier ? new Map([...earlier.places].map(([id, place]) => [id, place.y])) : undefined;
  const drawn = drawLinked(linked, order);
  placeLoose(loose, drawn);
  return drawn;
}

/** A word that is the same as long as the shape of the graph is the same. */
export function shapeOf(tasks) {
  return tasks.map((task) => `${task.id}:${task.wave}:${task.needs.join(",")}`).join(";");
}

function joinedOf(tasks) {
  const known = new Set(tasks.map((task) => task.id));
  const joined = new Set();
  for (const task of tasks) {
    for (const need of task.needs) {
      if (known.has(need) && need !== task.id) joined.add(need).add(task.id);
    }
  }
  return joined;
}

function drawLinked(tasks, order) {
  const { layers, cells, routes } = layersOf(tasks, order);
  align(layers);
  const columns = columnsOf(layers);
  const places = new Map();
  let height = 0;
  for (const layer of layers) for (const cell of layer) height = Math.max(height, cell.y + sizeOf(cell) / 2);
  for (const [id, cell] of cells) {
    places.set(id, { x: columns[cell.layer], y: cell.y - NODE.height / 2, column: cell.layer });
  }
  const edges = routes.map((each) => ({ from: each.from, to: each.to, path: curve(each.cells, columns) }));
  const width = columns.length ? columns.at(-1) + NODE.width : 0;
  return { places, edges, width, height };
}

function columnsOf(layers) {
  let x = 0;
  return layers.map((layer, index) => {
    if (index > 0) {
      const lines = layers[index - 1].reduce((sum, cell) => sum + cell.after.length, 0);
      x += NODE.width + Math.min(NARROW_GAP + lines * 2, WIDE_GAP);
    }
    return x;
  });
}

/** Heights: every cell goes as near to its neighbours' middle as the order and the room allow. */
function align(layers) {
  for (const layer of layers) spread(layer, () => 0);
  for (let pass = 0; pass < PASSES; pass += 1) {
    const toRight = pass % 2 === 0;
    const last = pass === PASSES - 1;
    for (const layer of toRight ? layers : [...layers].reverse()) {
      spread(layer, (cell) => middle(cell, last ? null : toRight ? "before" : "after"));
    }
  }
  let top = Infinity;
  for (const layer of layers) for (const cell of layer) top = Math.min(top, cell.y - sizeOf(cell) / 2);
  for (const layer of layers) for (const cell of layer) cell.y -= top;
}

function sizeOf(cell) {
  return cell.bend ? BEND : NODE.height + BETWEEN;
}

function middle(cell, side) {
  const near = side ? cell[side] : [...cell.before, ...cell.after];
  if (near.length === 0) return cell.y;
  let sum = 0;
  for (const other of near) sum += other.y;
  return sum / near.length;
}

/** The nearest heights to what the cells wish that keep their order and their distance (pool adjacent violators). */
function spread(layer, wish) {
  const pools = [];
  let offset = 0;
  layer.forEach((cell, index) => {
    if (index > 0) offset += (sizeOf(layer[index - 1]) + sizeOf(cell)) / 2;
    pools.push({ sum: wish(cell) - offset, count: 1 });
    while (pools.length > 1 && mean(pools.at(-2)) > mean(pools.at(-1))) {
      const last = pools.pop();
      pools.at(-1).sum += last.sum;
      pools.at(-1).count += last.count;
    }
  });
  write(layer, pools);
}

function mean(pool) {
  return pool.sum / pool.count;
}

function write(layer, pools) {
  let index = 0;
  let offset = 0;
  for (const pool of pools) {
    const base = mean(pool);
    for (let count = 0; count < pool.count; count += 1, index += 1) {
      if (index > 0) offset += (sizeOf(layer[index - 1]) + sizeOf(layer[index])) / 2;
      layer[index].y = base + offset;
    }
  }
}

function curve(cells, columns) {
  const words = [`M${round(columns[cells[0].layer] + NODE.width)} ${round(cells[0].y)}`];
  for (let index = 1; index < cells.length; index += 1) {
    const [from, to] = [cells[index - 1], cells[index]];
    const start = columns[from.layer] + NODE.width;
    const end = columns[to.layer];
    const half = (start + end) / 2;
    words.push(`C${round(half)} ${round(from.y)} ${round(half)} ${round(to.y)} ${round(end)} ${round(to.y)}`);
    if (to.bend) words.push(`H${round(end + NODE.width)}`);
  }
  return words.join("");
}

function round(value) {
  return Math.round(value * 10) / 10;
}

/** Tasks that need nothing and that nothing needs are in rows below the rest. */
function placeLoose(tasks, drawn) {
  if (tasks.length === 0) return;
  const step = { x: NODE.width + BETWEEN, y: NODE.height + BETWEEN };
  const across = Math.max(Math.ceil(Math.sqrt(tasks.length / 2)), Math.floor((drawn.width + BETWEEN) / step.x), 1);
  const top = drawn.height ? drawn.height + NODE.height : 0;
  tasks.forEach((task, index) => {
    const place = { x: (index % across) * step.x, y: top + Math.floor(index / across) * step.y, column: 0 };
    drawn.places.set(task.id, place);
    drawn.width = Math.max(drawn.width, place.x + NODE.width);
    drawn.height = Math.max(drawn.height, place.y + NODE.height);
  });
}
