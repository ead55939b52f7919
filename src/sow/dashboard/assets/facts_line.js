// A line of fixed height below a drawing, which tells the facts of what is pointed at or focused; it covers nothing.

import { h, render } from "./dom.js";
import { duration, estimate, money, plural } from "./format.js";
import { statusBadge } from "./status.js";

/** The line itself; without anything to tell it says how to use the drawing. */
export class FactsLine {
  constructor(hint) {
    this.hint = hint;
    this.element = h("div", { class: "facts-line" });
    this.clear();
  }

  /** Show words and elements, divided by small dots. */
  show(parts) {
    const told = parts.filter((part) => part !== null && part !== undefined && part !== "");
    render(this.element, told.map((part) => h("span", { class: "bit" }, part)));
  }

  clear() {
    render(this.element, h("span", { class: "bit muted" }, this.hint));
  }
}

/** All that is worth a line about a task. */
export function factsOf(task) {
  return [
    h("b", {}, `${task.id} ${task.name}`),
    statusBadge(task.status, task.own_status?.replaceAll("_", " ")),
    task.step,
    task.question ? `asks: ${task.question.text}` : "",
    task.judge ? `review by ${task.judge}` : task.agent ? `${task.agent}${task.executor ? ` on ${task.executor}` : ""}` : "",
    task.iteration > 1 ? `iteration ${task.iteration}` : "",
    task.seconds ? `worked ${duration(task.seconds)}` : "",
    task.estimated_minutes ? `estimated ${estimate(task.estimated_minutes)}` : "",
    task.cost_usd ? money(task.cost_usd) : "",
    task.open_notes && !task.question ? plural(task.open_notes, "open note") : "",
    task.needs.length ? `depends on ${task.needs.join(", ")}` : "depends on nothing",
    task.waits_for?.length ? `waits for ${task.waits_for.join(", ")}` : "",
  ];
}
