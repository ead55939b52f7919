// @ts-check
// The inbox: open items, most blocking first, each with the actions that settle it.

import { answerTo, approveWorkflow, mayStand, phaseAct, taskActs } from "./act.js";
import { actForm, outcome } from "./act_form.js";
import { get } from "./api.js";
import { h, render, say } from "./dom.js";
import { closingLines, failedChecks, headline, questionText } from "./failed_checks.js";
import { ago, part, plural } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { command, empty } from "./parts.js";
import { statusClass } from "./status.js";

export const title = "Inbox";

/** The label of an item, the status of its colour, and its icon. @type {Record<string, [string, string, string]>} */
const KINDS = {
  question: ["Question", "paused", "paused"],
  review: ["Review", "needs_review", "needs_review"],
  failed: ["Failed", "failed", "failed"],
  phase: ["New phase", "in_progress", "branch"],
  approval: ["Approval", "needs_review", "workflow"],
  broken: ["Unreadable", "failed", "warning"],
  blocked: ["Blocked", "paused", "paused"],
};

/** @typedef {import("./state.js").Row} Item */

/** The identity of an item, so that its form is kept while the list changes. @param {Item} item @returns {string} */
function keyOf(item) {
  return [item.kind, item.task ?? item.agent ?? item.phase ?? "", item.number ?? ""].join(":");
}

/**
 * The acts that settle an item.
 * @param {Item} item
 * @param {import("./state.js").Row} [row] its task's
 * @returns {import("./act.js").Act[]}
 */
function actsOf(item, row) {
  if (item.kind === "phase")
    return item.number ? [phaseAct(item.number, item.phase, true), phaseAct(item.number, item.phase, false)] : [];
  if (item.kind === "approval") return [approveWorkflow()];
  const ofTask = (/** @type {string[]} */ ...names) => taskActs(item.task, names, null, true, item.waive);
  const accept = item.accept ? ["approve"] : [];
  if (item.kind === "review" && item.task) return ofTask("approve", "send-back");
  if (item.kind === "failed" && item.task) return ofTask("retry", ...accept, "abandon");
  if (item.kind === "failed" && item.agent && !item.number) return taskActs(item.agent, ["retry"]);
  const asked = item.number ?? (item.kind === "question" ? item.task : null);
  if (!asked || item.kind === "broken") return [];
  return [answerTo(asked, item.kind === "question" && mayStand(row)), ...(item.task ? ofTask(...accept, "abandon") : [])];
}

/**
 * @param {HTMLElement} root
 * @param {import("./router.js").Context} context
 * @returns {import("./router.js").Page}
 */
