// @ts-check
// A button for an action that opens in place: its input, the same command, and its result.

import { act as send } from "./api.js";
import { h, render } from "./dom.js";
import { draft, keepDraft } from "./draft.js";
import { icon } from "./icons.js";
import { command, problem } from "./parts.js";

/** @typedef {import("./act.js").Act} Act */

/**
 * @typedef {object} Wishes
 * @property {string} about  what the acts are about, as a name for drafts
 * @property {(act: Act, text: string) => void} done  called when the server has said yes
 * @property {(text: string) => void} announce
 * @property {boolean} [open]  show the first act opened at once
 */

/**
 * Buttons of acts. The element keeps its own state: make it once and show it again.
 * @param {Act[]} acts
 * @param {Wishes} wishes
 * @returns {HTMLElement}
 */
export function actForm(acts, wishes) {
  const place = h("div", { class: "acts", "data-testid": `acts-${wishes.about}` });
  /** @type {Act | null} */
  let open = wishes.open ? acts[0] : null;
  function show() {
    const buttons = acts.filter((act) => act !== open).map((act) => button(act, open !== null, () => choose(act)));
    render(
      place,
      open
        ? sheet(open, wishes, buttons, stays(open) ? null : close)
        : h("div", { class: "act-buttons", key: "buttons" }, buttons),
    );
  }
  /** A question's form is open from the start and stays so. @param {Act} act */
  const stays = (act) => Boolean(wishes.open) && act === acts[0];
  /** @param {Act} act */
  function choose(act) {
    open = act;
    show();
    /** @type {HTMLElement | null} */ (place.querySelector("textarea, .act-go"))?.focus();
  }
  function close() {
    open = wishes.open ? acts[0] : null;
    show();
    /** @type {HTMLElement | null} */ (place.querySelector("button"))?.focus();
  }
  show();
  return place;
}

/** @param {Act} act @param {boolean} beside  whether another act is open, whose button is highlighted @param {() => void} choose */
function button(act, beside, choose) {
  const answers = act.name === "answer" && act.text ? true : null;
  const name = `act-${act.name}`;
  return h(
    "button",
    {
      key: act.word,
      type: "button",
      class: ["button", beside && act.look === "primary" ? null : act.look],
      "data-answer": answers,
      "data-testid": name,
      onclick: choose,
    },
    act.word,
  );
}

/**
 * @param {Act} act
 * @param {Wishes} wishes
 * @param {HTMLElement[]} others
 * @param {(() => void) | null} close
 */
function sheet(act, wishes, others, close) {
  const name = `${wishes.about}:${act.name}`;
  const said = h("div", { class: "act-said" });
  const field = act.text ? textField(act, name, () => void go()) : null;
  const stands = act.always ? h("input", { type: "checkbox", "data-testid": "always" }) : null;
  const button = h(
    "button",
    { type: "submit", class: ["button", "act-go", act.goLook ?? "primary"], "data-testid": `go-${act.name}` },
    act.go ?? act.word,
  );
  async function go() {
    const text = field?.value.trim() ?? "";
    if (field && !text && !act.optional) return field.focus();
    button.disabled = true;
    try {
      await send(act.name, act.body(text, Boolean(stands?.checked)));
      keepDraft(name, "");
      wishes.announce(act.done);
      wishes.done(act, text);
    } catch (error) {
      render(said, problem(error, null));
    } finally {
      button.disabled = false;
    }
  }
  /** @param {Event} event */
  const submit = (event) => (event.preventDefault(), void go());
  return h(
    "form",
    { class: "act-sheet", key: `sheet-${act.name}-${act.word}`, onsubmit: submit },
    act.ask ? h("p", { class: "act-ask" }, act.ask) : null,
    field,
    h(
      "div",
      { class: "act-row" },
      button,
      close ? h("button", { type: "button", class: "button quiet", onclick: close }, "Cancel") : null,
      stands ? standsLabel(stands) : null,
      others.length ? h("span", { class: "act-others" }, others) : null,
    ),
    h("p", { class: "act-same" }, h("span", { class: "muted" }, "same as: "), h("code", null, act.line)),
    said,
  );
}

/** @param {HTMLElement} box */
function standsLabel(box) {
  return h(
    "label",
    { class: "act-always", title: "The same question in this repository gets this answer at once" },
    box,
    "Save this answer for questions like it",
  );
}

/**
 * @param {Act} act
 * @param {string} name
 * @param {() => void} go
 */
function textField(act, name, go) {
  const field = h("textarea", {
    class: "field",
    rows: 3,
    placeholder: `${act.text} (${act.optional ? "optional; " : ""}Ctrl+Enter sends)`,
    "aria-label": act.text,
    "data-answer": act.name === "answer" ? true : null,
    "data-testid": `text-${act.name}`,
  });
  field.value = draft(name);
  field.addEventListener("input", () => keepDraft(name, field.value));
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    go();
  });
  return field;
}

/**
 * The message after an action: its result and the next step.
 * @param {import("./state.js").Store} store
 * @param {{done: string}} act
 * @param {string} [text]
 * @returns {HTMLElement}
 */
export function outcome(store, act, text) {
  const run = store.state?.run;
  const next = run?.live ? "The run continues by itself." : run?.go_on ? "No run is active. To continue:" : "";
  return h(
    "div",
    { class: "notice status-completed", role: "status", "data-testid": "outcome" },
    h("p", { class: "outcome-word" }, icon("check"), act.done, text ? h("q", { class: "muted wrap" }, text) : null),
    next ? h("p", { class: "outcome-next" }, next, " ", !run?.live && run?.go_on ? command(run.go_on) : null) : null,
  );
}
