// The order of a dependency graph: tasks in layers by wave, each layer sorted so that few lines cross.

const SWEEPS = 12;
const MOST_BENDS = 6000;
const NEWCOMERS = 1e7;

/**
 * Layers of cells, from left to right. A line that passes over layers has a bend in each of them, and the lines of one
 * task share their bends. `earlier` (id → number) is the order of the last drawing, so that an update moves little.
 */
export function layersOf(tasks, earlier = new Map()) {
  const layers = emptyLayers(tasks);
  const cells = new Map();
  tasks.forEach((task, index) => {
    const cell = cellAt(task.id, layers.rank.get(task.wave), earlier.get(task.id) ?? NEWCOMERS + index);
    cells.set(task.id, cell);
    layers.list[cell.layer].push(cell);
  });
  const routes = connect(tasks, cells, layers.list);
  sortLayers(layers.list);
  return { layers: layers.list, cells, routes };
}

function emptyLayers(tasks) {
  const waves = [...new Set(tasks.map((task) => task.wave))].sort((a, b) => a - b);
  return { list: waves.map(() => []), rank: new Map(waves.map((wave, index) => [wave, index])) };
}

function cellAt(id, layer, place) {
  return { id, layer, place, before: [], after: [], bend: false, y: 0 };
}

/** Join every task with what it needs; the route of a line is the row of cells that it passes. */
function connect(tasks, cells, layers) {
  const routes = [];
  const bends = new Map();
  const room = { left: MOST_BENDS };
  for (const task of tasks) {
    const to = cells.get(task.id);
    for (const need of new Set(task.needs)) {
      const from = cells.get(need);
      if (from && from.layer < to.layer) {
        routes.push({ from: need, to: task.id, cells: route(from, to, layers, bends, room) });
      }
    }
  }
  return routes;
}

function route(from, to, layers, bends, room) {
  const passed = [from];
  for (let layer = from.layer + 1; layer < to.layer && room.left > 0; layer += 1) {
    const key = `${from.id} ${layer}`;
    if (!bends.has(key)) {
      room.left -= 1;
      bends.set(key, Object.assign(cellAt(key, layer, from.place), { bend: true }));
      layers[layer].push(bends.get(key));
    }
    passed.push(bends.get(key));
  }
  passed.push(to);
  for (let index = 1; index < passed.length; index += 1) join(passed[index - 1], passed[index]);
  return passed;
}

function join(left, right) {
  if (left.after.includes(right)) return;
  left.after.push(right);
  right.before.push(left);
}

/** Barycentre sweeps to the right and to the left; the order with the fewest crossings wins. */
function sortLayers(layers) {
  for (const layer of layers) layer.sort((a, b) => a.place - b.place);
  number(layers);
  let best = { crossings: crossings(layers), order: layers.map((layer) => [...layer]) };
  for (let sweep = 0; sweep < SWEEPS && best.crossings > 0; sweep += 1) {
    const side = sweep % 2 === 0 ? "before" : "after";
    const inTurn = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of inTurn) sortBy(layer, side);
    const count = crossings(layers);
    if (count < best.crossings) best = { crossings: count, order: layers.map((layer) => [...layer]) };
  }
  best.order.forEach((order, index) => layers[index].splice(0, layers[index].length, ...order));
  number(layers);
}

function number(layers) {
  for (const layer of layers) layer.forEach((cell, place) => (cell.place = place));
}

function sortBy(layer, side) {
  const wish = new Map(layer.map((cell) => [cell, barycentre(cell, side)]));
  layer.sort((a, b) => wish.get(a) - wish.get(b) || a.place - b.place);
  layer.forEach((cell, place) => (cell.place = place));
}

function barycentre(cell, side) {
  const near = cell[side];
  if (near.length === 0) return cell.place;
  let sum = 0;
  for (const other of near) sum += other.place;
  return sum / near.length;
}

/** How many pairs of lines cross, over all gaps between layers. */
export function crossings(layers) {
  let count = 0;
  for (let index = 1; index < layers.length; index += 1) count += crossingsBetween(layers[index - 1], layers[index]);
  return count;
}

function crossingsBetween(left, right) {
  const ends = [];
  for (const cell of left) ends.push(...cell.after.map((other) => other.place).sort((a, b) => a - b));
  const tree = new Array(right.length + 1).fill(0);
  let count = 0;
  ends.forEach((place, seen) => {
    let below = 0;
    for (let at = place + 1; at > 0; at -= at & -at) below += tree[at];
    count += seen - below;
    for (let at = place + 1; at < tree.length; at += at & -at) tree[at] += 1;
  });
  return count;
}
