// @ts-check
// Building blocks that several pages share.

import { ApiError } from "./api.js";
import { h, render } from "./dom.js";
import { capital, duration, now, seconds, since } from "./format.js";
import { icon } from "./icons.js";

const PATIENCE = 150; // ms before a skeleton is shown, so that what is fast does not flicker

/**
 * A command line to take along, with a button that copies it.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function command(text) {
  /** @param {MouseEvent} event */
  async function copy(event) {
    const word = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (event.currentTarget).querySelector("span"));
    await toClipboard(text);
    word.textContent = "Copied";
    setTimeout(() => (word.textContent = "Copy"), 1600);
  }
  const look = { type: "button", class: "button quiet tiny", "aria-label": `Copy: ${text}`, onclick: copy };
  const button = h("button", look, icon("copy"), h("span", null, "Copy"));
  return h("span", { class: "command", "data-testid": "command" }, h("code", null, text), button);
}

/** @param {string} text */
async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { class: "unseen", value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy"); // where the page came by a name that the browser does not trust
  field.remove();
}

/**
 * The message of an empty page: the reason and the next step.
 * @param {string} title
 * @param {string} text
 * @param {string | null} [line] a command
 * @returns {HTMLElement}
 */
export function empty(title, text, line) {
  return h(
    "div",
    { class: "empty", "data-testid": "empty" },
    h("h2", null, title),
    h("p", null, capital(text)),
    line ? command(line) : null,
  );
}

/** A panel with a heading. @param {string} heading @param {...import("./dom.js").Child} children @returns {HTMLElement} */
export function panel(heading, ...children) {
  return h("section", { class: "panel", key: heading }, h("h2", { class: "panel-title" }, heading), ...children);
}

/**
 * An error with its hint, and a button to try again.
 * @param {unknown} error
 * @param {(() => void) | null} [again]
 * @returns {HTMLElement}
 */
export function problem(error, again) {
  const hint = error instanceof ApiError ? error.hint : "";
  const text = error instanceof Error ? error.message : String(error);
  return h(
    "div",
    { class: "problem", role: "alert", "data-testid": "problem" },
    h("p", { class: "problem-text" }, icon("warning"), text),
    hint ? h("p", { class: "problem-hint" }, hint) : null,
    again ? h("button", { type: "button", class: "button", onclick: again }, "Try again") : null,
  );
}

/**
 * Fetch and show: a skeleton only when it takes long, an error with a way to try again; what was shown before stays.
 * @template T
 * @param {HTMLElement} root
 * @param {(signal: AbortSignal) => Promise<T>} fetching
 * @param {(answer: T) => void} show
 * @returns {{again: () => Promise<void>, stop: () => void}}
 */
export function load(root, fetching, show) {
  let control = new AbortController();
  let shown = false;
  async function again() {
    control.abort();
    const own = (control = new AbortController());
    const timer = setTimeout(() => !shown && render(root, skeleton()), PATIENCE);
    try {
      const answer = await fetching(own.signal);
      if (own.signal.aborted) return;
      clearTimeout(timer);
      if (!shown) root.replaceChildren();
      shown = true;
      show(answer);
    } catch (error) {
      const gone = error instanceof ApiError && error.status === 404;
      if (own.signal.aborted || (shown && !gone)) return;
      clearTimeout(timer);
      shown = false;
      render(
        root,
        problem(error, () => void again()),
      );
    } finally {
      clearTimeout(timer);
    }
  }
  void again();
  return { again, stop: () => control.abort() };
}

/** Grey bars where text will be. @param {number} [rows] @returns {HTMLElement} */
export function skeleton(rows = 5) {
  const bars = Array.from({ length: rows }, () => h("div", { class: "skeleton-bar" }));
  return h("div", { class: "skeleton", role: "status", "aria-label": "Loading" }, bars);
}

/**
 * Time that ticks.
 * @param {number | string | null | undefined} start epoch seconds or an ISO text
 * @returns {HTMLElement | null}
 */
export function elapsed(start) {
  const at = seconds(start);
  return Number.isFinite(at) ? h("span", { class: "number", "data-since": at }, since(at)) : null;
}

/**
 * Facts as a definition list; what is null, undefined or empty is left out. A wide fact has a row of its own.
 * @param {[string, import("./dom.js").Child, "wide"?][]} pairs
 * @returns {HTMLElement}
 */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  const rows = told.map(([name, value, wide]) =>
    h("div", { class: ["fact", wide], key: name }, h("dt", null, name), h("dd", null, value)),
  );
  return h("dl", { class: "facts" }, rows);
}

/**
 * How long something took or has been taking.
 * @param {number | null | undefined} length
 * @param {number | string | null | undefined} start
 * @param {boolean} running
 * @returns {import("./dom.js").Child}
 */
export function took(length, start, running) {
  return running ? elapsed(start ?? now()) : duration(length);
}
