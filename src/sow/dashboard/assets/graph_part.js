// The part of a large graph that is drawn: what moves now, what was chosen, and what is around it.

export const MOST_DRAWN = 600;

const PRESSING = { failed: 1, paused: 1, needs_review: 2, in_progress: 3 };

/** Of few tasks all; of many those nearest to what runs, asks, failed or was chosen. `shown` (ids) is kept if it can be. */
export function partOf(tasks, { chosen = null, shown = null, most = MOST_DRAWN } = {}) {
  if (tasks.length <= most) return tasks;
  const seeds = seedsOf(tasks, chosen).slice(0, Math.ceil(most / 3));
  const drawn = shown && seeds.every((id) => shown.has(id)) ? shown : around(tasks, seeds, most);
  return tasks.filter((task) => drawn.has(task.id));
}

function seedsOf(tasks, chosen) {
  const pressing = tasks.filter((task) => rank(task) > 0).sort((a, b) => rank(a) - rank(b));
  const seeds = pressing.map((task) => task.id);
  if (chosen && tasks.some((task) => task.id === chosen)) seeds.unshift(chosen);
  if (seeds.length) return seeds;
  const open = tasks.find((task) => task.status === "pending");
  return [(open ?? tasks[0]).id];
}

function rank(task) {
  if (task.running) return 3;
  return task.question ? 1 : (PRESSING[task.status] ?? 0);
}

/** Breadth first over needs in both directions, then in the plan's order until the room is used. */
function around(tasks, seeds, most) {
  const near = neighbours(tasks);
  const drawn = new Set(seeds);
  const line = [...drawn];
  for (let index = 0; index < line.length && drawn.size < most; index += 1) {
    for (const id of near.get(line[index]) ?? []) {
      if (drawn.size < most && !drawn.has(id)) {
        drawn.add(id);
        line.push(id);
      }
    }
  }
  for (const task of tasks) {
    if (drawn.size >= most) break;
    drawn.add(task.id);
  }
  return drawn;
}

function neighbours(tasks) {
  const near = new Map(tasks.map((task) => [task.id, []]));
  for (const task of tasks) {
    for (const need of task.needs) {
      if (!near.has(need)) continue;
      near.get(need).push(task.id);
      near.get(task.id).push(need);
    }
  }
  return near;
}
