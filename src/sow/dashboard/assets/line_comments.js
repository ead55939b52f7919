// @ts-check
// Comments on lines of a task's changes: those that were sent, at their lines, and drafts, which are sent as one feedback.

import { act as send } from "./api.js";
import { h, render } from "./dom.js";
import { draft, keepDraft } from "./draft.js";
import { day, plural } from "./format.js";
import { markdown } from "./markdown.js";
import { problem } from "./parts.js";

/** @typedef {import("./state.js").Row} Row */
/** @typedef {{iteration: number, text: string, comments: Row[]}} Draft  what is not sent yet about one tree */

/**
 * @typedef {object} Commenting
 * @property {string} task
 * @property {() => readonly string[]} acts  what can be done about the task now
 * @property {(done: string, text: string) => HTMLElement} sent  called when they are; the result is shown
 * @property {(text: string) => void} announce
 */

const WAYS = {
  "send-back": { word: "Send back", look: "primary", done: "goes back to its worker with your comments." },
  feedback: { word: "Send as feedback", look: "", done: "gets your comments with its next iteration." },
};

/** The comments in one pane of changes. */
export class LineComments {
  /** @param {HTMLElement} lines @param {Commenting} options @param {(iteration: number) => void} choose */
  constructor(lines, options, choose) {
    this.lines = lines;
    this.options = options;
    this.choose = choose;
    this.name = `lines:${options.task}`;
    this.bar = h("div", { class: "diff-send", "data-testid": "send-comments" });
    this.elsewhere = h("div", { class: "diff-elsewhere" });
    /** @type {Row} */
    this.answer = {};
    /** What was said after the last comments were sent. @type {HTMLElement | null} */
    this.outcome = null;
    lines.addEventListener("click", (event) => {
      const button = numberOf(event.target);
      if (button) this.open(button, "").focus();
    });
    lines.addEventListener("keydown", (event) => this.key(event));
    lines.addEventListener("focusin", (event) => makeTabStop(numberOf(event.target)));
  }

  /** Whether lines can be commented on now. */
  get isOpen() {
    return this.ways.length > 0;
  }

  get ways() {
    return Object.entries(WAYS).filter(([name]) => this.options.acts().includes(name));
  }

  /** Show the comments and the drafts of the changes that are shown. @param {Row} answer */
  show(answer) {
    this.answer = answer;
    this.place();
    this.update();
  }

  /** Put comments and drafts at their lines, as far as the lines are there yet. */
  place() {
    for (const old of Array.from(this.lines.querySelectorAll(".diff-said, .diff-head-comments"))) old.remove();
    /** @type {Map<Element | null, Row[]>} */
    const apart = new Map();
    for (const each of this.answer.comments ?? []) {
      const row = each.shown_line ? rowOf(this.lines, each.shown_file, each.shown_line) : null;
      if (row) lastOf(row).after(inTable("diff-said", comment(each)));
      else {
        const file = fileOf(this.lines, each.shown_file);
        apart.set(file, [...(apart.get(file) ?? []), each]);
      }
    }
    for (const [file, comments] of apart) file?.querySelector("h3")?.after(headComments(comments));
    render(this.elsewhere, apart.has(null) ? headComments(apart.get(null) ?? []) : null);
    for (const each of this.isOpen ? this.draft.comments : []) {
      const button = rowOf(this.lines, each.file, each.line)?.querySelector(".diff-on");
      if (button) this.open(/** @type {HTMLElement} */ (button), each.text);
    }
  }

  /** @returns {Record<string, Draft>} by tree */
  get drafts() {
    try {
      return JSON.parse(draft(this.name) || "{}");
    } catch {
      return {};
    }
  }

  /** @returns {Draft} */
  get draft() {
    return this.drafts[this.answer.tree] ?? { iteration: this.answer.iteration, text: "", comments: [] };
  }

  /** @param {Draft} changed */
  keep(changed) {
    const all = { ...this.drafts, [this.answer.tree]: changed };
    if (!changed.comments.length && !changed.text) delete all[this.answer.tree];
    keepDraft(this.name, Object.keys(all).length ? JSON.stringify(all) : "");
    this.update();
  }

