// @ts-check
// A sheet over the page, which Escape, its button and a click beside it close.

import { h } from "./dom.js";

/**
 * @param {string} name for tests
 * @param {string} title
 * @param {...import("./dom.js").Child} content
 * @returns {() => void} how to close it
 */
export function openDialog(name, title, ...content) {
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", "data-testid": name });
  const close = () => dialog.close();
  const button = h("button", { type: "button", class: "button quiet", onclick: close }, "Close");
  const head = h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title), button);
  dialog.append(h("div", { class: "dialog-body" }, head, ...content));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => event.target === dialog && close());
  document.body.append(dialog);
  dialog.showModal();
  return close;
}
