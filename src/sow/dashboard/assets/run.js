// The page of one run: its report, all its changes, and its board, graph and timeline at any moment.

import { get } from "./api.js";
import { diffPane } from "./diff_pane.js";
import { h, render, say } from "./dom.js";
import { day, duration, now, part, seconds } from "./format.js";
import { GraphPanel } from "./graph_panel.js";
import { MomentBoard } from "./moment_board.js";
import { command, load } from "./parts.js";
import { outcomeWord } from "./outcomes.js";
import { Replay } from "./replay.js";
import { RunReport } from "./run_report.js";
import { TimelineFacts } from "./timeline_facts.js";
import { laneName } from "./timeline_lane.js";
import { TimelinePanel } from "./timeline_panel.js";
import { withWaves } from "./waves.js";

export const title = ([run]) => `Run ${run}`;
const TABS = { report: "Report", changes: "Changes", board: "Board", graph: "Graph", timeline: "Timeline" };
const REPLAYED = new Set(["board", "graph", "timeline"]);
const MOST_PAGES = 20;
const AGAIN = 2000; // ms between two looks at a live run's report

class RunPage {
  constructor(root, context) {
    Object.assign(this, { root, context, report: null, facts: null, moment: null, asked: 0 });
    [this.id] = context.params;
    this.address = `/api/runs/${part(this.id)}`;
    this.head = h("div", null);
    this.tabs = h("nav", { class: "tabs", "aria-label": "Views of the run" });
    this.body = h("div", { class: "run-body" });
    this.sentence = h("p", { class: "replay-sentence", "aria-live": "off" });
    this.replay = new Replay((moment) => this.go(moment));
    this.replaying = h("div", { class: "replay-frame", hidden: true }, this.replay.element, this.sentence);
    this.parts = { report: new RunReport(), board: new MomentBoard(), graph: new GraphPanel(), timeline: new TimelinePanel() };
    /** The changes are fetched when they are first looked at. */
    this.changes = null;
    this.lines = [];
    render(root, this.head, this.tabs, this.replaying, this.body);
    this.choose(context.params[1]);
    this.loading = load(this.body, (signal) => this.fetch(signal), () => this.draw());
    this.timer = setInterval(() => this.tick(), 1000);
  }

  async fetch(signal) {
    this.asked = Date.now();
    const [report, timeline] = await Promise.all([get(this.address, signal), get(`${this.address}/timeline`, signal)]);
    this.report = report;
    this.facts = new TimelineFacts(timeline);
    void this.fetchLines(signal);
  }

