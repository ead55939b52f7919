// The page of a workflow: its crew, what each member does and waits for, notes, and the gate before its end.

import { act, get } from "./api.js";
import { DataTable } from "./data_table.js";
import { h, render } from "./dom.js";
import { ago, duration, money, part, plural } from "./format.js";
import { GraphPanel } from "./graph_panel.js";
import { icon } from "./icons.js";
import { command, empty, load, panel, problem } from "./parts.js";
import { statusBadge } from "./status.js";

export const title = "Workflow";
const TOGETHER = 700; // ms in which changes of the crew lead to one request

/** #/workflow */
export function mount(root, context) {
  const body = h("div", { class: "crew" });
  const graph = new GraphPanel();
  const table = new DataTable({ label: "The crew", columns: memberColumns(), keyOf: (row) => row.id });
  const crew = panel("The crew", table.element);
  const drawing = panel("Dependencies", graph.element);
  const failure = h("div", { key: "failure" });
  let timer = 0;

  function show(answer) {
    if (!answer?.workflow) return body.replaceChildren(empty("No workflow here", "A workflow is a crew of agents and verifiers that an architect designs.", "sow workflow new NAME"));
    const members = answer.members ?? [];
    table.show(members.map((row) => ({ ...row, entry: answer.agents?.[row.id] ?? {}, verifier: answer.verifiers?.[row.id] ?? "–" })));
    render(
      body,
      head(answer, context.readOnly() ? null : approve),
      failure,
      questions(answer.questions ?? []),
      members.length ? [crew, drawing] : null,
      notes(answer.notes ?? {}),
    );
    if (members.length) graph.show(members, context.store.state?.critical ?? []);
  }

  async function approve() {
    try {
      const done = await act("approve-workflow", {});
      context.announce(done.text ?? "approved");
      render(failure);
      await loading.again();
    } catch (error) {
      render(failure, problem(error));
    }
  }

  const loading = load(body, (signal) => fetchCrew(context.store, signal), show);
  render(root, body);
  return {
    update(change) {
      if (!["task", "state", "inbox"].some((kind) => change.kinds.has(kind))) return;
      clearTimeout(timer);
      timer = setTimeout(() => void loading.again(), TOGETHER);
    },
    unmount() {
      clearTimeout(timer);
      loading.stop();
      graph.unmount();
    },
  };
}

/** The workflow; nothing where there is none, which is no failure and not worth a request. */
async function fetchCrew(store, signal) {
  if (!store.state?.workflow) return null;
  return get("/api/workflow", signal).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });
}

function head(answer, approve) {
  const gate = answer.overall_completion_drive_gate;
  const open = gate === "blocked";
  const mayApprove = approve && answer.acts?.includes("approve-workflow");
  return h(
    "header",
    { class: "crew-head", key: "head" },
    h("div", { class: "page-head" }, h("h1", null, answer.workflow), h("span", { class: "tag" }, answer.status?.replaceAll("_", " ")), gate ? h("span", { class: ["badge", open ? "status-paused" : "status-completed"] }, icon(open ? "lock" : "check"), open ? "open notes" : "no open notes") : null, h("span", { class: "muted mono" }, answer.task_id)),
    answer.changed?.length ? h("p", { class: "notice status-paused" }, `The design has changed since its approval for ${answer.changed.join(", ")}: they wait.`) : null,
    h("p", { class: "next-step" }, mayApprove ? h("button", { type: "button", class: "button primary", onclick: approve }, "Approve the design") : null, next(answer.next)),
  );
}

/** Next steps: words, a command, or both. */
function next(step) {
  if (!step) return null;
  if (typeof step === "string") return step.startsWith("sow ") ? [h("span", null, "Next:"), command(step)] : h("span", null, step);
  return [h("span", null, step.text), " ", step.command ? command(step.command) : null];
}

function questions(asked) {
  if (!asked.length) return null;
  const rows = asked.map((each) => h("li", { key: each.number }, h("b", null, `${each.agent} asks`), h("p", { class: "wrap" }, each.text), h("a", { class: "button", href: "#/inbox" }, "Answer in the inbox")));
  return h("section", { class: "panel crew-asks", key: "questions" }, h("h2", { class: "panel-title" }, icon("paused"), plural(asked.length, "question")), h("ul", { class: "plain-list" }, rows));
}

function memberColumns() {
  const list = (words) => (words?.length ? words.join(", ") : "–");
  return [
    { key: "name", word: "Agent", head: true, value: (row) => row.id, cell: (row) => h("a", { href: `#/task/${part(row.id)}`, "data-row": true }, row.id) },
    { key: "status", word: "Status", value: (row) => row.status, cell: (row) => statusBadge(row.status, row.own_status?.replaceAll("_", " ")) },
    { key: "step", word: "Now", value: (row) => row.step, cell: (row) => row.step || (row.question ? `asks: ${row.question.text}` : "–") },
    { key: "needs", word: "Depends on", value: (row) => row.needs.length, cell: (row) => list(row.needs) },
    { key: "verifier", word: "Verified by", value: (row) => row.verifier, cell: (row) => row.verifier },
    { key: "waits", word: "Waits for", value: (row) => row.waits_for?.length ?? 0, cell: (row) => list(row.waits_for) },
    { key: "notes", word: "Notes", number: true, value: (row) => row.entry.completion_drive_notes_count ?? 0, cell: noteWords },
    { key: "seconds", word: "Work", number: true, value: (row) => row.seconds, cell: (row) => (row.seconds ? duration(row.seconds) : "–") },
    { key: "cost", word: "Cost", number: true, value: (row) => row.cost_usd, cell: (row) => (row.cost_usd === null && row.seconds ? "unknown" : money(row.cost_usd)) },
  ];
}

function noteWords(row) {
  const all = row.entry.completion_drive_notes_count ?? 0;
  const open = row.entry.unresolved_notes ?? row.open_notes ?? 0;
  return open ? h("span", { class: "paused-word" }, `${all}, ${open} open`) : String(all);
}

function notes(byMember) {
  const told = Object.entries(byMember).filter(([, own]) => own?.length);
  if (!told.length) return null;
  const groups = told.map(([name, own]) => h("section", { key: name }, h("h3", { class: "note-head" }, name), h("ul", { class: "plain-list" }, own.map(note))));
  return h("section", { class: "panel", key: "notes" }, h("h2", { class: "panel-title" }, icon("note"), "Notes"), groups);
}

function note(each, index) {
  const done = each.status.toLowerCase().startsWith("resolved");
  return h(
    "li",
    { class: "crew-note", key: each.note_id ?? index },
    h("span", { class: ["badge", done ? "status-completed" : "status-paused"] }, icon(done ? "check" : "note"), each.status.toLowerCase().replaceAll("_", " ")),
    each.category ? h("span", { class: "tag" }, each.category) : null,
    h("p", { class: "wrap" }, each.description),
    each.resolution ? h("p", { class: "muted wrap" }, each.resolution) : null,
    each.escalation_reason ? h("p", { class: "muted wrap" }, `Reason of the escalation: ${each.escalation_reason}`) : null,
    h("small", { class: "muted" }, ago(each.timestamp)),
  );
}
