// @ts-check
// The page of a browser that is not signed in: how to get a new address, and a field for it.

import { h, render } from "./dom.js";
import { command, problem } from "./parts.js";

/**
 * @param {HTMLElement} shell
 * @param {(token: string) => Promise<void>} enter
 */
export function showSignIn(shell, enter) {
  const said = h("div", { "aria-live": "polite" });
  const field = h("input", {
    class: "field",
    name: "address",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "http://127.0.0.1:7690/#token=…",
    "aria-label": "Address or token",
  });
  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const token = field.value.trim().replace(/^.*#token=/, "");
    if (!token) return field.focus();
    await enter(token).catch((error) => render(said, problem(error, null)));
  }
  document.title = "Sign in · sow";
  const page = h(
    "main",
    { class: "page lonely", "data-testid": "sign-in" },
    h(
      "section",
      { class: "panel sign-in" },
      h("img", { src: "/assets/icon.svg", alt: "", width: 40, height: 40 }),
      h("h1", null, "This browser is not signed in"),
      h(
        "p",
        null,
        "Each address works once. Get a new one in a terminal in the project's folder, and open it:",
      ),
      command("sow ui"),
      h(
        "form",
        { onsubmit: submit, class: "sign-in-form" },
        h("p", { class: "muted" }, "Or paste the address here:"),
        h("div", { class: "sign-in-row" }, field, h("button", { class: "button primary" }, "Sign in")),
      ),
      said,
    ),
  );
  shell.replaceChildren(page);
}