  /** The sentences of the journal, which the replay tells; without them it is only less chatty. */
  async fetchLines(signal) {
    let from = 0;
    const lines = [];
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const answer = await get(`${this.address}/entries?from=${from}`, signal).catch(() => ({ lines: [] }));
      lines.push(...answer.lines.map((line) => ({ task: line.task, text: line.text, moment: seconds(line.at) })));
      from = answer.next;
      if (!answer.more) break;
    }
    this.lines = lines;
    this.tell();
  }

  choose(tab) {
    this.tab = tab in TABS ? tab : "report";
    const links = Object.entries(TABS).map(([name, word]) => h("a", { href: `#/runs/${part(this.id)}/${name}`, "aria-current": name === this.tab ? "page" : null }, word));
    render(this.tabs, links);
    if (this.report) this.draw();
  }

  draw() {
    this.drawHead();
    this.replaying.hidden = !REPLAYED.has(this.tab);
    this.replay.show(this.facts, now());
    const element = this.tab === "changes" ? this.diff().node : this.parts[this.tab].element;
    if (this.body.firstChild !== element) this.body.replaceChildren(element);
    this.drawTab();
    this.tell();
  }

  diff() {
    this.changes ??= diffPane(`${this.address}/diff`);
    return this.changes;
  }

  drawHead() {
    const { run, totals } = this.report;
    const end = run.live ? "still running" : run.ended_at ? `ended ${day(run.ended_at)}` : "stopped";
    const state = run.live ? h("span", { class: "badge status-in_progress" }, h("span", { class: "dot breathing" }), "live") : h("span", { class: "tag" }, outcomeWord(run.status));
    const words = `started ${day(run.started_at)}, ${end}, ${duration(totals.wall_seconds)}`;
    render(this.head, h("div", { class: "page-head" }, h("h1", null, run.name), state, h("span", { class: "muted" }, words), h("span", { class: "toolbar" }, command(`sow runs report ${run.id} --format html --out run.html`))));
  }

  /** The same word as long as nothing changes between two moments. */
  look() {
    return `${this.tab} ${this.moment === null} ${this.replay.moments.countUntil(this.replay.moment)}`;
  }

  drawTab() {
    this.shown = this.look();
    if (this.tab === "report") return this.parts.report.show(this.report);
    if (this.tab === "changes") return;
    if (this.tab === "timeline") {
      this.parts.timeline.show(this.facts);
      return this.parts.timeline.view.at(this.moment);
    }
    const rows = this.rowsNow();
    if (this.tab === "board") this.parts.board.show(rows);
    else this.parts.graph.show(rows, this.critical());
  }

  /** The tasks of the run as they were at the moment, or as they are. */
  rowsNow() {
    const { store } = this.context;
    const isPresent = store.state?.run?.id === this.id;
    if (this.moment === null && this.report.run.live && isPresent) return store.rows();
    this.waved ??= withWaves(this.report.tasks);
    return this.replay.moments.rows(this.waved, this.replay.moment).map((row) => ({ ...row, question: null, seconds: 0 }));
  }

  critical() {
    const { state } = this.context.store;
    return this.report.critical ?? (state?.run?.id === this.id ? state.critical : []);
  }

  go(moment) {
    this.moment = moment;
    if (this.tab === "timeline") this.parts.timeline.view.at(moment);
    else if (this.shown !== this.look()) this.drawTab();
    this.tell();
  }

  tell() {
    if (!this.facts) return;
    const moment = this.replay.moment;
    const last = this.lines.findLast((line) => line.moment <= moment);
    const lane = last?.task ? this.facts.lanes.find((each) => each.id === last.task) : null;
    say(this.sentence, last ? `${lane ? `${laneName(lane)}: ` : ""}${last.text}` : "Nothing has happened yet.");
  }

  tick() {
    if (!this.facts?.live || !REPLAYED.has(this.tab)) return;
    this.replay.show(this.facts, now());
    if (this.moment === null || this.tab === "timeline") this.drawTab();
  }

  update(change) {
    if (!this.facts) return;
    for (const gained of change.spans) if (gained.run === this.id) this.facts.gain(gained);
    const wasLive = this.report.run.live;
    const live = this.context.store.state?.run?.id === this.id && this.context.store.state.run.live;
    const late = wasLive && Date.now() - this.asked > AGAIN && (change.kinds.has("task") || change.kinds.has("run"));
    if (wasLive !== live || late) {
      void this.loading.again();
      this.changes?.update();
    } else if (this.moment === null && REPLAYED.has(this.tab)) this.drawTab();
  }

  unmount() {
    clearInterval(this.timer);
    this.loading.stop();
    this.changes?.stop();
    this.replay.unmount();
    this.parts.graph.unmount();
    this.parts.timeline.unmount();
  }
}

/** #/runs/RUN, #/runs/RUN/board, …/graph, …/timeline */
export function mount(root, context) {
  const page = new RunPage(root, context);
  return {
    update: (change) => page.update(change),
    unmount: () => page.unmount(),
    params(params) {
      if (params[0] !== page.id) return false;
      page.choose(params[1]);
      return true;
    },
    keys: { p: () => REPLAYED.has(page.tab) && page.replay.toggle(), "[": () => page.replay.step(-1), "]": () => page.replay.step(1) },
    help: { p: "Play or pause the replay", "[": "Previous change", "]": "Next change" },
  };
}
