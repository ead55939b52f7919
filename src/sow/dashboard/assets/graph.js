// The page of the dependency graph, live.

import { h } from "./dom.js";
import { GraphPanel } from "./graph_panel.js";
import { empty } from "./parts.js";

export const title = "Graph";

/** #/graph, or #/graph/TASK: drawn around that task when the graph is large. */
export function mount(root, context) {
  const { store } = context;
  const panel = new GraphPanel();
  const chosen = context.params[0] ?? null;
  const heading = h("h1", { class: "unseen" }, "Dependency graph");

  function show() {
    const tasks = store.rows();
    if (tasks.length === 0) return root.replaceChildren(heading, empty("No tasks yet", "The tasks of a plan appear here with their dependencies.", "sow run plan.md"));
    if (panel.element.parentNode !== root) root.replaceChildren(heading, panel.element);
    panel.show(tasks, store.state?.critical ?? [], chosen);
  }

  show();
  return {
    update: (change) => (change.kinds.has("task") || change.kinds.has("state")) && show(),
    unmount: () => panel.unmount(),
    keys: { "+": () => panel.view.camera.nearer(), "-": () => panel.view.camera.farther(), 0: () => panel.view.whole(), v: () => panel.turn() },
    help: { "+": "Zoom in", "-": "Zoom out", 0: "Show the whole graph", v: "Graph or list" },
  };
}
