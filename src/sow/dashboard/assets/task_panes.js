// @ts-check
// The panes of a task that are one document each: overview, reviews, notes, log.

import { h } from "./dom.js";
import { ago, clock, day, duration, money, part, plural } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { elapsed, empty, facts, panel } from "./parts.js";
import { resultBadge } from "./status.js";
import { historyOf } from "./task_history.js";

/** @typedef {import("./state.js").Row} Row */
/** @typedef {import("./router.js").Context} Context */

/** @param {readonly string[]} ids */
function links(ids) {
  return ids.map((id, at) => [at ? ", " : "", h("a", { href: `#/task/${part(id)}` }, id)]);
}

/** @param {string} text */
function line(text) {
  return h("li", null, text);
}

/** @param {Row} page @param {Context} context @returns {import("./dom.js").Child} */
export function overviewPane(page, context) {
  const said = page.description ?? "";
  const further = (page.criteria ?? []).filter((/** @type {string} */ text) => !said.includes(text));
  const criteria = further.length ? panel("Done when", h("ul", { class: "plain" }, further.map(line))) : null;
  return h(
    "div",
    { class: "split" },
    h(
      "div",
      null,
      panel(
        "Description",
        h(
          "div",
          { class: "prose", "data-testid": "description" },
          page.description ? markdown(page.description) : h("p", { class: "muted" }, "No description."),
        ),
      ),
      criteria,
      doubts(page),
      answered(page),
    ),
    h("aside", null, panel("Facts", factsOf(page)), iterations(page), nextPanel(page, context)),
  );
}

/** @param {Row} page */
function factsOf(page) {
  const row = page.row ?? page;
  const time = row.running ? elapsed(row.since) : row.seconds ? duration(row.seconds) : null;
  return facts([
    ["Agent", `${row.agent ?? page.assigned_agent ?? ""}${row.executor ? ` on ${row.executor}` : ""}`],
    ["Phase", row.phase],
    ["Iteration", String(row.iteration ?? "")],
    ["Depends on", row.needs?.length ? links(row.needs) : null],
    ["Waits for", row.waits_for?.length ? links(row.waits_for) : null],
    ["Number in the plan", row.plan_id],
    ["Time", time],
    ["Estimated", row.estimated_minutes ? duration(row.estimated_minutes * 60).replace(" 00s", "") : null],
    ["Cost", row.cost_usd === null || row.cost_usd === undefined ? null : money(row.cost_usd)],
    ["Priority", row.priority],
    ["Started", page.started_at ? day(page.started_at) : null],
    ["Completed", page.completed_at ? day(page.completed_at) : null],
    ["Approved by", page.approval ? page.approval.by : null],
    ["Branch", page.branch ? h("code", null, page.branch) : null, "wide"],
    ["Worktree", page.worktree ? h("code", null, page.worktree) : null, "wide"],
    [
      "Files",
      page.files?.length
        ? h(
            "ul",
            { class: "plain" },
            page.files.map((/** @type {string} */ path) => h("li", null, h("code", null, path))),
          )
        : null,
      "wide",
    ],
  ]);
}

/** Each iteration: how long agents worked in it, and its verdict, or that a check failed. @param {Row} page */
function iterations(page) {
  const numbers = Array.from({ length: page.iterations ?? 0 }, (_, at) => at + 1);
  const turns = (page.sessions ?? []).flatMap((/** @type {Row} */ session) => session.turns);
  const rows = numbers.reverse().map((number) => {
    const own = turns.filter((/** @type {Row} */ turn) => turn.iteration === number);
    const seconds = own.reduce((/** @type {number} */ sum, /** @type {Row} */ turn) => sum + (turn.seconds ?? 0), 0);
    const review = (page.reviews ?? []).findLast((/** @type {Row} */ one) => one.iteration === number);
    const failed = (page.evidence ?? []).some(
      (/** @type {Row} */ one) => one.iteration === number && one.passed === false && one.kind !== "baseline",
    );
    const time = h("span", { class: "muted number" }, seconds ? duration(seconds) : "");
    return h("li", { key: number }, h("span", null, `Iteration ${number}`), time, resultBadge(review?.verdict, failed && review?.verdict !== "RED"));
  });
  return rows.length ? panel("Iterations", h("ul", { class: "iterations" }, rows)) : null;
}