  /** Keep the text of one comment, or forget it when it is empty. @param {string} file @param {number} line @param {string} text */
  write(file, line, text) {
    const others = this.draft.comments.filter((each) => each.file !== file || each.line !== line);
    const own = text.trim() ? [{ file, line, text }] : [];
    const comments = [...others, ...own].sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
    this.keep({ ...this.draft, comments });
  }

  /** The field for a comment on a line; it is there once. @param {HTMLElement} button @param {string} text @returns {HTMLTextAreaElement} */
  open(button, text) {
    const row = /** @type {HTMLElement} */ (button.closest("tr"));
    const file = row.closest("section")?.dataset.path ?? "";
    const line = Number(row.dataset.line);
    const there = row.nextElementSibling?.querySelector("textarea");
    if (there) return there;
    const label = `Comment on line ${line} of ${file}`;
    const field = h("textarea", { class: "field", rows: 2, "aria-label": label, placeholder: "Comment; it is sent with the others" });
    field.value = text;
    const close = () => (form.remove(), button.focus());
    field.addEventListener("input", () => this.write(file, line, field.value));
    field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      if (field.value.trim()) button.focus();
      else close();
    });
    const remove = () => (this.write(file, line, ""), close());
    const toBar = () => /** @type {HTMLElement | null} */ (this.bar.querySelector("textarea, button"))?.focus();
    const form = inTable(
      "diff-draft",
      h(
        "div",
        { class: "diff-draft-body" },
        h("span", { class: "muted" }, `Line ${line}, draft`),
        h("button", { type: "button", class: "button quiet tiny", onclick: toBar }, "Send…"),
        h("button", { type: "button", class: "button quiet tiny", onclick: remove }, "Remove"),
        field,
      ),
    );
    row.after(form);
    return field;
  }

  /** Arrow keys move among the lines of a file. @param {KeyboardEvent} event */
  key(event) {
    const button = numberOf(event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!button || !step) return;
    event.preventDefault();
    const all = /** @type {HTMLElement[]} */ (Array.from(button.closest("table")?.querySelectorAll(".diff-on") ?? []));
    all[all.indexOf(button) + step]?.focus();
  }

  /** Show how many comments wait to be sent, and the ways to send them. */
  update() {
    const { comments, text } = this.draft;
    const other = Object.entries(this.drafts).find(
      ([tree, each]) =>
        tree !== this.answer.tree && (this.answer.iterations ?? []).some((/** @type {Row} */ one) => one.iteration === each.iteration),
    )?.[1];
    const elsewhere = other
      ? h(
          "button",
          { type: "button", class: "button quiet tiny", onclick: () => this.choose(other.iteration) },
          `${plural(other.comments.length, "draft")} on iteration ${other.iteration}`,
        )
      : null;
    if (!this.isOpen || !comments.length) {
      const hint = this.isOpen ? h("p", { class: "muted" }, "Choose the number of a line to comment on it.", " ", elsewhere) : null;
      render(this.bar, this.outcome, hint);
      this.bar.classList.remove("has-drafts");
      return;
    }
    this.bar.classList.add("has-drafts");
    this.outcome = null;
    const field = h("textarea", {
      class: "field",
      rows: 1,
      placeholder: "About the whole work (optional)",
      "aria-label": "About the whole work",
      oninput: (/** @type {Event} */ event) =>
        this.keep({ ...this.draft, text: /** @type {HTMLTextAreaElement} */ (event.currentTarget).value }),
    });
    const shown = this.bar.querySelector("textarea");
    if (!shown) field.value = text;
    const said = h("div", { class: "act-said", key: "said" });
    const buttons = this.ways.map(([name, way]) =>
      h(
        "button",
        { type: "button", key: name, class: ["button", way.look], "data-testid": `send-${name}`, onclick: () => void this.send(name) },
        way.word,
      ),
    );
    render(
      this.bar,
      h("p", { class: "diff-send-count", role: "status" }, `${plural(comments.length, "comment")}, not sent`, " ", elsewhere),
      shown ?? field,
      h("div", { class: "act-row" }, buttons, h("button", { type: "button", class: "button quiet", key: "discard", onclick: () => this.discard() }, "Discard")),
      this.bar.querySelector(".act-said") ?? said,
    );
  }

  /** @param {string} name */
  async send(name) {
    const { comments, text } = this.draft;
    const buttons = /** @type {HTMLButtonElement[]} */ (Array.from(this.bar.querySelectorAll("button")));
    const way = WAYS[/** @type {keyof typeof WAYS} */ (name)];
    for (const each of buttons) each.disabled = true;
    try {
      await send(name, { task: this.options.task, tree: this.answer.tree, text: text.trim(), comments });
      const done = `${this.options.task} ${way.done}`;
      this.discard();
      this.outcome = this.options.sent(done, plural(comments.length, "comment"));
      this.update();
      this.options.announce(done);
    } catch (error) {
      const said = this.bar.querySelector(".act-said");
      if (said) render(said, problem(error, null));
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  }

  discard() {
    for (const each of Array.from(this.lines.querySelectorAll(".diff-draft"))) each.remove();
    this.bar.replaceChildren();
    this.keep({ ...this.draft, text: "", comments: [] });
  }
}

