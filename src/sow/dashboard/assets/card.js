// @ts-check
// One task as a card: its agent, its current step, its dependencies and its question.

import { h } from "./dom.js";
import { duration, firstLine, part } from "./format.js";
import { icon } from "./icons.js";
import { elapsed } from "./parts.js";
import { resultBadge, statusClass, statusWord } from "./status.js";

const MOST_NEEDS = 4;

/**
 * @param {import("./state.js").Row} task
 * @returns {HTMLElement}
 */
export function card(task) {
  return h(
    "a",
    {
      class: ["card", statusClass(task.status), task.running && "running"],
      href: `#/task/${part(task.id)}`,
      "data-row": true,
      "data-testid": `card-${task.id}`,
      "aria-label": spoken(task),
    },
    h(
      "span",
      { class: "card-top" },
      h("span", { class: "card-id mono" }, task.id),
      task.iteration > 1
        ? h(
            "span",
            { class: "tag", title: `Iteration ${task.iteration}: how often it was worked on` },
            icon("again"),
            h("span", { class: "card-iteration" }, "iteration"),
            task.iteration,
          )
        : null,
      resultBadge(task.result, task.check_failed),
    ),
    h("span", { class: "card-name" }, task.name),
    h("span", { class: "card-who" }, h("span", { class: "card-agent" }, who(task)), took(task)),
    now(task),
    asks(task),
  );
}

/** @param {import("./state.js").Row} task */
function who(task) {
  const own = task.own_status && task.own_status !== task.status ? ` · ${task.own_status.replaceAll("_", " ")}` : "";
  if (task.judge) return `review by ${task.judge}`;
  return `${task.agent}${task.executor ? ` on ${task.executor}` : ""}${own}`;
}

/** The time of work so far; a running task shows it in the line below. @param {import("./state.js").Row} task */
function took(task) {
  if (task.running || !task.seconds) return null;
  return h("span", { class: "number", title: "Time of work" }, duration(task.seconds));
}

/** The current step, or the tasks that must end first. @param {import("./state.js").Row} task */
function now(task) {
  if (task.running) {
    return h(
      "span",
      { class: "card-step" },
      h("span", { class: "dot breathing" }),
      h("span", { class: "card-step-text" }, task.step || "working"),
      elapsed(task.since),
    );
  }
  const waits = task.waits_for ?? [];
  if (task.status === "pending" && waits.length) {
    const more = waits.length > MOST_NEEDS ? ` and ${waits.length - MOST_NEEDS} more` : "";
    return h(
      "span",
      { class: "card-waits" },
      icon("wait"),
      `waits for ${waits.slice(0, MOST_NEEDS).join(", ")}${more}`,
    );
  }
  if (task.status === "in_progress") return h("span", { class: "card-waits" }, icon("pause"), "nobody is working on it");
  if (task.status === "needs_review" && !task.result)
    return h("span", { class: "card-waits" }, icon("pause"), "waits for your review");
  return task.step ? h("span", { class: "card-waits" }, task.step) : null;
}

/** @param {import("./state.js").Row} task */
function asks(task) {
  const notes = task.open_notes
    ? h(
        "span",
        { class: "card-waits" },
        icon("note"),
        `${task.open_notes} open ${task.open_notes === 1 ? "note" : "notes"}`,
      )
    : null;
  if (!task.question) return notes;
  const text = firstLine(task.question.text);
  return h("span", { class: "card-question status-paused" }, icon("paused"), h("span", null, text));
}

/** The card in one sentence, for screen readers. @param {import("./state.js").Row} task */
function spoken(task) {
  const parts = [`${task.id} ${task.name}`, statusWord(task.status), who(task)];
  if (!task.running && task.seconds) parts.push(duration(task.seconds));
  if (task.iteration > 1) parts.push(`iteration ${task.iteration}`);
  if (task.result) parts.push(`review ${task.result}`);
  if (task.running) parts.push(task.step || "working");
  if (task.question) parts.push(`asks: ${firstLine(task.question.text)}`);
  if (task.status === "pending" && task.waits_for?.length) parts.push(`waits for ${task.waits_for.join(", ")}`);
  return parts.join(", ");
}
