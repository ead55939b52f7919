// @ts-check
// The transcripts of a task: a list of sessions and turns, and the text of the chosen one.

import { h, render } from "./dom.js";
import { clock, count, duration, money, part } from "./format.js";
import { pagedText } from "./paged_text.js";
import { elapsed, empty } from "./parts.js";
import { TURNS } from "./task_history.js";

/** @typedef {import("./state.js").Row} Row */

const PARTS = { readable: "Readable", prompt: "Prompt", out: "Raw output", err: "Errors" };
const SAID = /^\[([a-z][a-z _-]{0,20})\] ?(.*)$/;

/**
 * @param {Row} page one task's page
 * @returns {{node: HTMLElement, update: (page: Row) => void, stop: () => void}}
 */
export function transcriptPane(page) {
  const turns = h("nav", { class: "turns", "aria-label": "Sessions and turns" });
  const view = h("div", { class: "turn-view" });
  const node = h("div", { class: "transcript", "data-testid": "transcript" }, turns, view);
  /** @type {import("./paged_text.js").PagedText | null} */
  let text = null;
  let chosen = "";
  let kind = "readable";
  let wasLive = false;

  /** @param {string} key */
  function choose(key) {
    chosen = key;
    open();
    show();
  }

  function open() {
    text?.stop();
    const found = find(page, chosen);
    text = found
      ? pagedText(addressOf(page, found, kind), {
          live: (wasLive = found.turn.live),
          label: `Transcript, ${PARTS[/** @type {"out"} */ (kind)]}`,
          dress: kind === "readable" ? dressed : undefined,
        })
      : null;
  }

  function show() {
    if (!page.sessions?.length)
      return render(
        node,
        empty("No transcript yet", "The transcript appears here when a worker starts.", null),
      );
    if (!find(page, chosen)) chosen = newest(page);
    if (!text) open();
    const live = Boolean(find(page, chosen)?.turn.live);
    if (wasLive && !live) text?.ended();
    wasLive = live;
    render(
      turns,
      page.sessions.map((/** @type {Row} */ session) => sessionList(session, chosen, choose)),
    );
    render(
      view,
      partTabs(kind, (name) => ((kind = name), open(), show())),
      text?.node,
    );
    render(node, turns, view);
  }

  show();
  /** @param {Row} fresh */
  const update = (fresh) => ((page = fresh), show());
  return { node, update, stop: () => text?.stop() };
}

/** @param {Row} page @param {string} key @returns {{session: Row, turn: Row} | null} */
function find(page, key) {
  for (const session of page.sessions ?? []) {
    for (const turn of session.turns) if (`${session.number}/${turn.number}` === key) return { session, turn };
  }
  return null;
}

/** The turn in progress, else the last of the task's own agent, else the last of all. @param {Row} page @returns {string} */
function newest(page) {
  const own = page.row?.agent ?? page.assigned_agent;
  /** @type {[number, string, string][]} */
  const all = [];
  for (const session of page.sessions ?? []) {
    for (const turn of session.turns) {
      const rank = turn.live ? 2 : session.role === own ? 1 : 0;
      all.push([rank, String(turn.started_at), `${session.number}/${turn.number}`]);
    }
  }
  all.sort((one, other) => one[0] - other[0] || one[1].localeCompare(other[1]));
  return all.at(-1)?.[2] ?? "";
}

/** @param {Row} page @param {{session: Row, turn: Row}} found @param {string} kind */
function addressOf(page, found, kind) {
  return `/api/tasks/${part(page.id ?? page.row.id)}/sessions/${part(found.session.number)}/turns/${part(found.turn.number)}?part=${kind}`;
}

/** @param {Row} session @param {string} chosen @param {(key: string) => void} choose */
function sessionList(session, chosen, choose) {
  const model = session.model ? ` · ${session.model}` : "";
  return h(
    "section",
    { key: session.number },
    h("h3", { class: "turns-head" }, session.role, h("span", { class: "muted" }, ` on ${session.executor}${model}`)),
    h(
      "ul",
      null,
      session.turns.map((/** @type {Row} */ turn) => turnButton(session, turn, chosen, choose)),
    ),
  );
}

/** @param {Row} session @param {Row} turn @param {string} chosen @param {(key: string) => void} choose */
function turnButton(session, turn, chosen, choose) {
  const key = `${session.number}/${turn.number}`;
  const tokens =
    turn.input_tokens || turn.output_tokens
      ? `${count((turn.input_tokens ?? 0) + (turn.output_tokens ?? 0))} tokens`
      : "";
  const facts = [
    clock(turn.started_at),
    turn.live ? "" : duration(turn.seconds),
    tokens,
    turn.cost_usd === null || turn.cost_usd === undefined ? "" : money(turn.cost_usd),
  ];
  return h(
    "li",
    { key },
    h(
      "button",
      {
        type: "button",
        class: "turn",
        "aria-pressed": String(key === chosen),
        "data-row": true,
        onclick: () => choose(key),
      },
      h(
        "span",
        { class: "turn-name" },
        turn.live ? h("span", { class: "dot breathing status-in_progress" }) : null,
        `Iteration ${turn.iteration}, ${TURNS[turn.kind] ?? turn.kind}`,
        turn.live
          ? elapsed(turn.started_at)
          : h("span", { class: ["turn-end", turn.outcome === "done" ? "" : "odd"] }, turn.outcome ?? ""),
      ),
      h("span", { class: "muted" }, facts.filter(Boolean).join(" · ")),
      turn.reason ? h("span", { class: "turn-reason" }, turn.reason) : null,
    ),
  );
}

/** @param {string} kind @param {(name: string) => void} choose */
function partTabs(kind, choose) {
  const buttons = Object.entries(PARTS).map(([name, word]) =>
    h(
      "button",
      { key: name, type: "button", class: "chip", "aria-pressed": String(name === kind), onclick: () => choose(name) },
      word,
    ),
  );
  return h("div", { class: "chips shown", role: "group", "aria-label": "What to show of the turn" }, buttons);
}

/**
 * The readable transcript by entries; a line without a mark belongs to the entry before it.
 * @param {string} text
 */
function dressed(text) {
  /** @type {{kind: string, lines: string[]}[]} */
  const said = [];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const found = SAID.exec(line);
    if (found) said.push({ kind: found[1], lines: [found[2]] });
    else if (said.length) said[said.length - 1].lines.push(unindented(line, said[said.length - 1].kind));
    else said.push({ kind: "text", lines: [line] });
  }
  return said.filter((each, at) => !repeated(each, said[at + 1])).map(saying);
}

/** The lines of a result are indented in the file, so that none looks like an entry. @param {string} line @param {string} kind */
function unindented(line, kind) {
  return ["output", "failed", "refused"].includes(kind) ? line.replace(/^ {2}/, "") : line;
}

/** Many agents say their last words twice, the second time as their result. @param {any} each @param {any} next */
function repeated(each, next) {
  return (
    each.kind === "text" && next?.kind === "result" && next.lines.join("\n").trim() === each.lines.join("\n").trim()
  );
}

/** @param {{kind: string, lines: string[]}} each */
function saying({ kind, lines }) {
  const mark = h("span", { class: "said-kind" }, kind);
  const text = h("span", { class: "said-text" }, lines.join("\n").trimEnd());
  return h("div", { class: ["said", `by-${kind.split(/[ _-]/)[0]}`] }, mark, text);
}
