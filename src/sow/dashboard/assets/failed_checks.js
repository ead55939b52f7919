// @ts-check
// The text of a question, and each failed check with the end of its output.

import { get } from "./api.js";
import { h, render } from "./dom.js";
import { part, plural } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";

/** @typedef {import("./state.js").Row} Row */

const DETAILS = "\n\nWhat was found:\n"; // the line after which a run adds what it found to a question
const MOST = 3; // checks that are shown with their output
const TAIL = 6000; // bytes at the end of an output

/** A text without the details that a run adds. @param {string} text @returns {string} */
export function headline(text) {
  return text.split(DETAILS)[0];
}

/**
 * A question, then what a run found, unless that is the output of failed checks: it is shown as it was printed.
 * @param {string} text
 * @param {readonly string[]} failing  the commands of the failed checks
 * @returns {import("./dom.js").Child}
 */
export function questionText(text, failing) {
  const [asked, found = ""] = text.split(DETAILS);
  const said = found.split(/^The work is in /m)[0].trim();
  const isNew = said && !failing.length && !asked.includes(said.replace(/\.$/, ""));
  return [markdown(asked), isNew ? h("blockquote", null, markdown(said)) : null];
}

/** The effect of an answer: the lines after the findings and the folder of the work. @param {string} text @returns {string} */
export function closingLines(text) {
  return /^The work is in .*\n([^]*)/m.exec(text)?.[1] ?? "";
}

/**
 * Each failed check of a task: its command, the end of its output in a window of fixed height, and links to all of it.
 * @param {string} id  of the task
 * @param {readonly string[]} commands
 * @param {Promise<Row>} [page]  of the task, if it is there already
 * @returns {HTMLElement | null}
 */
export function failedChecks(id, commands, page) {
  if (!commands.length) return null;
  const shown = commands.slice(0, MOST).map((command) => {
    const output = h("pre", { class: "tail", tabindex: "0", role: "region", "aria-label": `End of the output of ${command}` });
    const exit = h("span", { class: "muted" });
    return { command, output, exit };
  });
  const facts = page ?? get(`/api/tasks/${part(id)}`);
  for (const check of shown) void fill(id, check, facts);
  const more = commands.length - shown.length;
  return h(
    "div",
    { class: "failed-checks", "data-testid": "failed-checks" },
    shown.map(({ command, output, exit }) =>
      h(
        "figure",
        { class: "failed-check status-failed", key: command },
        h("figcaption", null, h("span", { class: "badge" }, icon("close"), "failed"), h("code", { class: "wrap" }, command), exit),
        output,
      ),
    ),
    h(
      "p",
      { class: "failed-links" },
      h("a", { class: "button tiny", href: `#/task/${part(id)}/evidence` }, more ? `Full output, and ${plural(more, "other failed check")}` : "Full output"),
      h("a", { class: "button tiny", href: `#/task/${part(id)}/diff` }, "Changes of the task"),
    ),
  );
}

/** @param {string} id @param {{command: string, output: HTMLElement, exit: HTMLElement}} check @param {Promise<Row>} facts */
async function fill(id, { command, output, exit }, facts) {
  try {
    const evidence = (await facts).evidence ?? [];
    const place = evidence.findLastIndex((/** @type {Row} */ each) => each.command === command && !each.passed);
    const found = evidence[place];
    render(exit, found?.exit === null ? "did not end" : found ? `exit ${found.exit}` : "");
    const answer = await get(`/api/tasks/${part(id)}/evidence/${place}?from=-${TAIL}`);
    const text = answer.from ? answer.text.slice(answer.text.indexOf("\n") + 1) : answer.text;
    output.textContent = text.trimEnd() || "No output.";
    output.scrollTop = output.scrollHeight;
  } catch {
    output.textContent = "The output is not on this machine. Run the check again: sow runs verify";
  }
}
