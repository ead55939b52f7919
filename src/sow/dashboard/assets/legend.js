// The legend of a drawing: a sample and a word for each mark.

import { h } from "./dom.js";

/** A list of [class of the sample, word, sign inside the sample]. */
export function legend(entries) {
  const rows = entries.map(([sample, word, sign]) =>
    h("li", { key: word }, h("span", { class: ["sample", sample], "aria-hidden": "true" }, sign ?? ""), word),
  );
  return h("ul", { class: "legend", "aria-label": "Legend" }, rows);
}
