// @ts-check
// Which page is shown: the part of the address behind the hash decides.

import { h, render } from "./dom.js";
import { problem } from "./parts.js";

/**
 * The input of a page.
 * @typedef {object} Context
 * @property {import("./state.js").Store} store
 * @property {string[]} params  the parts of the address behind the page's name
 * @property {(hash: string) => void} go  to another page, as go("#/task/010")
 * @property {() => Promise<void>} refresh  fetch the state again
 * @property {(text: string) => void} announce  tell it to a screen reader
 * @property {() => boolean} readOnly  whether acts are hidden
 */
/**
 * A page while it is shown.
 * @typedef {object} Page
 * @property {(change: import("./state.js").Change) => void} update
 * @property {() => void} unmount
 * @property {(params: string[]) => boolean} [params]
 * @property {Record<string, () => void>} [keys]
 * @property {Record<string, string>} [help]
 */
/** @typedef {{title: string | ((params: string[]) => string), mount: (root: HTMLElement, context: Context) => Page}} PageModule */

/**
 * The pages by name; `key` is what follows g on the keyboard.
 * @type {Record<string, {word: string, icon: string, key?: string, load: () => Promise<any>}>}
 */
export const ROUTES = {
  board: { word: "Board", icon: "board", key: "b", load: () => import("./board.js") },
  graph: { word: "Graph", icon: "graph", key: "g", load: () => import("./graph.js") },
  timeline: { word: "Timeline", icon: "timeline", key: "t", load: () => import("./timeline.js") },
  inbox: { word: "Inbox", icon: "inbox", key: "i", load: () => import("./inbox.js") },
  workflow: { word: "Workflow", icon: "workflow", key: "w", load: () => import("./crew.js") },
  cost: { word: "Cost", icon: "cost", key: "c", load: () => import("./cost.js") },
  runs: { word: "Runs", icon: "runs", key: "r", load: () => import("./runs.js") },
  library: { word: "Library", icon: "library", key: "l", load: () => import("./library.js") },
  task: { word: "Task", icon: "board", load: () => import("./task.js") },
  run: { word: "Run", icon: "runs", load: () => import("./run.js") },
};

/** The page and its params that an address names; anything else is the board. @returns {{name: string, params: string[]}} */
export function place() {
  const [first, ...params] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  if (first === "runs" && params.length) return { name: "run", params };
  return first && first in ROUTES ? { name: first, params } : { name: "board", params: [] };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Shows one page at a time in its root, and hands on what changes. */
export class Router {
  /**
   * @param {HTMLElement} root
   * @param {Pick<Context, "store" | "refresh" | "announce">} base
   */
  constructor(root, base) {
    this.root = root;
    this.base = base;
    this.name = "";
    /** @type {Page | null} */
    this.page = null;
    this.turn = 0;
    /** How far each page was scrolled when it was left. @type {Record<string, number>} */
    this.scrolls = {};
    this.opened = false;
    window.addEventListener("hashchange", () => this.opened && void this.show());
    base.store.subscribe((change) => this.page?.update(change));
  }

  /** Start to show what the address says. */
  open() {
    this.opened = true;
    void this.show();
  }

  /** Show nothing any more. */
  close() {
    this.opened = false;
    this.leave();
  }

  /** @param {string} hash */
  go(hash) {
    location.hash = hash;
  }

  async show() {
    const { name, params } = place();
    document.dispatchEvent(new CustomEvent("sow:page", { detail: name }));
    if (name === this.name && this.page?.params?.(params)) return;
    const turn = ++this.turn;
    try {
      const module = await ROUTES[name].load();
      if (turn === this.turn && this.opened) this.mount(name, params, module);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /**
   * @param {string} name
   * @param {string[]} params
   * @param {PageModule} module
   */
  mount(name, params, module) {
    const fresh = this.name !== "";
    this.leave();
    this.name = name;
    const root = h("div", { class: ["page-body", `page-${name}`], "data-testid": `page-${name}` });
    this.root.append(root);
    const title = typeof module.title === "function" ? module.title(params) : module.title;
    document.title = `${title} · sow`;
    document.dispatchEvent(new CustomEvent("sow:title", { detail: title }));
    this.page = module.mount(root, this.context(params));
    window.scrollTo(0, this.scrolls[name] ?? 0);
    if (fresh) this.root.focus({ preventScroll: true });
  }

  /** @param {string[]} params @returns {Context} */
  context(params) {
    const readOnly = () => Boolean(this.base.store.state?.read_only);
    return { ...this.base, params, go: this.go, readOnly };
  }

  /** @param {unknown} error */
  fail(error) {
    this.leave();
    render(
      this.root,
      problem(error, () => void this.show()),
    );
  }

  leave() {
    if (this.page && this.name !== "task") this.scrolls[this.name] = window.scrollY;
    this.page?.unmount();
    this.page = null;
    this.root.replaceChildren();
  }
}
