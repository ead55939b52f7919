// The data of a timeline: the lanes of a run with their spans and marks, which grow while it is live.

import { clock, duration, plural } from "./format.js";

const BUSY = new Set(["work", "review"]);

/** The lane of what is about nobody in particular: limits of an executor, waits of all, ends of calls. */
export const RUN = { id: "", name: "The run" };

export class TimelineFacts {
  /** `document` is the answer of /api/runs/RUN/timeline. */
  constructor(document) {
    this.run = document.run;
    this.from = document.from;
    this.to = document.to;
    this.live = document.now !== null && document.now !== undefined;
    this.lanes = [RUN, ...document.lanes];
    this.gaps = document.gaps;
    this.changes = document.changes;
    this.spans = new Map();
    this.marks = new Map();
    this.gain({ add: document.spans, marks: document.marks });
  }

  /** Takes new spans and marks. A span in progress is replaced when it ends. */
  gain({ add = [], marks = [] }) {
    for (const span of add) {
      const own = this.of(this.spans, span.task);
      const open = own.findIndex((each) => each.id === span.id);
      if (open >= 0) own[open] = span;
      else own.push(span);
      if (span.kind !== "limit") this.to = Math.max(this.to, span.to ?? span.from);
    }
    for (const mark of marks) {
      const own = this.of(this.marks, mark.task);
      if (!own.some((each) => each.at === mark.at && each.kind === mark.kind)) own.push(mark);
      this.to = Math.max(this.to, mark.at);
    }
  }

  of(map, task) {
    const lane = task ?? RUN.id;
    if (!map.has(lane)) map.set(lane, []);
    return map.get(lane);
  }

  spansOf(id) {
    return this.spans.get(id) ?? [];
  }

  marksOf(id) {
    return this.marks.get(id) ?? [];
  }

  /** Whether anything happened in a lane yet. */
  hasBegun(id) {
    return this.spansOf(id).length + this.marksOf(id).length > 0;
  }

  /** [[moment, how many agents work from then on]], in order. */
  atOnce(now) {
    const steps = new Map();
    const add = (at, by) => steps.set(at, (steps.get(at) ?? 0) + by);
    for (const own of this.spans.values()) {
      for (const span of own) {
        if (!BUSY.has(span.kind)) continue;
        add(span.from, 1);
        add(Math.max(span.to ?? now, span.from), -1);
      }
    }
    let count = 0;
    return [...steps].sort((a, b) => a[0] - b[0]).map(([at, by]) => [at, (count += by)]);
  }

  /** The whole in a sentence. */
  summary(now) {
    const end = this.live ? now : this.to;
    const most = Math.max(0, ...this.atOnce(now).map(([, count]) => count));
    const questions = this.count("question");
    const limits = this.count("limit");
    return [
      `${duration(end - this.from)} from ${clock(this.from)} to ${this.live ? "now" : clock(end)}`,
      plural(this.lanes.length - 1, "task"),
      `at most ${plural(most, "agent")} at once`,
      questions ? plural(questions, "question") : "",
      limits ? plural(limits, "limit") : "",
      this.gaps.length ? plural(this.gaps.length, "gap") : "",
    ].filter(Boolean).join(", ");
  }

  count(kind) {
    let found = 0;
    for (const own of this.marks.values()) found += own.filter((mark) => mark.kind === kind).length;
    return found;
  }
}
