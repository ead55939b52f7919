// @ts-check
// Boot: sign in, fetch the state, show the frame, follow the feed.
//
// The contract of a page. A page is a module that exports
//
//   title   string, or (params: string[]) => string
//   mount   (root: HTMLElement, context: Context) => Page
//
//   Page    { update(change), unmount(), params?(params), keys? }
//     update(change)   something that the store holds has changed (state.js, Change); called at most every 30 ms
//     unmount()        the page goes: stop timers and requests; the root is emptied by the caller
//     params(params)   the address changed within the page; true when the page has dealt with it, else it is mounted anew
//     keys             {x: () => void}: further keys while the page is shown, named in `help` as {x: "what it does"}
//
//   Context { store, params, go(hash), refresh(), announce(text), readOnly() }   (typedef in router.js)
//
// Names come by address: "#/runs/RUN" mounts runs.js with params ["RUN"] (router.js, ROUTES).
// Attributes that the frame knows: data-row (j and k move the focus among these, Enter follows the link),
// data-filter (the input that / focuses), data-answer (what a opens), data-since="EPOCH" (text that ticks as elapsed time).

import { Feed, get, onSignedOut, signIn } from "./api.js";
import { h, render } from "./dom.js";
import { since } from "./format.js";
import { header } from "./header.js";
import { listenToKeys } from "./keyboard.js";
import { liveLine } from "./live_line.js";
import { problem } from "./parts.js";
import { Router } from "./router.js";
import { showSignIn } from "./sign_in.js";
import { Store } from "./state.js";

const HIDDEN = 5_000; // ms after which a page that nobody sees gives its connection back: a browser has six for all of them
const GLANCE = 20_000; // ms between two looks of such a page
const store = new Store();
const shell = /** @type {HTMLElement} */ (document.getElementById("shell"));
const announcer = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
const root = h("main", { id: "page", class: "page", tabindex: "-1" });
const router = new Router(root, { store, refresh, announce });
const feed = new Feed({ event: take, connection: (live) => store.connection(live) });
let out = false;
/** @type {HTMLElement[] | null} */
let frame = null;
/** @type {Promise<void> | null} */
let refreshing = null;

/** Announce a text to screen readers. @param {string} text */
function announce(text) {
  announcer.textContent = text;
}

/** Fetch the whole state again; calls that come meanwhile share one request. @returns {Promise<void>} */
function refresh() {
  refreshing ??= get("/api/state")
    .then((state) => store.replace(state))
    .finally(() => (refreshing = null));
  return refreshing;
}

/** @param {string} event @param {any} data */
function take(event, data) {
  if (event === "stale" || (event === "hello" && data.restarted)) refresh().catch(() => {});
  else store.apply(event, data);
}

function signOut() {
  if (out) return;
  out = true;
  feed.stop();
  router.close();
  showSignIn(shell, enter);
}

/** Exchange a token, then start; the error is the caller's to show. @param {string} token */
async function enter(token) {
  await signIn(token);
  out = false;
  await start();
}

/** @returns {string} the one-time token in the address, which is taken out of it at once */
function tokenInAddress() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", `${location.pathname}#/board`);
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1]; // no token of ours, which the server will say
  }
}

async function start() {
  try {
    await refresh();
  } catch (error) {
    if (!out)
      render(
        shell,
        h(
          "main",
          { class: "page lonely" },
          problem(error, () => void start()),
        ),
      );
    return;
  }
  frame ??= [header(store, announce), liveLine(store), root, announcer];
  shell.replaceChildren(...frame); // render would make the sign-in page over, and lose the frame's own elements
  router.open();
  feed.start(store.state?.cursor ?? "");
}

function tick() {
  for (const element of document.querySelectorAll("[data-since]")) {
    const text = since(Number(element.getAttribute("data-since")));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A hidden page closes its connection and polls now and then. When it is visible again, it reconnects. */
function mindVisibility() {
  /** @type {any} */
  let leaving = null;
  const look = () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(() => feed.stop(), HIDDEN);
    else if (!out && store.state) feed.start("");
  };
  document.addEventListener("visibilitychange", look);
  look(); // a page can be opened behind another one
  setInterval(() => {
    if (!document.hidden || out) return;
    feed.stop();
    refresh().catch(() => {}); // so that the tab's title tells what waits
  }, GLANCE);
}

/** To the page past the head; the address stays, for it names the page. */
function mindSkipping() {
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    root.focus();
  });
}

async function boot() {
  onSignedOut(signOut);
  listenToKeys(router);
  mindVisibility();
  mindSkipping();
  setInterval(tick, 1000);
  const token = tokenInAddress();
  if (token) await signIn(token).catch(() => {}); // an old token matters only when there is no cookie either
  await start();
}

void boot();
