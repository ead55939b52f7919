// The head of the timeline: clock times, how many agents worked at once, and where nothing was alive.

import { h } from "./dom.js";
import { clock, day, duration } from "./format.js";

export const AXIS = 56;
const CROWD = { top: 28, height: 22 };
const DAY = 86400;

/** The axis as a drawing that says nothing by itself: the summary beside it does. */
export function axisDrawing(facts, scale, now) {
  return h(
    "svg",
    { class: "axis", width: Math.round(scale.width), height: AXIS, "aria-hidden": "true" },
    h("path", { class: "crowd", d: crowd(facts, scale, now) }),
    scale.ticks().map((tick) => h("text", { class: "tick", x: (tick.x + 4).toFixed(1), y: 16 }, label(tick))),
  );
}

function label({ at, step }) {
  if (step >= DAY) return day(at).split(",")[0];
  return step < 60 ? clock(at) : clock(at).slice(0, 5);
}

/** An area of steps; its height is the number of agents against the most of all. */
function crowd(facts, scale, now) {
  const steps = facts.atOnce(now);
  const most = Math.max(1, ...steps.map(([, count]) => count));
  const bottom = CROWD.top + CROWD.height;
  const words = [`M0 ${bottom}`];
  for (const [at, count] of steps) {
    words.push(`H${scale.x(at).toFixed(1)}V${(bottom - (CROWD.height * count) / most).toFixed(1)}`);
  }
  return `${words.join("")}V${bottom}Z`;
}

/** Lines of the clock, and bands where no call of sow was alive, behind all lanes. */
export function ground(scale, gaps) {
  const lines = scale.ticks().map((tick) => h("div", { class: "grid-line", style: { left: `${tick.x.toFixed(1)}px` } }));
  const folded = new Set(scale.breaks.map((each) => each.from));
  const bands = gaps.map((gap) => {
    const x = scale.x(gap.from);
    const width = Math.max(scale.x(gap.to) - x, 2);
    const words = folded.has(gap.from) ? duration(gap.to - gap.from) : "";
    return h("div", { class: "gap-band", style: { left: `${x.toFixed(1)}px`, width: `${width.toFixed(1)}px` } }, h("span", null, words));
  });
  return [...lines, ...bands];
}
