// The page of the timeline: turns, checks, merges and waits.

import { get } from "./api.js";
import { h, render } from "./dom.js";
import { part } from "./format.js";
import { empty, load } from "./parts.js";
import { TimelineFacts } from "./timeline_facts.js";
import { TimelinePanel } from "./timeline_panel.js";

export const title = "Timeline";
const TICK = 1000;

/** #/timeline: the run of the header. */
export function mount(root, context) {
  const { store } = context;
  const panel = new TimelinePanel();
  const body = h("div", null);
  let facts = null;
  let asked = "";

  /** Which run it is about; another word when it has begun or ended. */
  function wanted() {
    const run = store.state?.run;
    return run ? `${run.id} ${run.live}` : "";
  }

  async function fetchFacts(signal) {
    asked = wanted();
    const run = store.state?.run;
    return run ? new TimelineFacts(await get(`/api/runs/${part(run.id)}/timeline`, signal)) : null;
  }

  function show(found) {
    facts = found;
    const shown = facts ? panel.element : empty("No run yet", "The turns of a run appear here while it runs.", "sow run plan.md");
    if (body.firstChild !== shown) body.replaceChildren(shown);
    if (facts) panel.show(facts);
  }

  function update(change) {
    if (wanted() !== asked) return void loading.again();
    const gained = change.spans.filter((each) => each.run === facts?.run);
    for (const each of gained) facts.gain(each);
    if (gained.length) panel.show(facts);
  }

  render(root, h("h1", { class: "unseen" }, "Timeline"), body);
  const loading = load(body, fetchFacts, show);
  const timer = setInterval(() => facts?.live && panel.show(facts), TICK);
  return {
    update,
    unmount() {
      clearInterval(timer);
      loading.stop();
      panel.unmount();
    },
    keys: { "+": () => panel.view.nearer(), "-": () => panel.view.farther(), v: () => panel.turn() },
    help: { "+": "Zoom in in time", "-": "Zoom out in time", v: "Timeline or table" },
  };
}
