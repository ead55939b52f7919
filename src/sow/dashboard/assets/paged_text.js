// @ts-check
// A text of any size in a window of its own: pages load while you scroll, distant pages are removed, and the end can be followed.

import { get } from "./api.js";
import { h, render, say } from "./dom.js";
import { bytes } from "./format.js";
import { problem } from "./parts.js";

const PAGE = 65_536; // bytes of one request
const MOST_PAGES = 16; // in the window at once
const NEAR = 600; // px from an edge at which the next page is fetched
const FOLLOW = 1000; // ms between two looks at the end of a text that grows
let made = 0;

/** @typedef {{text: string, from: number, next: number, size: number, more: boolean}} Piece */
/** @typedef {{from: number, next: number, own: string, node: HTMLElement}} Leaf */

/**
 * @typedef {object} PagedText
 * @property {HTMLElement} node
 * @property {() => void} stop
 * @property {() => void} ended  the text grows no more
 */

/**
 * @param {string} address of the text, without from and limit
 * @param {{live?: boolean, label: string, dress?: (text: string) => import("./dom.js").Child, empty?: string, atEnd?: boolean}} options
 * @returns {PagedText}
 */
export function pagedText(address, options) {
  const control = new AbortController();
  const size = h("span", { class: "muted number" });
  const body = h("div", {
    class: "paged-body",
    tabindex: "0",
    role: "log",
    "aria-live": "off",
    "aria-label": options.label,
    onscroll: () => void scrolled(),
  });
  const start = h("button", { type: "button", class: "button quiet tiny", onclick: () => void jump(0) }, "First page");
  const end = h("button", { type: "button", class: "button quiet tiny", onclick: () => void toEnd() }, "Last page");
  const note = h("span", { class: "paged-live", role: "status" });
  const node = h(
    "div",
    { class: "paged", key: `paged-${++made}`, "data-testid": "paged" }, // another text is never made over this one
    h("div", { class: "paged-head" }, size, note, h("span", { class: "toolbar" }, start, end)),
    body,
  );
  /** @type {Leaf[]} */
  let leaves = [];
  let total = 0;
  let following = Boolean(options.live);
  /** The request in progress. @type {Promise<void> | null} */
  let busy = null;
  /** @type {any} */
  let timer = null;

  /** @param {number} from @param {number} [limit] @returns {Promise<Piece>} */
  const fetchPiece = (from, limit = PAGE) =>
    get(`${address}${address.includes("?") ? "&" : "?"}from=${from}&limit=${limit}`, control.signal);

  /** @param {Piece} piece @returns {Leaf} */
  function leaf(piece) {
    total = piece.size;
    return { from: piece.from, next: piece.next, own: piece.text, node: h("div", { class: "paged-leaf" }) };
  }

  /** A line across the edge of two pages is shown whole, with the second. @param {...number} places */
  function dress(...places) {
    for (const at of places) {
      const each = leaves[at];
      if (!each) continue;
      const cut = leaves[at + 1] ? tail(each.own).length : 0;
      const text = (leaves[at - 1] ? tail(leaves[at - 1].own) : "") + each.own.slice(0, each.own.length - cut);
      render(each.node, options.dress ? options.dress(text) : text);
    }
  }

  function show() {
    const has = total > 0;
    say(size, has ? place() : "");
    start.hidden = end.hidden = total <= PAGE;
    say(note, options.live ? (following ? "● following" : "● live") : "");
    if (!has && !leaves.length)
      render(
        body,
        h(
          "p",
          { class: "muted paged-empty" },
          options.live ? "No output yet…" : (options.empty ?? "No output."),
        ),
      );
  }

  function place() {
    const first = leaves[0]?.from ?? 0;
    const last = leaves.at(-1)?.next ?? 0;
    return first === 0 && last >= total ? bytes(total) : `${bytes(first)} – ${bytes(last)} of ${bytes(total)}`;
  }

  /** Runs an action of the user after the request in progress. @param {() => Promise<void>} work */
  async function asked(work) {
    while (busy) await busy;
    await alone(work);
  }

  /** Runs an action of scrolling or of the timer; skipped while a request is in progress. @param {() => Promise<void>} work */
  async function alone(work) {
    if (busy) return;
    busy = attempt(work);
    await busy;
  }

  /** @param {() => Promise<void>} work */
  async function attempt(work) {
    try {
      await work();
      show();
    } catch (error) {
      if (!control.signal.aborted && !leaves.length)
        render(
          body,
          problem(error, () => void jump(0)),
        );
    } finally {
      busy = null;
    }
  }

  /** Show one page alone; a place before zero counts from the end. @param {number} from */
  async function open(from) {
    const only = leaf(await fetchPiece(from));
    leaves = [only];
    dress(0);
    body.replaceChildren(only.node);
  }

  /** @param {number} from */
  async function jump(from) {
    await asked(() => open(from));
    body.scrollTop = 0;
  }

  async function toEnd() {
    await asked(() => open(-PAGE));
    body.scrollTop = body.scrollHeight;
  }

  /** Adds the next page at the end, and removes the first one if there are too many. */
  async function forward() {
    const last = leaves.at(-1);
    if (!last) return;
    const piece = await fetchPiece(last.next);
    total = piece.size;
    if (!piece.text) return;
    const added = leaf(piece);
    leaves.push(added);
    dress(leaves.length - 2, leaves.length - 1);
    body.append(added.node);
    if (leaves.length > MOST_PAGES) drop(leaves.shift());
  }

  /** Add what comes before the first page, and stay where one reads. */
  async function backward() {
    const first = leaves[0];
    if (!first || first.from <= 0) return;
    const from = Math.max(0, first.from - PAGE);
    const added = leaf(await fetchPiece(from, first.from - from));
    if (added.next <= added.from) return;
    const before = body.scrollHeight - body.scrollTop;
    leaves.unshift(added);
    dress(0, 1);
    body.prepend(added.node);
    body.scrollTop = body.scrollHeight - before;
    if (leaves.length > MOST_PAGES) leaves.pop()?.node.remove();
  }

  /** @param {Leaf | undefined} gone */
  function drop(gone) {
    if (!gone) return;
    const height = gone.node.offsetHeight;
    gone.node.remove();
    body.scrollTop -= height;
  }

  async function scrolled() {
    const below = body.scrollHeight - body.scrollTop - body.clientHeight;
    following = Boolean(options.live) && below < 40;
    if (below < NEAR && (leaves.at(-1)?.next ?? 0) < total) await alone(forward);
    else if (body.scrollTop < NEAR && (leaves[0]?.from ?? 0) > 0) await alone(backward);
    show();
  }

  /** Look for more at the end, as long as the text grows. */
  async function follow() {
    if (control.signal.aborted) return;
    const before = leaves.at(-1)?.next ?? -1;
    if (before < 0) await toEnd();
    else if (following) await alone(forward);
    if (following) body.scrollTop = body.scrollHeight;
    if (options.live) timer = setTimeout(() => void follow(), FOLLOW);
  }

  void (options.live ? follow() : options.atEnd ? toEnd() : jump(0).then(() => scrolled()));
  const stop = () => (clearTimeout(timer), control.abort());
  const ended = () => {
    if (!options.live) return;
    options.live = false;
    clearTimeout(timer);
    void alone(forward).then(show);
  };
  return { node, stop, ended };
}

/** The text after the last line end; empty if there is no line end. @param {string} text */
function tail(text) {
  const at = text.lastIndexOf("\n");
  return at < 0 ? "" : text.slice(at + 1);
}
