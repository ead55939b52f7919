// The places of tasks that are grouped by wave: each wave is a box with a heading. Large graphs are drawn so, and all
// graphs on a narrow screen, because the lines of many tasks cannot be told apart.

import { NODE } from "./graph_layout.js";

const GAP = 10;
const PAD = 14;
export const HEADING = 40;
const BETWEEN = 36;
const SHAPE = 3; // width to height of the whole drawing
const ARC = 44; // room for lines beside a single column

/**
 * Places of all tasks ({id, wave, needs}) and the lines between them. Waves go from left to right, or down in a single
 * column. As in `layout`, no status matters.
 */
export function grouped(tasks, isDown) {
  const waves = new Map();
  for (const task of tasks) waves.set(task.wave, [...(waves.get(task.wave) ?? []), task]);
  const ordered = [...waves].sort(([one], [other]) => one - other);
  const most = isDown ? tasks.length : Math.max(6, Math.round(Math.sqrt((tasks.length * NODE.width) / NODE.height / SHAPE)));
  const drawn = { places: new Map(), groups: [], edges: [], width: 0, height: 0 };
  let start = 0;
  for (const [wave, own] of ordered) {
    const box = boxOf(own, most, isDown ? { x: 0, y: start } : { x: start, y: 0 }, drawn.places);
    drawn.groups.push({ ...box, wave, ids: own.map((task) => task.id) });
    start += (isDown ? box.height : box.width) + BETWEEN;
    drawn.width = Math.max(drawn.width, box.x + box.width + (isDown ? ARC : 0));
    drawn.height = Math.max(drawn.height, box.y + box.height);
  }
  drawn.edges = edgesOf(tasks, drawn.places, isDown ? arc : curve);
  return drawn;
}

/** One wave: its tasks in columns of at most so many rows. */
function boxOf(tasks, most, { x, y }, places) {
  const columns = Math.ceil(tasks.length / most);
  const rows = Math.ceil(tasks.length / columns);
  tasks.forEach((task, index) => {
    const [column, row] = [Math.floor(index / rows), index % rows];
    places.set(task.id, { x: x + PAD + column * (NODE.width + GAP), y: y + HEADING + row * (NODE.height + GAP), column: x });
  });
  return { x, y, width: 2 * PAD + columns * (NODE.width + GAP) - GAP, height: HEADING + rows * (NODE.height + GAP) - GAP + PAD };
}

function edgesOf(tasks, places, path) {
  return tasks.flatMap((task) =>
    [...new Set(task.needs)].filter((need) => places.has(need)).map((need) => ({ from: need, to: task.id, path: path(places.get(need), places.get(task.id)) })),
  );
}

function curve(from, to) {
  const [x, y, end, low] = [from.x + NODE.width, from.y + NODE.height / 2, to.x, to.y + NODE.height / 2];
  const half = (x + end) / 2;
  return `M${x} ${y}C${half} ${y} ${half} ${low} ${end} ${low}`;
}

/** From the right side of one task to that of another below it. */
function arc(from, to) {
  const [x, y, low] = [from.x + NODE.width, from.y + NODE.height / 2, to.y + NODE.height / 2];
  return `M${x} ${y}C${x + ARC} ${y} ${x + ARC} ${low} ${x} ${low}`;
}
