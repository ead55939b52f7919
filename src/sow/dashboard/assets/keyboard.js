// @ts-check
// The keys of the page, and the sheet that tells them.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { ROUTES } from "./router.js";

const WAIT = 1200; // ms within which the second key of "g b" must come

/** @param {EventTarget | null} target */
function typing(target) {
  return target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
}

/** Whether an element is on the screen at all. @param {Element} element */
function shown(element) {
  return element.getClientRects().length > 0;
}

/** Move the focus among the rows of the page, or of the column where it is. @param {number} step */
function move(step) {
  const around = document.activeElement?.closest("#page [data-column]") ?? document.getElementById("page");
  const rows = /** @type {HTMLElement[]} */ (Array.from(around?.querySelectorAll("[data-row]") ?? []).filter(shown));
  if (!rows.length) return;
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
}

/** Move to the nearest row of the neighbouring column. @param {number} step */
function sideways(step) {
  const columns = Array.from(document.querySelectorAll("#page [data-column]")).filter(
    (column) => column.querySelector("[data-row]") && shown(column),
  );
  const at = columns.findIndex((column) => column.contains(document.activeElement));
  const column = columns[at < 0 ? 0 : Math.min(columns.length - 1, Math.max(0, at + step))];
  if (!column) return;
  const top = document.activeElement?.getBoundingClientRect().top ?? 0;
  const rows = /** @type {HTMLElement[]} */ (Array.from(column.querySelectorAll("[data-row]")));
  const far = (/** @type {HTMLElement} */ row) => Math.abs(row.getBoundingClientRect().top - top);
  rows.sort((one, other) => far(one) - far(other))[0].focus();
}

function filter() {
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector("#page [data-filter]"));
  field?.focus();
  field?.select();
}

function answer() {
  const row = document.activeElement?.closest("[data-row]");
  const field = /** @type {HTMLElement | null} */ (
    row?.querySelector("[data-answer]") ?? document.querySelector("#page [data-answer]")
  );
  if (!field) location.hash = "#/inbox";
  field?.focus();
  if (field instanceof HTMLButtonElement) field.click();
}

/** @type {Record<string, [() => void, string]>} */
const KEYS = {
  j: [() => move(1), "next row"],
  k: [() => move(-1), "row before"],
  h: [() => sideways(-1), "column to the left"],
  l: [() => sideways(1), "column to the right"],
  "/": [filter, "filter"],
  a: [answer, "answer"],
  "?": [openHelp, "this help"],
};

/** @param {import("./router.js").Router} router */
export function listenToKeys(router) {
  let second = 0;
  pages = router;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return escape(event);
    if (typing(event.target) || document.querySelector("dialog[open]") || !router.opened) return;
    const own = router.page?.keys?.[event.key];
    const target =
      Date.now() - second < WAIT ? Object.entries(ROUTES).find(([, route]) => route.key === event.key) : null;
    second = event.key === "g" && !target ? Date.now() : 0;
    const act = target ? () => router.go(`#/${target[0]}`) : (own ?? KEYS[event.key]?.[0]);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** @type {import("./router.js").Router | null} */
let pages = null;

/** Leave the field, else go back from a task to where one came from. @param {KeyboardEvent} event */
function escape(event) {
  if (typing(event.target)) return /** @type {HTMLElement} */ (event.target).blur();
  if (document.querySelector("dialog[open]")) return;
  pages?.page?.keys?.Escape?.();
}

/** Show the keys. */
export function openHelp() {
  const own = Object.entries(pages?.page?.help ?? {});
  const places = Object.values(ROUTES).filter((route) => route.key);
  const go = places.map((route) => [`g ${route.key}`, route.word]);
  const known = Object.entries(KEYS).map(([key, [, word]]) => [key, word]);
  const further = [["Enter", "open"], ["Esc", "close, back"], ["Ctrl Enter", "send"], ...own];
  openDialog(
    "help",
    "Keyboard",
    h("div", { class: "help-columns" }, sheet("Go to", go), sheet("On a page", [...known, ...further])),
  );
}

/** @param {string} title @param {string[][]} rows */
function sheet(title, rows) {
  const keys = (/** @type {string} */ words) => words.split(" ").map((word) => h("kbd", null, word));
  return h(
    "section",
    null,
    h("h3", null, title),
    h(
      "dl",
      { class: "keys" },
      rows.map(([key, word]) => h("div", null, h("dt", null, keys(key)), h("dd", null, word))),
    ),
  );
}
