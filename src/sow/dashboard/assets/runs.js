// The page of all runs: what became of them, how long they took, what they cost.

import { get } from "./api.js";
import { DataTable, mostOf, withBar } from "./data_table.js";
import { h, render } from "./dom.js";
import { count, day, duration, estimate, money, part, plural, seconds } from "./format.js";
import { outcomeBar, outcomeWord } from "./outcomes.js";
import { elapsed, empty, load } from "./parts.js";
import { beginning } from "./run_strip.js";

export const title = "Runs";

/** #/runs */
export function mount(root, context) {
  const body = h("div", null);
  const note = h("span", { class: "muted" });
  const table = new DataTable({ label: "Runs", columns: [], keyOf: (run) => run.id, sort: "started" });
  const panel = h("section", { class: "panel" }, table.element);
  let seen = "";

  function show({ runs }) {
    render(note, runs.length ? plural(runs.length, "run") : "");
    if (runs.length === 0) return body.replaceChildren(empty("No runs yet", "Each run appears here with its report, changes, timeline and a replay.", "sow run plan.md"));
    table.columns = columns(runs, context.store.state?.run);
    table.show(runs);
    if (body.firstChild !== panel) body.replaceChildren(panel);
  }

  render(root, h("div", { class: "page-head" }, h("h1", null, "Runs"), note), body);
  const loading = load(body, (signal) => get("/api/runs", signal), show);
  return {
    update() {
      const { run } = context.store.state ?? {};
      const stamp = run ? `${run.id} ${run.status} ${run.live}` : "";
      if (seen && stamp !== seen) void loading.again();
      seen = stamp;
    },
    unmount: () => loading.stop(),
  };
}

function columns(runs, current) {
  const most = { wall: mostOf(runs, (run) => run.seconds), cost: mostOf(runs, (run) => run.cost_usd), tokens: mostOf(runs, tokensOf) };
  return [
    { key: "name", word: "Run", head: true, value: (run) => run.name, cell: nameCell },
    { key: "started", word: "Started", value: (run) => seconds(run.started_at), cell: (run) => h("span", { class: "nowrap" }, day(run.started_at)) },
    { key: "outcome", word: "Outcome", value: (run) => run.completed / Math.max(run.tasks, 1), cell: (run) => outcomeBar(run, run.tasks) },
    { key: "wall", word: "Time", number: true, value: (run) => run.seconds, cell: (run) => withBar(timeOf(run, current), run.seconds, most.wall) },
    { key: "speed", word: "Speed", number: true, value: (run) => run.speed_up, cell: speedCell },
    { key: "estimate", word: "Of estimate", number: true, value: estimateShare, cell: estimateCell },
    { key: "cost", word: "Cost", number: true, value: (run) => run.cost_usd, cell: (run) => withBar(known(money, run.cost_usd), run.cost_usd, most.cost) },
    { key: "tokens", word: "Tokens in / out", number: true, value: tokensOf, cell: (run) => withBar(tokenWords(run), tokensOf(run), most.tokens) },
  ];
}

/** The time of the run that goes on is counted as above the page. */
function timeOf(run, current) {
  return run.live && current?.live && current.id === run.id ? elapsed(beginning(current)) : duration(run.seconds);
}

function nameCell(run) {
  const state = run.live ? h("span", { class: "status-in_progress live-word" }, h("span", { class: "dot breathing" }), "live") : h("span", { class: "muted" }, outcomeWord(run.status));
  return h("span", { class: "run-name" }, h("a", { href: `#/runs/${part(run.id)}`, "data-row": true }, run.name), h("small", null, h("span", { class: "mono muted" }, run.id), " ", state));
}

/** A value that was not reported is shown as unknown, never as 0. */
function known(format, value) {
  return value === null || value === undefined ? h("span", { class: "muted" }, "unknown") : format(value);
}

function speedWord(factor) {
  return `${factor.toFixed(1)}×`;
}

function speedCell(run) {
  return run.speed_up ? h("span", { title: "as fast as one agent at a time" }, speedWord(run.speed_up)) : h("span", { class: "muted" }, "–");
}

function estimateShare(run) {
  return run.estimated_minutes && run.seconds ? run.seconds / 60 / run.estimated_minutes : null;
}

function estimateCell(run) {
  const share = estimateShare(run);
  if (share === null) return h("span", { class: "muted" }, "no estimate");
  const percent = share * 100;
  const words = percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
  return h("span", null, words, h("small", { class: "muted" }, ` of ${estimate(run.estimated_minutes)}`));
}

function tokensOf(run) {
  return run.input_tokens === null && run.output_tokens === null ? null : (run.input_tokens ?? 0) + (run.output_tokens ?? 0);
}

function tokenWords(run) {
  return tokensOf(run) === null ? known(count, null) : `${count(run.input_tokens)} / ${count(run.output_tokens)}`;
}
