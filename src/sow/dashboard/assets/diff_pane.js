// @ts-check
// What a task or a run changed: its files with their numbers, and the lines that were added and removed.

import { get } from "./api.js";
import { h, render } from "./dom.js";
import { bytes, plural } from "./format.js";
import { LineComments } from "./line_comments.js";
import { empty, load, problem } from "./parts.js";

/** @typedef {import("./state.js").Row} Row */

/**
 * @param {string} address of the changes
 * @param {import("./line_comments.js").Commenting | null} [commenting] for changes whose lines can be commented on
 * @returns {{node: HTMLElement, update: () => void, stop: () => void}}
 */
export function diffPane(address, commenting = null) {
  const node = h("div", { class: "diff", "data-testid": "diff" });
  const lines = h("div", { class: "diff-files" });
  let iteration = "";
  /** Where the next page begins. */
  let next = 0;
  let reader = new DiffReader(false);
  let seen = "";
  const comments = commenting ? new LineComments(lines, commenting, choose) : null;
  const fetchPage = (/** @type {AbortSignal} */ signal) =>
    get(`${address}?from=0${iteration ? `&iteration=${iteration}` : ""}`, signal);
  const loading = load(node, fetchPage, first);

  /** @param {Row} answer */
  function first(answer) {
    const mark = JSON.stringify([answer.iterations, answer.files, answer.size, iteration, comments?.isOpen]);
    if (mark === seen) return comments?.show(answer);
    seen = mark;
    reader = new DiffReader(Boolean(comments?.isOpen));
    lines.replaceChildren();
    take(answer);
    if (!answer.iterations?.length && !answer.text)
      return render(
        node,
        empty("No changes yet", "The changes of a turn appear here when it ends, and those of a run with each merge.", null),
      );
    show(answer);
    comments?.show(answer);
  }

  /** @param {number} number of an iteration */
  function choose(number) {
    iteration = String(number);
    void loading.again();
  }

  /** @param {Row} answer */
  function take(answer) {
    next = answer.next ?? 0;
    reader.read(answer.text ?? "", lines, next >= (answer.size ?? 0));
  }

  /** @param {Row} answer */
  function show(answer) {
    const more = next < (answer.size ?? 0);
    const button = h(
      "button",
      { type: "button", class: "button", onclick: () => void further(answer) },
      `Show more (${bytes((answer.size ?? 0) - next)} left)`,
    );
    render(
      node,
      iterationTabs(answer),
      fileList(answer.files ?? [], lines),
      comments?.elsewhere,
      lines,
      more ? button : null,
      comments?.bar,
    );
  }

  /** @param {Row} answer */
  async function further(answer) {
    try {
      take(await get(`${address}?from=${next}${iteration ? `&iteration=${iteration}` : ""}`));
      show(answer);
      comments?.place();
    } catch (error) {
      render(
        node,
        problem(error, () => void loading.again()),
      );
    }
  }

  /** @param {Row} answer */
  function iterationTabs(answer) {
    const all = answer.iterations ?? [];
    if (all.length === 1) return h("p", { class: "muted" }, `Iteration ${all[0].iteration}`);
    if (!all.length) return null;
    const now = iteration || String(answer.iteration ?? all.at(-1).iteration);
    return h(
      "div",
      { class: "chips shown", role: "group", "aria-label": "Iteration" },
      all.map((/** @type {Row} */ each) =>
        h(
          "button",
          {
            key: each.iteration,
            type: "button",
            class: "chip",
            "aria-pressed": String(String(each.iteration) === now),
            onclick: () => choose(each.iteration),
          },
          `Iteration ${each.iteration}`,
          h("span", { class: "mono muted" }, String(each.commit ?? "").slice(0, 8)),
        ),
      ),
    );
  }

  return { node, update: () => void loading.again(), stop: loading.stop };
}

