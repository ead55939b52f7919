// @ts-check
// One task's page: its head, its tabs, its question and its actions.

import { mayStand, taskActs } from "./act.js";
import { actForm, outcome } from "./act_form.js";
import { get } from "./api.js";
import { diffPane } from "./diff_pane.js";
import { h, render } from "./dom.js";
import { evidencePane } from "./evidence_pane.js";
import { closingLines, failedChecks, headline, questionText } from "./failed_checks.js";
import { part } from "./format.js";
import { icon } from "./icons.js";
import { elapsed, load, problem } from "./parts.js";
import { resultBadge, statusBadge } from "./status.js";
import { logPane, notesPane, overviewPane, reviewsPane } from "./task_panes.js";
import { transcriptPane } from "./transcript_pane.js";

/** @typedef {import("./state.js").Row} Row */

/** @param {string[]} params @returns {string} */
export const title = (params) => `Task ${params[0] ?? ""}`;

const BESIDE = "(min-width: 1100px)"; // where a question is beside the tabs; elsewhere it is folded above them
const AGAIN = 400; // ms that changes of the task are gathered before its page is fetched anew

/** The tabs: a word, how many things are behind it, and the pane. @type {Record<string, [string, (page: Row) => number | null]>} */
const TABS = {
  overview: ["Overview", () => null],
  transcript: [
    "Transcript",
    (page) =>
      (page.sessions ?? []).reduce(
        (/** @type {number} */ sum, /** @type {Row} */ session) => sum + session.turns.length,
        0,
      ),
  ],
  diff: ["Changes", () => null],
  evidence: ["Checks", (page) => page.evidence?.length ?? 0],
  reviews: ["Reviews", (page) => page.reviews?.length ?? 0],
  notes: ["Notes", (page) => page.notes?.length ?? 0],
  log: ["Log", () => null],
};

/**
 * @param {HTMLElement} root
 * @param {import("./router.js").Context} context
 * @returns {import("./router.js").Page}
 */
export function mount(root, context) {
  const id = context.params[0] ?? "";
  const view = new TaskView(root, context, id);
  view.choose(context.params[1] ?? "overview");
  return {
    update: (change) =>
      (change.tasks.has(id) || change.kinds.has("state") || change.lines.some((line) => line.task === id)) &&
      view.later(),
    unmount: () => view.stop(),
    params: ([other, tab]) => other === id && view.choose(tab ?? "overview"),
    keys: { Escape: () => context.go("#/board"), "[": () => view.turn(-1), "]": () => view.turn(1) },
    help: { "[": "tab before", "]": "next tab" },
  };
}

/** The page of one task, and its updates. */
class TaskView {
  /** @param {HTMLElement} root @param {import("./router.js").Context} context @param {string} id */
  constructor(root, context, id) {
    this.context = context;
    this.id = id;
    this.tab = "overview";
    /** @type {Row | null} */
    this.page = null;
    this.head = h("div", { class: "task-head" });
    this.ask = h("div", { class: "task-ask" });
    this.tabs = h("nav", { class: "tabs", "aria-label": "Parts of the task" });
    this.body = h("div", { class: "task-body" });
    this.frame = h("div", { class: "task-frame" }, this.head, this.ask, this.tabs, this.body);
    /** @type {{name: string, node: HTMLElement, update: (page: Row) => void, stop: () => void} | null} */
    this.pane = null;
    /** The acts that are offered, as one text, so that an open form is kept while they stay the same. */
    this.offered = "";
    /** @type {any} */
    this.timer = null;
    this.loading = load(
      root,
      (signal) => get(`/api/tasks/${part(id)}`, signal),
      (page) => {
        if (!this.page) render(root, this.frame);
        this.page = page;
        this.show();
      },
    );
  }

  /** Fetch again soon. */
  later() {
    this.timer ??= setTimeout(() => ((this.timer = null), void this.loading.again()), AGAIN);
  }

  stop() {
    clearTimeout(this.timer);
    this.loading.stop();
    this.pane?.stop();
  }

  /** @param {string} tab @returns {boolean} */
  choose(tab) {
    this.tab = tab in TABS ? tab : "overview";
    if (this.page) this.show();
    return true;
  }

  /** To the next tab or the one before. @param {number} step */
  turn(step) {
    const names = Object.keys(TABS);
    const next = names[Math.min(names.length - 1, Math.max(0, names.indexOf(this.tab) + step))];
    this.context.go(`#/task/${part(this.id)}/${next}`);
  }

  show() {
    const page = /** @type {Row} */ (this.page);
    document.title = `${this.id} ${page.row?.name ?? page.name ?? ""} · sow`;
    render(this.head, ...headOf(page, this.id));
    this.showActs(page);
    render(
      this.tabs,
      Object.entries(TABS).map(([name, [word, number]]) => this.link(name, word, number(page))),
    );
    if (this.pane?.name !== this.tab) bringIntoView(this.tabs);
    this.showPane(page);
  }

