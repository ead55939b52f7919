// One lane of the timeline: the bars and marks of a task as a small drawing, and its sum in words.

import { h } from "./dom.js";
import { clock, duration } from "./format.js";

export const LANE = 28;

/** The name of each kind of bar, in the order of the legend. */
export const KINDS = {
  work: "work",
  review: "review",
  check: "check",
  merge: "merge",
  limit: "waits for a limit",
  wait: "waits",
};

/** The name and the sign of each kind of mark. */
export const MARKS = {
  question: ["?", "question"],
  answered: ["✓", "answered"],
  sent_back: ["↩", "sent back"],
  conflict: ["×", "conflict"],
  limit: ["‖", "limit reached"],
  budget: ["$", "budget"],
  recovered: ["↻", "recovered"],
  ended: ["■", "call ended"],
};

const BAR = { work: 14, review: 14, check: 14, merge: 14, limit: 14, wait: 4 };
const LEAST = 2;
const SIDE_BY_SIDE = 13;
const BAD = ["failed", "crashed", "timeout", "RED", "conflict", "cut off"];

/** "040 Cart"; the run as a whole has no id. */
export function laneName(lane) {
  return `${lane.id} ${lane.name}`.trim();
}

/** The class of a span, whatever kind the server names. */
export function kindOf(span) {
  return span.kind in KINDS ? span.kind : "wait";
}

/** Whether a span is time in which everything waited for a person. */
function isForPeople(span) {
  return span.kind === "wait" && span.role === "person";
}

/** The drawing of one lane. Spans in progress end at `now`. */
export function laneDrawing(lane, spans, marks, scale, now, live, chosen = -1) {
  const bars = [...spans].sort((a, b) => (kindOf(a) === "wait" ? 0 : 1) - (kindOf(b) === "wait" ? 0 : 1));
  return h(
    "svg",
    { class: "lane", width: Math.round(scale.width), height: LANE, role: "img", "aria-label": laneSummary(lane, spans, marks, now) },
    bars.map((span) => bar(span, spans.indexOf(span), scale, now, live, chosen)),
    markPlaces(marks, scale).map((x, index) => markDrawing(marks[index], index, x)),
  );
}

function bar(span, index, scale, now, live, chosen) {
  const kind = kindOf(span);
  const x = scale.x(span.from);
  const width = Math.max(scale.x(span.to ?? now) - x, LEAST);
  const bad = BAD.includes(span.outcome);
  const classes = ["span", `kind-${kind}`, span.to === null && live && "is-open", bad && "is-bad", isForPeople(span) && "is-for-people", index === chosen && "is-chosen"];
  const height = BAR[kind];
  return h("rect", { class: classes, x: x.toFixed(1), y: (LANE - height) / 2, width: width.toFixed(1), height, rx: Math.min(3, width / 2).toFixed(1), "data-span": index, key: `s${index}` });
}

/** Marks of the same moment are drawn side by side, so that none hides another. */
function markPlaces(marks, scale) {
  const order = marks.map((mark, index) => index).sort((a, b) => marks[a].at - marks[b].at);
  const places = [];
  let last = -Infinity;
  for (const index of order) {
    last = Math.max(scale.x(marks[index].at), last + SIDE_BY_SIDE);
    places[index] = last;
  }
  return places;
}

function markDrawing(mark, index, x) {
  const [sign] = MARKS[mark.kind] ?? ["•"];
  return h(
    "g",
    { class: ["mark", `mark-${mark.kind}`], transform: `translate(${x.toFixed(1)} ${LANE / 2})`, "data-mark": index, key: `m${index}` },
    h("circle", { r: 7.5 }),
    h("text", { y: 3.5, "text-anchor": "middle" }, sign),
  );
}

/** "work 2m 10s, review 14s, 1 question": a lane for screen readers. */
export function laneSummary(lane, spans, marks, now) {
  const sums = {};
  for (const span of spans) sums[kindOf(span)] = (sums[kindOf(span)] ?? 0) + Math.max((span.to ?? now) - span.from, 0);
  const parts = Object.keys(KINDS).filter((kind) => kind in sums).map((kind) => `${KINDS[kind]} ${duration(sums[kind])}`);
  const counts = {};
  for (const mark of marks) counts[mark.kind] = (counts[mark.kind] ?? 0) + 1;
  for (const [kind, count] of Object.entries(counts)) parts.push(`${count} × ${(MARKS[kind] ?? ["", kind])[1]}`);
  return `${laneName(lane)}: ${parts.join(", ") || "nothing yet"}`;
}

/** The facts about one span. */
export function spanFacts(lane, span, now) {
  const until = span.to === null ? "until now" : `to ${clock(span.to)}`;
  return [
    h("b", null, laneName(lane)),
    h("span", { class: ["kind-word", `kind-${kindOf(span)}`] }, KINDS[kindOf(span)]),
    duration((span.to ?? now) - span.from),
    `${clock(span.from)} ${until}`,
    whoOf(span),
    span.outcome,
    span.text,
  ];
}

/** The agent of a span, as "implementer on worker"; of a wait, the cause. */
export function whoOf(span) {
  if (span.kind === "wait") return span.role === "person" ? "for you" : "";
  return [span.role, span.executor].filter(Boolean).join(" on ");
}

/** The facts about one mark. */
export function markFacts(lane, mark) {
  const [sign, word] = MARKS[mark.kind] ?? ["•", mark.kind];
  return [h("b", null, laneName(lane)), `${sign} ${word}`, clock(mark.at), mark.text];
}