/** @param {Row} page @param {Context} context */
function nextPanel(page, context) {
  const text = typeof page.next === "string" ? page.next : page.next?.text;
  if (!text) return null;
  return panel(
    "Next",
    h("p", null, text),
    context.readOnly() && page.acts?.length
      ? h("p", { class: "muted" }, "This page is read-only. Use a terminal to act.")
      : null,
  );
}

/** The concerns, and the commands that the agent CLI refused. @param {Row} page */
function doubts(page) {
  /** @type {Row[]} */
  const refused = page.refusals ?? [];
  /** @type {Row[]} */
  const concerns = (page.concerns ?? []).filter(
    (/** @type {Row} */ each) => each.iteration === page.iteration && each.kind !== "refused",
  );
  return [
    concerns.length
      ? panel("Concerns", h("ul", { class: "plain" }, concerns.map((each) => h("li", { class: "wrap" }, each.text))))
      : null,
    refused.length
      ? panel(
          "Refused",
          h("ul", { class: "plain", "data-testid": "refused" }, refused.map(refusal)),
          h("p", { class: "muted wrap" }, page.refusals_advice),
        )
      : null,
  ];
}

/** @param {Row} each */
function refusal(each) {
  const times = each.count > 1 ? `, ${each.count} times` : "";
  return h(
    "li",
    { class: "wrap" },
    h("code", null, each.text),
    h("span", { class: "muted" }, ` iteration ${each.iteration}${times}${each.reason ? `: ${each.reason}` : ""}`),
  );
}

/** Questions that have been answered. @param {Row} page */
function answered(page) {
  const questions = page.questions ?? [];
  if (!questions.length) return null;
  return panel(
    "Questions and answers",
    h(
      "div",
      { class: "stack" },
      questions.map((/** @type {Row} */ each) =>
        h(
          "div",
          { class: "qa", key: each.number },
          h("div", { class: "prose" }, markdown(each.text)),
          h("div", { class: "qa-answer prose" }, markdown(each.answer)),
          h("p", { class: "muted" }, `${each.answered_by}, ${ago(each.answered_at)}`),
        ),
      ),
    ),
  );
}

/** @param {Row} page @returns {import("./dom.js").Child} */
export function reviewsPane(page) {
  const reviews = [...(page.reviews ?? [])].reverse();
  if (!reviews.length)
    return empty(
      "Not reviewed yet",
      "Verdicts and findings appear here after a review.",
      null,
    );
  return reviews.map((review, at) =>
    h(
      "section",
      { class: "panel", key: `${review.iteration}-${review.by}-${review.at}` },
      h(
        "h2",
        { class: "panel-title" },
        resultBadge(review.verdict),
        `Iteration ${review.iteration}`,
        h("span", { class: "muted" }, `${review.by}, ${day(review.at)}`),
      ),
      summary(page, review, at === 0),
      findings(review),
    ),
  );
}

/**
 * The text of a review: its own, the task's newest, or the feedback of that iteration.
 * @param {Row} page
 * @param {Row} review
 * @param {boolean} newest
 */
function summary(page, review, newest) {
  const back = (page.feedback ?? []).filter(
    (/** @type {Row} */ each) => String(each.iteration) === String(review.iteration),
  );
  const text =
    review.text ??
    (newest ? page.review_feedback : null) ??
    back.map((/** @type {Row} */ each) => each.text).join("\n\n");
  return text ? h("div", { class: "prose" }, markdown(text)) : null;
}