  /** @param {string} name @param {string} word @param {number | null} number */
  link(name, word, number) {
    const current = name === this.tab ? "page" : null;
    return h(
      "a",
      { key: name, href: `#/task/${part(this.id)}/${name}`, "aria-current": current, "data-testid": `tab-${name}` },
      word,
      number ? h("span", { class: "muted number" }, number) : null,
    );
  }

  /** @param {Row} page */
  showActs(page) {
    const question = page.row?.question ?? page.question ?? null;
    const acts = this.context.readOnly() ? [] : taskActs(this.id, page.acts ?? [], question, mayStand(page.row), page.waive);
    const offered = JSON.stringify([acts.map((act) => act.line), question]);
    if (offered === this.offered) return;
    const first = this.offered === "";
    this.offered = offered;
    if (!acts.length && !question) {
      if (first) render(this.ask);
      return;
    }
    const form = acts.length
      ? actForm(acts, {
          about: this.id,
          announce: this.context.announce,
          open: Boolean(question),
          done: (act, text) => this.acted(act, text),
        })
      : null;
    this.frame.classList.toggle("asks", Boolean(question));
    this.ask.replaceChildren(
      question
        ? this.asked(question, form)
        : h("section", { class: "task-acts", "data-testid": "task-acts" }, form),
    );
  }

  /** The question with what led to it. On a narrow screen it is closed at first. @param {Row} question @param {HTMLElement | null} form */
  asked(question, form) {
    const page = /** @type {Row} */ (this.page);
    const failing = page.waive ?? [];
    return h(
      "details",
      { class: "panel ask status-paused", "data-testid": "task-acts", open: matchMedia(BESIDE).matches },
      h(
        "summary",
        null,
        icon("right"),
        h("span", { class: "task-asked" }, `Question ${question.number ?? ""}`),
        h("span", { class: "task-asked-line" }, headline(question.text)),
      ),
      h("div", { class: "prose" }, questionText(question.text, failing)),
      failedChecks(this.id, failing, Promise.resolve(page)),
      h("p", { class: "muted wrap closing" }, closingLines(question.text)),
      form,
    );
  }

  /**
   * Look again after an act.
   * @param {{done: string}} act
   * @param {string} text
   * @param {boolean} [replaces] whether what is said about it takes the place of the acts
   * @returns {HTMLElement} what is said about it
   */
  acted(act, text, replaces = true) {
    const said = outcome(this.context.store, act, text);
    if (replaces) {
      this.offered = "done";
      this.ask.replaceChildren(said);
    }
    void this.loading.again();
    this.context.refresh().catch(() => {});
    return said;
  }

  /** @param {Row} page */
  showPane(page) {
    if (this.pane?.name === this.tab) return this.pane.update(page);
    this.pane?.stop();
    try {
      this.pane = { name: this.tab, ...makePane(this.tab, page, this) };
      this.body.replaceChildren(this.pane.node);
    } catch (error) {
      render(this.body, problem(error, null));
    }
  }
}

/** On a narrow screen the chosen tab may be beyond the edge; the page itself does not move. @param {HTMLElement} tabs */
function bringIntoView(tabs) {
  const chosen = /** @type {HTMLElement | null} */ (tabs.querySelector("[aria-current]"));
  if (chosen) tabs.scrollLeft = chosen.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - chosen.offsetWidth) / 2;
}

/** @param {string} tab @param {Row} page @param {TaskView} view */
function makePane(tab, page, view) {
  const { id, context } = view;
  if (tab === "transcript") return transcriptPane(page);
  if (tab === "evidence") return evidencePane(page, id);
  if (tab === "diff") {
    const acts = () => (context.readOnly() ? [] : (view.page?.acts ?? []));
    const sent = (/** @type {string} */ done, /** @type {string} */ text) => view.acted({ done }, text, false);
    return diffPane(`/api/tasks/${part(id)}/diff`, { task: id, acts, sent, announce: context.announce });
  }
  const show =
    /** @type {Record<string, (page: Row, context: any) => import("./dom.js").Child>} */ ({
      reviews: reviewsPane,
      notes: notesPane,
      log: logPane,
    })[tab] ?? overviewPane;
  const node = h("div", { "data-testid": `pane-${tab}` });
  /** @param {Row} fresh */
  const update = (fresh) => render(node, show(fresh, context));
  update(page);
  return { node, update, stop: () => {} };
}

/** @param {Row} page @param {string} id */
function headOf(page, id) {
  const row = page.row ?? page;
  const step = row.running
    ? h(
        "span",
        { class: "task-step" },
        h("span", { class: "dot breathing status-in_progress" }),
        row.step || "working",
        elapsed(row.since),
      )
    : null;
  return [
    h(
      "a",
      {
        class: "button quiet square",
        href: "#/board",
        "aria-label": "Back to the board",
        title: "Back to the board (Esc)",
      },
      icon("left"),
    ),
    h("span", { class: "task-id mono" }, id),
    h("h1", null, row.name),
    statusBadge(
      row.status,
      row.own_status && row.own_status !== row.status ? row.own_status.replaceAll("_", " ") : undefined,
    ),
    resultBadge(row.result, row.check_failed),
    step,
  ];
}
