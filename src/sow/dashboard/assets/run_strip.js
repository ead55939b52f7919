// @ts-check
// The strip of the run: its state, progress, time, cost and pauses, and a button to stop it.

import { stopRun } from "./act.js";
import { actForm } from "./act_form.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { duration, now, plural, seconds } from "./format.js";
import { icon } from "./icons.js";
import { outcomeWord } from "./outcomes.js";
import { elapsed } from "./parts.js";
import { STATUSES, statusClass, statusWord } from "./status.js";

/** The order in which the bar is filled: what is done first. */
const FILL = ["completed", "needs_review", "in_progress", "paused", "failed"];

/**
 * @param {import("./state.js").Store} store
 * @param {(text: string) => void} announce
 * @returns {import("./dom.js").Child[]}
 */
export function stripOf(store, announce) {
  const run = store.state?.run;
  if (!run && !store.tasks.size) return [h("span", { class: "muted" }, "No run yet."), ...asks(store)];
  return [
    runName(run),
    progress(store),
    figures(run),
    run ? h("div", { class: "strip-stop", key: "stop" }, stopper(store, announce)) : null,
    h("div", { class: "strip-asks", key: "asks" }, asks(store)),
  ];
}

/** The name of the run's plan; its id is in the tooltip. @param {any} run */
function runName(run) {
  if (!run) return h("span", { class: "strip-run muted", key: "run" }, "No run yet");
  const status = run.live ? "in_progress" : run.status === "finished" || run.exit === 0 ? "completed" : "pending";
  return h(
    "div",
    { class: "strip-run", key: "run", "data-testid": "run" },
    h("span", { class: ["dot", statusClass(status), run.live && "breathing"] }),
    h("span", { class: run.live ? "live-word" : "muted" }, run.live ? "Live" : runWord(run)),
    h("a", { href: `#/runs/${encodeURIComponent(run.id)}`, title: `Run ${run.id}` }, run.name || `run ${run.id}`),
  );
}

/** @param {any} run */
function runWord(run) {
  const word = String(outcomeWord(run.status) ?? "ended").replaceAll("_", " ");
  const past = now() - seconds(run.ended_at);
  const when = past > 3600 ? `, ${duration(past).split(" ")[0]} ago` : "";
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}${when}`;
}

/** @param {import("./state.js").Store} store */
function progress(store) {
  const counts = store.counts();
  const all = store.tasks.size - (counts.abandoned ?? 0);
  const done = counts.completed ?? 0;
  const words = STATUSES.filter((status) => counts[status]).map(
    (status) => `${counts[status]} ${statusWord(status).toLowerCase()}`,
  );
  return h(
    "div",
    { class: "strip-progress", key: "progress", "data-testid": "progress", title: words.join(", ") },
    h(
      "div",
      {
        class: "bar",
        role: "progressbar",
        "aria-label": "Tasks completed",
        "aria-valuemin": 0,
        "aria-valuemax": Math.max(1, all),
        "aria-valuenow": done,
        "aria-valuetext": `${done} of ${all}; ${words.join(", ")}`,
      },
      FILL.map((status) =>
        h("span", {
          key: status,
          class: statusClass(status),
          style: { width: `${all ? (100 * (counts[status] ?? 0)) / all : 0}%` },
        }),
      ),
    ),
    h("span", { class: "number nowrap" }, h("strong", null, done), h("span", { class: "muted" }, ` of ${all} completed`)),
  );
}

/** When it would have begun, had it gone on without a break. @type {WeakMap<object, number>} */
const beginnings = new WeakMap();

/** @param {any} run @returns {number} */
export function beginning(run) {
  const known = beginnings.get(run) ?? now() - (run.elapsed ?? now() - seconds(run.started_at));
  beginnings.set(run, known);
  return known;
}

/** @param {any} run */
function figures(run) {
  if (!run) return null;
  const time = run.live ? elapsed(beginning(run)) : h("span", { class: "number" }, duration(run.elapsed));
  const left = run.left_seconds ? [h("span", { class: "label" }, "left"), `≈ ${duration(run.left_seconds)}`] : null;
  return h(
    "div",
    { class: "strip-facts", key: "facts" },
    h("span", { key: "time" }, h("span", { class: "label" }, "time"), time),
    h("span", { key: "cost" }, run.cost ? [h("span", { class: "label" }, "cost"), h("span", { class: "number" }, run.cost)] : null),
    h("span", { key: "left", class: "strip-left" }, run.live ? left : null),
  );
}

/** @param {import("./state.js").Store} store @param {(text: string) => void} announce */
function stopper(store, announce) {
  const { run, read_only: readOnly } = store.state ?? {};
  if (!run?.live || readOnly) return null;
  const look = {
    key: "stop",
    type: "button",
    class: "button quiet tiny",
    "data-testid": "stop",
    onclick: () => askToStop(run, announce),
  };
  return h("button", look, icon("stop"), "Stop");
}

/** @param {any} run @param {(text: string) => void} announce */
function askToStop(run, announce) {
  const act = stopRun(run.id);
  const form = actForm([act], { about: run.id, announce, open: true, done: () => close() });
  const close = openDialog("stop-dialog", act.word, form);
}

/** Open items, pauses and stops of the run, and the read-only mark. @param {import("./state.js").Store} store */
function asks(store) {
  const { inbox = [], run, read_only: readOnly, broken = {} } = store.state ?? {};
  const pauses = Object.entries(run?.pauses ?? {});
  const stops = run?.live ? (run.stops ?? []) : [];
  const damaged = Object.keys(broken).length;
  return [
    readOnly
      ? h(
          "span",
          { class: "badge", key: "ro", "data-testid": "read-only", title: "This page is read-only: actions are hidden" },
          icon("lock"),
          "Read-only",
        )
      : null,
    pauses.map(([executor, words]) => chip("paused", "wait", `${executor}: ${words}`)),
    stops.map((/** @type {string} */ words) => chip("failed", "stop", words)),
    damaged
      ? chip("failed", "warning", `${plural(damaged, "task")} unreadable: sow doctor`, Object.values(broken).join("\n"))
      : null,
    inbox.length
      ? h(
          "a",
          { class: "badge status-paused", key: "inbox", href: "#/inbox" },
          icon("paused"),
          `${inbox.length} in your inbox`,
        )
      : null,
  ];
}

/** @param {string} status @param {string} drawing @param {string} words @param {string} [title] */
function chip(status, drawing, words, title) {
  return h(
    "span",
    { class: `badge ${statusClass(status)}`, key: words, title: title ?? words },
    icon(drawing),
    h("span", { class: "cut" }, words),
  );
}
