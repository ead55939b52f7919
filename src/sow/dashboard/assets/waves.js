// Columns for tasks whose run is over: the server tells waves of the present project only.

/** The same rows with a wave each: one more than the highest among what the task needs. */
export function withWaves(tasks) {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const waves = new Map();
  for (const task of tasks) settle(task.id, byId, waves);
  return tasks.map((task) => ({ ...task, wave: waves.get(task.id) }));
}

/** Depth first with a stack of our own; a circle, which a plan cannot have, counts as nothing needed. */
function settle(start, byId, waves) {
  const stack = [start];
  const open = new Set();
  while (stack.length) {
    const id = stack.at(-1);
    const needs = byId.get(id).needs.filter((need) => byId.has(need));
    const left = waves.has(id) ? [] : needs.filter((need) => !waves.has(need) && !open.has(need));
    open.add(id);
    if (left.length) stack.push(...left);
    else {
      stack.pop();
      if (!waves.has(id)) waves.set(id, Math.max(-1, ...needs.map((need) => waves.get(need) ?? -1)) + 1);
    }
  }
}
