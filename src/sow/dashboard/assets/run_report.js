// The report of a run as sections: the whole in numbers, what to do next, tasks, agents, executors, questions, limits.

import { costColumns, tile } from "./cost.js";
import { DataTable, mostOf, withBar } from "./data_table.js";
import { h, render } from "./dom.js";
import { ago, capital, clock, count, day, duration, estimate, money, part, plural } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { outcomeBar, outcomeWord, statusOfOutcome } from "./outcomes.js";
import { command, facts, panel } from "./parts.js";
import { resultBadge, statusBadge } from "./status.js";

export class RunReport {
  constructor() {
    this.element = h("div", { class: "report" });
    this.tasks = new DataTable({ label: "Tasks", columns: [], keyOf: (row) => row.id });
    this.agents = new DataTable({ label: "By agent", columns: [], keyOf: (row) => row.name, sort: "seconds" });
    this.executors = new DataTable({ label: "By executor", columns: [], keyOf: (row) => row.name, sort: "seconds" });
    // Made once: a table that moved to a fresh panel would lose the focus and the place that somebody scrolled to.
    this.tasksPanel = panel("Tasks", this.tasks.element);
    this.agentsPanel = panel("By agent", this.agents.element);
    this.executorsPanel = panel("By executor", this.executors.element);
  }

  /** Show the answer of /api/runs/RUN. */
  show(report) {
    this.fill(this.tasks, report.tasks, taskColumns(report.tasks));
    this.fill(this.agents, report.by_agent, costColumns(report.by_agent, "agent"));
    this.fill(this.executors, report.by_executor, costColumns(report.by_executor, "executor"));
    render(
      this.element,
      numbers(report),
      steps(report.next, report.run),
      remarks(report.remarks),
      this.tasksPanel,
      report.questions.length ? panel("Questions", h("ul", { class: "plain-list" }, report.questions.map(question))) : null,
      report.limits.length || report.stops.length ? panel("Limits and stops", h("ul", { class: "plain-list" }, [...report.limits, ...report.stops].map(limit))) : null,
      report.by_agent.length ? this.agentsPanel : null,
      report.by_executor.length ? this.executorsPanel : null,
      panel("Settings", settings(report.run)),
    );
  }

  fill(table, rows, columns) {
    table.columns = columns;
    table.show(rows);
  }
}

function numbers({ totals, counts }) {
  const cost = totals.cost_usd === null ? "unknown" : money(totals.cost_usd) + (totals.cost_unknown_turns ? "+" : "");
  const tokens = totals.input_tokens === null ? "unknown" : `${count(totals.input_tokens)} / ${count(totals.output_tokens)}`;
  const waited = [["people", totals.waited_for_people_seconds], ["limits", totals.waited_for_limits_seconds]].filter(([, seconds]) => seconds >= 1);
  const planned = totals.estimate;
  return h(
    "div",
    { class: "tiles", key: "numbers" },
    h("div", { class: "tile wide" }, h("span", { class: "tile-name" }, plural(counts.total, "task")), outcomeBar(counts, counts.total)),
    tile("Time", duration(totals.wall_seconds), waited.map(([whom, seconds]) => `${duration(seconds)} for ${whom}`).join(", ")),
    tile("Speed", totals.speed_up ? `${totals.speed_up.toFixed(1)}×` : "–", `as fast as one agent at a time; work ${duration(totals.work_seconds)}`),
    tile("Of estimate", planned.factor === null ? "–" : percent(planned.factor), planned.tasks ? `tasks took ${duration(planned.active_minutes * 60)} of ${estimate(planned.estimated_minutes)}` : "no estimates"),
    tile("Cost", cost, totals.cost_unknown_turns ? `and ${plural(totals.cost_unknown_turns, "turn")} of unknown cost` : plural(totals.turns, "turn")),
    tile("Tokens in / out", tokens, ""),
    tile("Merges", String(totals.merges), [plural(totals.conflicts, "conflict"), plural(totals.retries, "retry", "retries")].join(", ")),
    tile("Checks", String(totals.checks.passed), totals.checks.failed ? `passed, ${totals.checks.failed} failed` : "all passed; with those after merges and of the final tree"),
  );
}