/** @param {Row[]} files @param {HTMLElement} lines */
function fileList(files, lines) {
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  /** @param {string} path */
  const go = (path) => lines.querySelector(`[data-path="${CSS.escape(path)}"]`)?.scrollIntoView({ block: "start" });
  return h(
    "details",
    { class: "panel diff-list", open: true },
    h(
      "summary",
      null,
      plural(files.length, "file"),
      " ",
      h("span", { class: "added" }, `+${added}`),
      " ",
      h("span", { class: "removed" }, `−${removed}`),
    ),
    h(
      "ul",
      null,
      files.map((file) =>
        h(
          "li",
          { key: file.path },
          h(
            "button",
            { type: "button", class: "diff-link mono", "data-row": true, onclick: () => go(file.path) },
            file.path,
          ),
          h(
            "span",
            { class: "number" },
            file.added === null
              ? h("span", { class: "muted" }, "binary")
              : [
                  h("span", { class: "added" }, `+${file.added}`),
                  " ",
                  h("span", { class: "removed" }, `−${file.removed}`),
                ],
          ),
        ),
      ),
    ),
  );
}

/** Turns a unified diff into tables of lines, page by page. */
class DiffReader {
  /** @param {boolean} commentable whether the number of a line is a button */
  constructor(commentable) {
    this.commentable = commentable;
    this.rest = "";
    this.old = 0;
    this.new = 0;
    this.within = false;
    /** @type {HTMLElement | null} */
    this.table = null;
  }

  /** @param {string} text @param {HTMLElement} into @param {boolean} last */
  read(text, into, last) {
    const lines = (this.rest + text).split("\n");
    this.rest = last ? "" : (lines.pop() ?? "");
    for (const line of lines) this.line(line, into);
  }

  /** @param {string} line @param {HTMLElement} into */
  line(line, into) {
    if (line.startsWith("diff --git ")) return this.file(line, into);
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk) return this.hunk(hunk);
    if (!this.within) return this.about(line);
    if (line.startsWith("+")) this.row("added", null, this.new++, line.slice(1));
    else if (line.startsWith("-")) this.row("removed", this.old++, null, line.slice(1));
    else if (line.startsWith("\\")) this.row("aside", null, null, line.slice(2));
    else if (line.startsWith(" ")) this.row("", this.old++, this.new++, line.slice(1));
  }

  /** @param {string} line @param {HTMLElement} into */
  file(line, into) {
    const path = / b\/(.*)$/.exec(line)?.[1] ?? line.slice(11);
    this.within = false;
    this.table = h("tbody");
    const table = h("table", { class: "diff-table" }, this.table);
    into.append(
      h(
        "section",
        { class: "diff-file", "data-path": path },
        h("h3", { class: "mono" }, path),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Changes in ${path}` }, table),
      ),
    );
  }

  /** A line of git about a file, before its hunks: new, deleted, renamed, binary. @param {string} line */
  about(line) {
    if (!/^(new file|deleted file|rename|old mode|new mode|Binary|similarity)/.test(line)) return;
    this.row("aside", null, null, line.replace(/^(new|deleted) file mode \d+$/, "$1 file"));
  }

  /** @param {RegExpExecArray} found */
  hunk(found) {
    const first = !this.within;
    this.old = Number(found[1]);
    this.new = Number(found[2]);
    this.within = true;
    if (!first || this.new > 1) this.row("hunk", null, null, `⋯ ${found[3].trim()}`);
  }

  /** @param {string} kind @param {number | null} old @param {number | null} fresh @param {string} text */
  row(kind, old, fresh, text) {
    const isFirst = this.commentable && fresh && !this.table?.querySelector(".diff-on");
    const look = { type: "button", class: "diff-on", tabindex: isFirst ? 0 : -1, "aria-label": `Comment on line ${fresh}` };
    const sign = { added: "+", removed: "−" }[kind] ?? "";
    this.table?.append(
      h(
        "tr",
        { class: kind ? `diff-${kind}` : null, "data-line": fresh },
        h("td", { class: "diff-number" }, old),
        h("td", { class: "diff-number" }, this.commentable && fresh ? h("button", look, fresh) : fresh),
        h("td", { class: "diff-sign" }, sign),
        h("td", { class: "diff-text" }, text),
      ),
    );
  }
}
