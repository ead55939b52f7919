// What the marks of a drawing mean: a small sample beside its word.

import { h } from "./dom.js";

/** A list of [class of the sample, word, sign inside the sample]. */
export function legend(entries) {
  const rows = entries.map(([sample, word, sign]) =>
    h("li", { key: word }, h("span", { class: ["sample", sample], "aria-hidden": "true" }, sign ?? ""), word),
  );
  return h("ul", { class: "legend", "aria-label": "Legend" }, rows);
}