function percent(factor) {
  return factor < 0.01 ? "<1 %" : `${Math.round(factor * 100)} %`;
}

function steps(next, run) {
  if (!next?.length) return null;
  const changes = h("a", { class: "button", href: `#/runs/${part(run.id)}/changes` }, "Show the changes");
  const rows = next.map((step) =>
    h("li", { key: step.command }, h("span", { class: "wrap" }, capital(step.text)), h("span", { class: "step-acts" }, command(step.command), step.command.startsWith("git log") ? changes : null)),
  );
  return panel("Next steps", h("ol", { class: "steps" }, rows));
}

function remarks(words) {
  return words?.length ? panel("Remarks", h("ul", { class: "plain-list" }, words.map((text) => h("li", { class: "prose" }, markdown(text))))) : null;
}

function taskColumns(rows) {
  const longest = mostOf(rows, (row) => row.active_seconds);
  const dearest = mostOf(rows, (row) => row.cost_usd);
  return [
    { key: "task", word: "Task", head: true, value: (row) => row.id, cell: (row) => h("a", { href: `#/task/${part(row.id)}`, "data-row": true }, `${row.id} ${row.name}`) },
    { key: "outcome", word: "Outcome", value: (row) => row.outcome, cell: outcome },
    { key: "result", word: "Result", value: (row) => row.result, cell: (row) => resultBadge(row.result) ?? "–" },
    { key: "agent", word: "Agent", value: (row) => row.agent, cell: (row) => h("span", null, row.agent, row.executor ? h("small", { class: "muted" }, ` on ${row.executor}`) : null) },
    { key: "tries", word: "Iterations", number: true, value: (row) => row.iterations, cell: (row) => String(row.iterations) },
    { key: "time", word: "Time", number: true, value: (row) => row.active_seconds, cell: (row) => withBar(row.active_seconds ? duration(row.active_seconds) : "–", row.active_seconds, longest) },
    { key: "estimate", word: "Estimate", number: true, value: (row) => row.estimated_minutes, cell: (row) => estimate(row.estimated_minutes) },
    { key: "cost", word: "Cost", number: true, value: (row) => row.cost_usd, cell: (row) => withBar(row.turns && row.cost_usd === null ? "unknown" : money(row.cost_usd), row.cost_usd, dearest) },
  ];
}

function outcome(row) {
  const waits = row.waits_for?.length ? `waits for ${row.waits_for.map((need) => need.id).join(", ")}` : "";
  const why = row.outcome === "failed" ? row.why : row.question?.text;
  return h("span", { class: "outcome-cell" }, statusBadge(statusOfOutcome(row.outcome), outcomeWord(row.outcome)), waits || why ? h("small", { class: "muted wrap" }, waits || why) : null);
}

function question(asked) {
  const answered = asked.answered_at ? `answered by ${asked.origin ?? "a person"} after ${duration(asked.waited_seconds)}` : "open";
  return h(
    "li",
    { key: asked.number },
    h("a", { href: `#/task/${part(asked.task)}` }, `${/^\d/.test(asked.task) ? "task " : ""}${asked.task}`),
    " ",
    h("small", { class: "muted" }, `${ago(asked.asked_at)}, ${answered}`),
    h("p", { class: "wrap" }, asked.text),
    asked.answer ? h("p", { class: "wrap muted" }, `→ ${asked.answer}`) : null,
  );
}

function limit(each, index) {
  if (typeof each === "string") return h("li", { key: index }, icon("stop"), h("span", { class: "wrap" }, ` ${each}`));
  const until = each.until ? `, until ${clock(each.until)}` : "";
  return h("li", { key: index }, icon("wait"), h("span", { class: "wrap" }, ` ${each.executor}: ${each.reason} `), h("small", { class: "muted" }, `${day(each.at)}${until}`));
}

function settings(run) {
  const own = Object.entries(run.settings).map(([name, value]) => [name.replaceAll("_", " "), name === "max_wait" ? duration(value) : String(value)]);
  return facts([["plans", run.plans.join(", ")], ["branch", h("span", { class: "mono" }, run.branch)], ["base commit", h("span", { class: "mono" }, run.base.slice(0, 12))], ["continued", run.calls > 1 ? plural(run.calls - 1, "time") : null], ["recovered", run.recovered || null], ...own]);
}
