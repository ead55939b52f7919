// The state of every task at a moment of a run, from the changes in its timeline.

const MOVING = new Set(["in_progress", "needs_review"]);

/** Changes are [epoch, id, status, step], in any order; a task without one before the moment was pending. */
export class Moments {
  constructor(changes) {
    this.byTask = new Map();
    for (const [at, id, status, step] of [...changes].sort((a, b) => a[0] - b[0])) {
      if (!this.byTask.has(id)) this.byTask.set(id, []);
      this.byTask.get(id).push({ at, status, step });
    }
    this.times = [...new Set(changes.map((change) => change[0]))].sort((a, b) => a - b);
  }

  /** The last change of a task at or before a moment, or null. */
  of(id, moment) {
    const own = this.byTask.get(id);
    if (!own) return null;
    return own[countUntil(own, moment, (change) => change.at) - 1] ?? null;
  }

  /** Rows as they were: the status and the step of the moment, and nothing that was known only later. */
  rows(tasks, moment) {
    return tasks.map((task) => {
      const then = this.of(task.id, moment);
      const status = then ? then.status : "pending";
      return { ...task, status, step: then?.step ?? "", running: MOVING.has(status) && Boolean(then.step) };
    });
  }

  /** How many moments of change lie at or before a moment: two moments with the same number look alike. */
  countUntil(moment) {
    return countUntil(this.times, moment, (at) => at);
  }

  /** The nearest change after (or before) a moment, for stepping. */
  next(moment, direction) {
    const index = direction > 0 ? this.countUntil(moment + 0.001) : this.countUntil(moment - 0.001) - 1;
    return this.times[index] ?? null;
  }
}

/** How many entries of a sorted list are not after a moment. */
function countUntil(list, moment, timeOf) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (timeOf(list[half]) <= moment) low = half + 1;
    else high = half;
  }
  return low;
}