export function mount(root, context) {
  const { store } = context;
  /** @type {Map<string, {item: Item, node: HTMLElement, text: HTMLElement, facts: HTMLElement, remark: HTMLElement}>} */
  const cards = new Map();
  /** The items that were settled on this page, shown in their old places. @type {Map<string, {act: import("./act.js").Act, said: string}>} */
  const settled = new Map();
  /** @type {string[]} */
  let order = [];
  const total = h("span", { class: "muted" });
  const rows = h("div", { class: "inbox", "data-testid": "inbox" });
  const head = h("div", { class: "page-head" }, h("h1", null, "Inbox"), total);

  /** @param {Item} item */
  function cardOf(item) {
    const known = cards.get(keyOf(item)) ?? make(item);
    cards.set(keyOf(item), known);
    if (known.item.text !== item.text) render(known.text, questionText(item.text, item.waive ?? []));
    render(known.facts, ...factsOf(item, store));
    render(known.remark, item.remark ?? "");
    known.item = item;
    return known.node;
  }

  /** @param {Item} item */
  function make(item) {
    const key = keyOf(item);
    const named = item.text === store.tasks.get(item.task)?.name; // which the link above says already
    const text = h("div", { class: "prose inbox-text" }, named ? null : questionText(item.text, item.waive ?? []));
    const facts = h("div", { class: "inbox-facts" });
    const remark = h("div", { class: "muted wrap", "data-testid": "inbox-remark" }, item.remark ?? "");
    /** @param {import("./act.js").Act} act @param {string} said */
    const done = (act, said) => {
      settled.set(key, { act, said });
      if (!order.includes(key)) order.unshift(key); // the item can leave the inbox before the reply arrives
      context.refresh().catch(() => {});
      show();
    };
    const acts = actsOf(item, store.tasks.get(item.task));
    const form =
      acts.length && !context.readOnly()
        ? actForm(acts, { about: key, announce: context.announce, done, open: item.kind === "question" })
        : command(item.do);
    const [, status] = KINDS[item.kind] ?? KINDS.question;
    const node = h(
      "article",
      {
        class: ["panel", "ask", statusClass(status)],
        tabindex: "0",
        "data-row": true,
        "data-testid": `ask-${item.number ?? item.task ?? item.kind}`,
        "aria-label": `${item.kind}: ${headline(item.text)}`,
      },
      facts,
      text,
      remark,
      item.waive?.length && item.task ? failedChecks(item.task, item.waive) : h("div", { class: "inbox-why" }),
      h("p", { class: "muted wrap closing" }, closingLines(item.text)),
      form,
    );
    if (!item.waive?.length && headline(item.text) === item.text) tellWhy(item, node);
    return { item, node, text, facts, remark };
  }

  /** Adds the reason, which the task's page has. @param {Item} item @param {HTMLElement} node */
  function tellWhy(item, node) {
    const row = store.tasks.get(item.task);
    if (!row || (item.kind !== "failed" && row.result !== "RED")) return;
    get(`/api/tasks/${part(item.task)}`).then(
      (page) => render(/** @type {HTMLElement} */ (node.querySelector(".inbox-why")), why(page, item.kind)),
      () => {}, // the task's page will say what is wrong with it
    );
  }

  /** @param {string} key */
  function settledWord(key) {
    const { act, said } = /** @type {{act: any, said: string}} */ (settled.get(key));
    return h("div", { class: "settled", key }, outcome(store, act, said));
  }

  function show() {
    const items = new Map((store.state?.inbox ?? []).map((/** @type {Item} */ item) => [keyOf(item), item]));
    order = [...order.filter((key) => settled.has(key) && !items.has(key)), ...items.keys()];
    for (const key of cards.keys()) if (!items.has(key) && !settled.has(key)) cards.delete(key);
    say(total, items.size ? `${plural(items.size, "thing")} ${items.size === 1 ? "waits" : "wait"} for you` : "");
    const nodes = order.map((key) => (settled.has(key) ? settledWord(key) : cardOf(items.get(key))));
    render(rows, ...nodes, nodes.length ? null : nothing(store));
    render(root, head, context.readOnly() && items.size ? readOnlyNote() : null, rows);
  }

  show();
  return {
    update: (change) => ["inbox", "state", "run"].some((kind) => change.kinds.has(kind)) && show(),
    unmount: () => {},
  };
}

/** How the last turn of a failed task ended; of another, what its reviewer said. @param {Item} page @param {string} kind */
function why(page, kind) {
  const turns = (page.sessions ?? []).flatMap((/** @type {Item} */ session) => session.turns);
  turns.sort((/** @type {Item} */ one, /** @type {Item} */ other) => one.started_at.localeCompare(other.started_at));
  const text = kind === "failed" ? turns.at(-1)?.reason : page.review_feedback;
  return text ? h("blockquote", { class: "prose" }, markdown(text)) : null;
}

/** @param {Item} item @param {import("./state.js").Store} store */
function factsOf(item, store) {
  const [word, , drawing] = KINDS[item.kind] ?? [item.kind, "", "note"];
  const task = item.task ? store.tasks.get(item.task) : null;
  const name = item.task ?? item.agent;
  return [
    h("span", { class: "badge" }, icon(drawing), item.number ? `${word} ${item.number}` : word),
    name ? h("a", { href: `#/task/${part(name)}` }, `${name}${task ? ` ${task.name}` : ""}`) : null,
    item.since ? h("span", { class: "muted" }, ago(item.since)) : null,
    item.blocks ? h("span", { class: "muted" }, `holds up ${plural(item.blocks, "task")}`) : null,
  ];
}

function readOnlyNote() {
  return h("p", { class: "notice" }, "This page is read-only. Use the command of each item in a terminal.");
}

/** @param {import("./state.js").Store} store */
function nothing(store) {
  const { run, next } = store.state ?? {};
  const text = run?.live
    ? "Agents are working. Questions, reviews and failures appear here and in the title of this tab."
    : (next?.text ?? "Questions, reviews and failures appear here.");
  return empty("Nothing waits for you", text, run?.live ? null : next?.command);
}
