// The outcomes of tasks, as a bar of coloured parts and as words.

import { h } from "./dom.js";
import { statusClass } from "./status.js";

/** Outcomes of a report in their order, and the status whose colour each has. */
const COLOURS = {
  completed: "completed",
  running: "in_progress",
  waiting: "paused",
  blocked: "paused",
  failed: "failed",
  abandoned: "abandoned",
  pending: "pending",
  unknown: "pending",
};

/** The status that an outcome looks like. */
export function statusOfOutcome(outcome) {
  return COLOURS[outcome] ?? "pending";
}

/** The word for an outcome of a task or for the status of a run: that of a task's status where there is one. */
export function outcomeWord(outcome) {
  return { waiting: "paused", running: "in progress", blocked: "pending" }[outcome] ?? outcome;
}

/** A bar and words such as "28 completed, 1 failed"; `counts` has a number for each outcome. */
export function outcomeBar(counts, total) {
  const known = Object.keys(COLOURS).filter((outcome) => counts[outcome]);
  const sum = known.reduce((all, outcome) => all + counts[outcome], 0);
  const rest = total - sum;
  const parts = known.map((outcome) => [outcome, counts[outcome]]);
  const named = parts.map(([outcome, count]) => `${count} ${outcomeWord(outcome)}`);
  if (rest > 0) {
    parts.push(["pending", rest]);
    named.push(`${rest} open`); // pending, in progress or in review
  }
  const words = named.join(", ");
  return h(
    "span",
    { class: "outcomes" },
    h(
      "span",
      { class: "bar", "aria-hidden": "true" },
      parts.map(([outcome, count]) => h("span", { class: statusClass(COLOURS[outcome]), style: { width: `${((100 * count) / Math.max(total, 1)).toFixed(2)}%` } })),
    ),
    h("span", { class: "outcome-words" }, words || "nothing"),
  );
}
