// @ts-check
// The state of the server, updated by its feed. Pages read it and are notified of changes.

/** @typedef {Record<string, any>} Row */
/** @typedef {{run: string, at: string, t: number, task: string | null, event: string, text: string}} Line */

/**
 * The changes since the last update; several events make one change.
 * @typedef {object} Change
 * @property {Set<string>} kinds  of: state, task, run, inbox, trouble, line, spans, connection
 * @property {Set<string>} tasks  ids of rows that changed
 * @property {Line[]} lines  sentences that came
 * @property {{run: string, add: Row[], marks: Row[]}[]} spans  what the timeline of a run gains
 */

/** How many sentences are kept. */
export const MOST_LINES = 200;
const TOGETHER = 30; // ms in which events are told as one change

/** @returns {Change} */
function nothing() {
  return { kinds: new Set(), tasks: new Set(), lines: [], spans: [] };
}

/** The state and the listeners for its changes. */
export class Store {
  constructor() {
    /** The answer of /api/state, or null before the first. @type {Row | null} */
    this.state = null;
    /** Rows by id, in the order of the plan; a row that changes is a new object. @type {Map<string, Row>} */
    this.tasks = new Map();
    /** The last sentences of the feed, oldest first. @type {Line[]} */
    this.lines = [];
    /** Whether the feed is connected. */
    this.live = false;
    /** @type {Set<(change: Change) => void>} */
    this.listeners = new Set();
    this.pending = nothing();
    /** @type {any} */
    this.timer = null;
  }

  /** @param {(change: Change) => void} listener @returns {() => void} how to stop listening */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** A new answer of /api/state; rows that are as before keep their identity. @param {Row} state */
  replace(state) {
    const rows = new Map();
    for (const row of state.tasks ?? []) {
      const old = this.tasks.get(row.id);
      rows.set(row.id, old && same(old, row) ? old : row);
    }
    this.tasks = rows;
    this.state = state;
    this.tell("state");
  }

  /**
   * One event of the feed.
   * @param {string} event
   * @param {any} data
   */
  apply(event, data) {
    if (!this.state) return;
    if (event === "task") this.changeTask(data);
    else if (event === "run") this.state = { ...this.state, run: data };
    else if (event === "inbox") this.state = { ...this.state, inbox: data.items };
    else if (event === "trouble") this.state = { ...this.state, trouble: data.text };
    else if (event === "line") this.addLine(data);
    else if (event === "spans") this.pending.spans.push(data);
    else return;
    this.tell(event);
  }

  /** @param {Row} row */
  changeTask(row) {
    this.tasks.set(row.id, row);
    this.pending.tasks.add(row.id);
  }

  /** @param {Line} line */
  addLine(line) {
    this.lines = [...this.lines.slice(1 - MOST_LINES), line];
    this.pending.lines.push(line);
  }

  /** @param {boolean} live */
  connection(live) {
    if (live === this.live) return;
    this.live = live;
    this.tell("connection");
  }

  /** Rows in order. @returns {Row[]} */
  rows() {
    return Array.from(this.tasks.values());
  }

  /** How many rows have each status. @returns {Record<string, number>} */
  counts() {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const { status } of this.tasks.values()) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** @param {string} kind */
  tell(kind) {
    this.pending.kinds.add(kind);
    this.timer ??= setTimeout(() => this.flush(), TOGETHER);
  }

  /** Tell everybody what has gathered. */
  flush() {
    const change = this.pending;
    this.pending = nothing();
    this.timer = null;
    for (const listener of this.listeners) listener(change);
  }
}

/** @param {Row} one @param {Row} other */
function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
