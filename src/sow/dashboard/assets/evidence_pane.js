// @ts-check
// The checks of a task: each command that the runner ran, how it ended, and its output. The last failed check is open.

import { h, list } from "./dom.js";
import { day, duration, part } from "./format.js";
import { icon } from "./icons.js";
import { pagedText } from "./paged_text.js";
import { empty } from "./parts.js";

/** Where the checks of a kind ran. @type {Record<string, string>} */
const PLACES = { test: "the task's work", criterion: "the task's work", merge: "merged work", final: "final tree" };

/** @typedef {import("./state.js").Row} Row */

/**
 * @param {Row} page one task's page
 * @param {string} id
 * @returns {{node: HTMLElement, update: (page: Row) => void, stop: () => void}}
 */
export function evidencePane(page, id) {
  const node = h("div", { "data-testid": "evidence" });
  const rows = h("div", { class: "stack" });
  /** @type {Set<import("./paged_text.js").PagedText>} */
  const open = new Set();

  /** @param {Row & {place: number, opens: boolean}} each */
  function row(each) {
    const output = h("div", { class: "evidence-output" });
    /** @param {Event} event */
    function toggle(event) {
      const details = /** @type {HTMLDetailsElement} */ (event.currentTarget);
      const place = /** @type {HTMLElement} */ (details.querySelector(".evidence-output"));
      if (!details.open || place.childElementCount) return;
      const text = pagedText(`/api/tasks/${part(id)}/evidence/${each.place}`, {
        label: `Output of ${each.command}`,
        empty: "No output.",
        atEnd: !each.passed,
      });
      open.add(text);
      place.replaceChildren(text.node);
    }
    const status = each.passed ? "status-completed" : "status-failed";
    const facts = [
      `${PLACES[each.kind] ?? each.kind}, iteration ${each.iteration}`,
      each.exit === null ? "did not end" : `exit ${each.exit}`,
      duration(each.seconds),
      day(each.at),
      each.tree ? `tree ${String(each.tree).slice(0, 8)}` : "in the shared folder",
    ];
    return h(
      "details",
      { class: "panel evidence", open: each.opens, ontoggle: toggle },
      h(
        "summary",
        { "data-row": true },
        icon("right"),
        h(
          "span",
          { class: ["badge", status] },
          icon(each.passed ? "check" : "close"),
          each.passed ? "passed" : "failed",
        ),
        h("code", { class: "wrap" }, each.command),
        h("span", { class: "muted evidence-facts" }, facts.join(" · ")),
      ),
      output,
    );
  }

  /** @param {Row} fresh */
  function update(fresh) {
    const failed = lastFailure(fresh.evidence ?? []);
    const all = (fresh.evidence ?? []).map((/** @type {Row} */ each, /** @type {number} */ place) => ({
      ...each,
      place,
      opens: place === failed,
    }));
    list(
      rows,
      all.reverse(),
      (/** @type {Row} */ each) => `${each.place}`,
      (each) => known(each, row),
    );
    node.replaceChildren(
      all.length
        ? rows
        : empty(
            "No check has run yet",
            "When a worker hands in its work, sow runs the task's checks and keeps their output.",
            null,
          ),
    );
  }

  /** A row is made once: evidence never changes. @type {Map<number, HTMLElement>} */
  const made = new Map();
  /** @param {any} each @param {(each: any) => HTMLElement} make */
  function known(each, make) {
    const node = made.get(each.place) ?? make(each);
    made.set(each.place, node);
    return node;
  }

  update(page);
  return { node, update, stop: () => open.forEach((text) => text.stop()) };
}

/** The newest check, if it failed and was no baseline: it is what somebody came to see. @param {Row[]} evidence */
function lastFailure(evidence) {
  const place = evidence.findLastIndex((each) => each.kind !== "baseline" && !each.passed);
  const later = evidence.slice(place + 1).some((each) => each.command === evidence[place]?.command && each.passed);
  return later ? -1 : place;
}
