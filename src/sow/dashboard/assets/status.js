// @ts-check
// Statuses and results as people see them: a colour and a drawing and a word, never a colour alone.

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** The columns of the board in the order of a task's life. @type {readonly string[]} */
export const STATUSES = ["pending", "in_progress", "needs_review", "paused", "failed", "completed", "abandoned"];

/** @type {Record<string, string>} */
const WORDS = {
  pending: "Pending",
  in_progress: "In progress",
  needs_review: "Needs review",
  paused: "Paused",
  completed: "Completed",
  failed: "Failed",
  abandoned: "Abandoned",
};

/** The word for a status; an unknown one is said as it is. @param {string} status @returns {string} */
export function statusWord(status) {
  return WORDS[status] ?? status.replaceAll("_", " ");
}

/** The class that sets --status and --status-soft. @param {string} status @returns {string} */
export function statusClass(status) {
  return `status-${status in WORDS ? status : "pending"}`;
}

/**
 * Drawing and word of a status in its colour.
 * @param {string} status
 * @param {string} [word] another word, as a workflow's own status
 * @returns {HTMLElement}
 */
export function statusBadge(status, word) {
  return h("span", { class: ["badge", statusClass(status)] }, icon(status), word ?? statusWord(status));
}

/** @type {Record<string, string>} */
const VERDICTS = { GREEN: "completed", YELLOW: "paused", RED: "failed" };
/** @type {Record<string, string>} */
const VERDICT_ICONS = { GREEN: "check", YELLOW: "warning", RED: "close" };

/**
 * A review's verdict; nothing where there is none. FAILED is no verdict: the status says it.
 * @param {string | null | undefined} result
 * @param {boolean} [checkFailed] no review says so, but a check failed
 * @returns {HTMLElement | null}
 */
export function resultBadge(result, checkFailed = false) {
  if (checkFailed) return statusBadge("failed", "check failed");
  if (!result || result === "FAILED") return null;
  return h(
    "span",
    { class: ["badge", "verdict", statusClass(VERDICTS[result] ?? "pending")] },
    icon(VERDICT_ICONS[result] ?? "note"),
    result,
  );
}
