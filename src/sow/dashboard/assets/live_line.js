// @ts-check
// One quiet line below the head: the last sentence of the feed; opened, the last two hundred.

import { get } from "./api.js";
import { h, list, say } from "./dom.js";
import { capital, clock, part } from "./format.js";
import { icon } from "./icons.js";
import { MOST_LINES } from "./state.js";

const TAIL = 60_000; // bytes at the end of a journal in which the last sentences are

/**
 * @param {import("./state.js").Store} store
 * @returns {HTMLElement}
 */
export function liveLine(store) {
  const time = h("time", { class: "number" });
  const text = h("span", { class: "live-text", "aria-live": "polite", "data-testid": "live-line" });
  const log = h("ol", { class: "live-log", tabindex: "0", "aria-label": "Log of the run" });
  const summary = h("summary", { title: "Show the log of the run" }, icon("right"), time, text);
  const element = h("details", { class: "live", "data-testid": "live", ontoggle: () => show(true) }, summary, log);

  /** @param {boolean} [jump] */
  function show(jump) {
    const last = store.lines.at(-1);
    say(time, last ? clock(last.at ?? last.t) : "");
    say(text, last ? sentence(last) : quiet(store));
    if (!element.open) return;
    const atEnd = jump || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    list(log, store.lines, (line) => keyOf(line), entry);
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
  store.subscribe((change) => (change.kinds.has("line") || change.kinds.has("state")) && show());
  void past(store).then(() => show());
  show();
  return element;
}

let numbered = 0;
/** @type {WeakMap<object, number>} */
const numbers = new WeakMap();

/** @param {import("./state.js").Line} line */
function keyOf(line) {
  const known = numbers.get(line) ?? ++numbered;
  numbers.set(line, known);
  return known;
}

/** @param {import("./state.js").Store} store */
function quiet(store) {
  return capital(store.state?.next?.text) || "Nothing has happened yet.";
}

/** @param {import("./state.js").Line} line */
function sentence(line) {
  return line.task && !line.text.includes(line.task) ? `${line.task}  ${line.text}` : line.text;
}

/** @param {import("./state.js").Line} line */
function entry(line) {
  const task = line.task ? h("a", { href: `#/task/${part(line.task)}` }, line.task) : h("span");
  return h(
    "li",
    null,
    h("time", { class: "number" }, clock(line.at ?? line.t)),
    task,
    h("span", { class: "wrap" }, line.text),
  );
}

/** Loads the lines from before this page was opened. @param {import("./state.js").Store} store */
async function past(store) {
  const run = store.state?.run?.id;
  if (!run) return;
  const told = await get(`/api/runs/${part(run)}/entries?from=-${TAIL}`).catch(() => ({ lines: [] }));
  const known = new Set(store.lines.map(nameOf));
  const older = told.lines.filter((/** @type {import("./state.js").Line} */ line) => !known.has(nameOf(line)));
  store.lines = [...older, ...store.lines].slice(-MOST_LINES);
}

/** @param {import("./state.js").Line} line */
function nameOf(line) {
  return [line.run, line.t, line.task, line.event].join(" ");
}