/** The button with the number of a line, if an event is about it. @param {EventTarget | null} target @returns {HTMLElement | null} */
function numberOf(target) {
  return target instanceof Element ? target.closest(".diff-on") : null;
}

/** The Tab key comes to one line of each file: the last one that had the focus. @param {HTMLElement | null} button */
function makeTabStop(button) {
  for (const old of Array.from(button?.closest("table")?.querySelectorAll('.diff-on[tabindex="0"]') ?? []))
    old.setAttribute("tabindex", "-1");
  button?.setAttribute("tabindex", "0");
}

/** @param {HTMLElement} lines @param {string} path */
function fileOf(lines, path) {
  return lines.querySelector(`.diff-file[data-path="${CSS.escape(path)}"]`);
}

/** @param {HTMLElement} lines @param {string} path @param {number} line */
function rowOf(lines, path, line) {
  return fileOf(lines, path)?.querySelector(`tr[data-line="${line}"]`) ?? null;
}

/** The row after which the next comment on a line comes. @param {Element} row */
function lastOf(row) {
  let last = row;
  while (last.nextElementSibling?.matches(".diff-said, .diff-draft")) last = last.nextElementSibling;
  return last;
}

/** @param {string} look @param {HTMLElement} content */
function inTable(look, content) {
  return h("tr", { class: look }, h("td", { colspan: 4 }, content));
}

/** Comments that have no line in these changes, above the lines of their file. @param {Row[]} comments */
function headComments(comments) {
  const outdated = comments.filter((each) => !each.shown_line).length;
  const words = [
    outdated ? `${plural(outdated, "outdated comment")}` : "",
    comments.length > outdated ? `${plural(comments.length - outdated, "comment")} on lines that are not shown` : "",
  ];
  return h(
    "details",
    { class: "diff-head-comments" },
    h("summary", null, words.filter(Boolean).join(", ")),
    comments.map(comment),
  );
}

/** @param {Row} each */
function comment(each) {
  const moved = each.shown_line && (each.shown_line !== each.line || each.shown_file !== each.file);
  const here = `${each.file}:${each.line}`;
  return h(
    "article",
    { class: "line-comment", "data-testid": "line-comment" },
    h(
      "p",
      { class: "muted" },
      `${each.by}, iteration ${each.iteration}, ${day(each.at)}`,
      moved ? ` · was ${here}` : null,
      each.shown_line ? null : [` · ${here} `, h("span", { class: "badge status-paused" }, "outdated")],
    ),
    moved || !each.shown_line ? h("p", { class: "line-comment-quote mono" }, each.quote) : null,
    h("div", { class: "prose" }, markdown(each.text)),
  );
}
