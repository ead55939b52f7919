// @ts-check
// Small drawings on a 16 by 16 grid, all in the colour of their text.

import { h } from "./dom.js";

const RING = "M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 0 1 0-11.5z";

/** Strokes unless the name is in FILLED. @type {Record<string, string>} */
const PATHS = {
  pending: RING,
  in_progress: `${RING} M8 5v3l2 1.5`,
  needs_review:
    "M1.5 8s2.4-4.25 6.5-4.25S14.5 8 14.5 8s-2.4 4.25-6.5 4.25S1.5 8 1.5 8z M8 6.25a1.75 1.75 0 1 1 0 3.5a1.75 1.75 0 0 1 0-3.5z",
  paused: `${RING} M6.4 6.3a1.65 1.65 0 1 1 2.3 1.5c-.5.25-.7.5-.7 1 M8 10.9v.1`,
  completed: `${RING} M5.4 8.2l1.8 1.8l3.5-3.8`,
  failed: `${RING} M6 6l4 4 M10 6l-4 4`,
  abandoned: `${RING} M4.2 11.8l7.6-7.6`,
  board: "M2.5 3h3v10h-3z M6.5 3h3v6.5h-3z M10.5 3h3v8h-3z",
  graph:
    "M3.5 3a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M3.5 10a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M12.5 6.5a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M5 4.7l6 2.6 M5 11.3l6-2.6",
  timeline: "M2 4h6 M5 8h7 M9 12h5",
  inbox: "M2 9l1.8-5.5h8.4L14 9v3.5H2z M2 9h3.5l1 1.75h3l1-1.75H14",
  cost: "M8 2v12 M11 4.8C10.5 4 9.4 3.6 8 3.6c-1.8 0-3 .8-3 2.1c0 3 6.2 1.6 6.2 4.6c0 1.3-1.3 2.1-3.2 2.1c-1.6 0-2.8-.5-3.3-1.5",
  runs: "M2.6 8a5.4 5.4 0 1 0 1.7-3.9 M2.5 2.6v2.2h2.2 M8 5v3.2l2.2 1.3",
  library: "M3 3h2.5v10H3z M6.5 3H9v10H6.5z M10.2 3.6l2.2-.6l2 9.4l-2.2.6z",
  workflow:
    "M8 2.2a1.8 1.8 0 1 1 0 3.6a1.8 1.8 0 0 1 0-3.6z M3.5 10.2a1.8 1.8 0 1 1 0 3.6a1.8 1.8 0 0 1 0-3.6z M12.5 10.2a1.8 1.8 0 1 1 0 3.6a1.8 1.8 0 0 1 0-3.6z M7 5.6l-2.6 4.8 M9 5.6l2.6 4.8",
  note: "M3.5 2.5h9v7.5l-3.5 3.5h-5.5z M9 13.5v-3.5h3.5",
  search: "M7 2.75a4.25 4.25 0 1 1 0 8.5a4.25 4.25 0 0 1 0-8.5z M10.2 10.2l3.3 3.3",
  copy: "M5.5 5.5h7.5v7.5H5.5z M10.5 5.5V3H3v7.5h2.5",
  check: "M3.5 8.5l3 3l6-7",
  close: "M4 4l8 8 M12 4l-8 8",
  down: "M4 6l4 4l4-4",
  right: "M6 4l4 4l-4 4",
  left: "M10 4L6 8l4 4",
  help: "M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 0 1 0-11.5z M6.4 6.3a1.65 1.65 0 1 1 2.3 1.5c-.5.25-.7.5-.7 1 M8 10.9v.1",
  auto: "M8 2.25a5.75 5.75 0 1 1 0 11.5a5.75 5.75 0 0 1 0-11.5z M8 2.25v11.5 M8 5h3.6 M8 8h5.6 M8 11h3.6",
  light:
    "M8 5.25a2.75 2.75 0 1 1 0 5.5a2.75 2.75 0 0 1 0-5.5z M8 1.2v1.6 M8 13.2v1.6 M1.2 8h1.6 M13.2 8h1.6 M3.2 3.2l1.1 1.1 M11.7 11.7l1.1 1.1 M3.2 12.8l1.1-1.1 M11.7 4.3l1.1-1.1",
  dark: "M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z",
  play: "M5 3.5v9l7-4.5z",
  pause: "M5 3.5v9 M11 3.5v9",
  stop: "M4 4h8v8H4z",
  lock: "M4 7.5h8v6H4z M5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3",
  branch:
    "M4.5 2.5a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M4.5 10.5a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M11.5 3.5a1.5 1.5 0 1 1 0 3a1.5 1.5 0 0 1 0-3z M4.5 5.5v5 M11.5 6.5c0 2.5-7 1.5-7 4",
  clock: `${RING} M8 5v3l2 1.5`,
  again: "M12.6 8a4.6 4.6 0 1 1-1.5-3.4 M12.6 2.4v2.7H9.9",
  wait: "M4.5 2.5h7 M4.5 13.5h7 M5.5 2.5c0 3.5 5 3.5 5 5.5s-5 2-5 5.5 M10.5 2.5c0 3.5-5 3.5-5 5.5s5 2 5 5.5",
  warning: "M8 2.5l6 10.5H2z M8 6.5v3 M8 11.2v.1",
};

/**
 * A drawing; it says nothing to a screen reader, the word beside it does.
 * @param {string} name
 * @param {string} [extra] more classes
 * @returns {SVGElement}
 */
export function icon(name, extra = "") {
  return h(
    "svg",
    { class: ["icon", extra], viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name] ?? PATHS.pending }),
  );
}