/** The findings of a review. A RED review without findings has its reasons in the text. @param {Row} review */
function findings(review) {
  /** @type {Row[]} */
  const all = review.findings ?? [];
  if (!all.length) return review.verdict === "GREEN" ? h("p", { class: "muted" }, "No findings.") : null;
  return h(
    "ul",
    { class: "findings" },
    all.map((each) =>
      h(
        "li",
        { key: each.id },
        h(
          "span",
          { class: ["badge", severity(each.severity)] },
          icon(each.severity === "error" ? "close" : "warning"),
          each.severity,
        ),
        h(
          "div",
          null,
          h("div", { class: "prose" }, markdown(each.text)),
          h("p", { class: "muted wrap" }, [each.file, each.symbol, each.rule].filter(Boolean).join(" · ")),
          each.evidence ? h("pre", { class: "quiet" }, each.evidence) : null,
        ),
      ),
    ),
  );
}

/** @param {string} word */
function severity(word) {
  return word === "error" ? "status-failed" : word === "warning" ? "status-paused" : "status-pending";
}

/** @param {Row} page @returns {import("./dom.js").Child} */
export function notesPane(page) {
  const notes = page.notes ?? [];
  const feedback = [...(page.feedback ?? [])].reverse();
  if (!notes.length && !feedback.length)
    return empty(
      "No notes, no feedback",
      "A worker's notes and the feedback that it gets appear here.",
      null,
    );
  return [
    notes.length ? panel(plural(notes.length, "note"), h("ul", { class: "stack" }, notes.map(noteEntry))) : null,
    feedback.length
      ? panel(
          "Feedback",
          h(
            "div",
            { class: "stack" },
            feedback.map((each) =>
              h(
                "article",
                { key: each.number },
                h("p", { class: "muted" }, `Iteration ${each.iteration}, ${each.by}, ${day(each.at)}`),
                h("div", { class: "prose" }, markdown(each.text)),
              ),
            ),
          ),
        )
      : null,
  ];
}

/** @param {Row} note */
function noteEntry(note) {
  const open = note.status === "open" || note.status === "escalated";
  const context = note.context ? `while: ${note.context}` : "";
  const reason = note.escalation_reason ? `reason of the escalation: ${note.escalation_reason}` : "";
  const about = [note.category, context, reason, ago(note.timestamp)].filter(Boolean).join(" · ");
  const look = ["badge", open ? "status-paused" : "status-completed"];
  return h(
    "li",
    { key: note.note_id },
    h("span", { class: look }, icon("note"), note.status === "escalated" ? "escalation" : note.status),
    h("div", { class: "prose" }, markdown(note.description)),
    note.resolution ? h("div", { class: "qa-answer prose" }, markdown(note.resolution)) : null,
    h("p", { class: "muted" }, note.resolved_by ? `${about} · resolved by ${note.resolved_by}` : about),
  );
}

/** @param {Row} page @returns {import("./dom.js").Child} */
export function logPane(page) {
  const log = page.log ?? [];
  const history = historyOf(page);
  if (!log.length && !history.length) {
    return empty(
      "Nothing has happened yet",
      "Turns, checks, reviews and log entries appear here.",
      null,
    );
  }
  return [
    log.length ? panel("Log entries of workers", h("ol", { class: "log" }, log.map(logEntry))) : null,
    history.length ? panel("History", h("ol", { class: "history" }, history.map(happening))) : null,
  ];
}

/** @param {import("./task_history.js").Happening} each @param {number} at */
function happening(each, at) {
  return h(
    "li",
    { key: at },
    h("time", { class: "muted number" }, clock(each.at)),
    h("span", { class: "wrap" }, each.text),
  );
}

/** @param {Row} each @param {number} at */
function logEntry(each, at) {
  const author = each.agent.replace(/-(\d+)$/, ", iteration $1");
  const facts = [day(each.timestamp), author, each.action === "note" ? "" : each.action, each.files?.join(", ")];
  return h(
    "li",
    { key: at },
    h("p", { class: "muted wrap" }, facts.filter(Boolean).join(" · ")),
    h("div", { class: "prose" }, markdown(each.text)),
  );
}
