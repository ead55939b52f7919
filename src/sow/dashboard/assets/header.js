// @ts-check
// The head of every page: project, navigation, the state of the run, open items.

import { h, render } from "./dom.js";
import { icon } from "./icons.js";
import { openHelp } from "./keyboard.js";
import { place, ROUTES } from "./router.js";
import { stripOf } from "./run_strip.js";

const THEMES = ["auto", "light", "dark"];

/**
 * @param {import("./state.js").Store} store
 * @param {(text: string) => void} announce
 * @returns {HTMLElement}
 */
export function header(store, announce) {
  const banner = h("div", { role: "status", "aria-live": "polite" });
  const top = h("div", { class: "head-row" });
  const strip = h("section", { class: "strip", "aria-label": "The run", "data-testid": "strip" });
  const element = h("header", { class: "head" }, banner, top, strip);
  function show() {
    render(banner, store.live ? old(store) : lost());
    render(top, brand(store), nav(store), tools());
    render(strip, ...stripOf(store, announce));
    mark(store);
  }
  store.live = true; // until the feed says otherwise, so that nothing flashes at the start
  store.subscribe((change) => change.kinds.size > (change.kinds.has("line") ? 1 : 0) && show());
  document.addEventListener("sow:page", show);
  document.addEventListener("sow:title", show);
  show();
  return element;
}

function lost() {
  const text = "Connection lost. This page shows the last known state. Reconnecting…";
  return h("div", { class: "banner", "data-testid": "lost" }, icon("warning"), text);
}

/** The message of a server that cannot read the files. @param {import("./state.js").Store} store */
function old(store) {
  const { trouble } = store.state ?? {};
  if (!trouble) return null;
  const text = `This page may be out of date: ${trouble}.`;
  return h("div", { class: "banner", "data-testid": "old" }, icon("warning"), text);
}

/** Shows the number of open items in the tab's title. @param {import("./state.js").Store} store */
function mark(store) {
  const waiting = store.state?.inbox?.length ?? 0;
  const bare = document.title.replace(/^\(\d+\) /, "");
  document.title = waiting ? `(${waiting}) ${bare}` : bare;
}

/** @param {import("./state.js").Store} store */
function brand(store) {
  const { project, workflow, root } = store.state ?? {};
  const name =
    project?.name ??
    workflow?.name ??
    String(root ?? "")
      .split("/")
      .pop() ??
    "sow";
  return h(
    "a",
    { class: "brand", href: "#/board", title: root },
    h("img", { class: "brand-mark", src: "/assets/icon.svg", alt: "sow", width: 24, height: 24 }),
    h("span", { class: "brand-name", "data-testid": "project" }, name || "sow"),
    project?.branch ? h("span", { class: "brand-branch" }, icon("branch"), project.branch) : null,
  );
}

/** @param {import("./state.js").Store} store */
function nav(store) {
  const here = place().name;
  const waiting = store.state?.inbox?.length ?? 0;
  const links = Object.entries(ROUTES).filter(
    ([name, route]) => route.key && (name !== "workflow" || store.state?.workflow),
  );
  return h(
    "nav",
    { class: "nav", "aria-label": "Pages" },
    links.map(([name, route]) => {
      const current = name === here || (name === "runs" && here === "run") || (name === "board" && here === "task");
      const badge =
        name === "inbox" && waiting
          ? h(
              "span",
              { class: "count", "data-testid": "inbox-count" },
              waiting,
              h("span", { class: "unseen" }, " waiting"),
            )
          : null;
      return h(
        "a",
        {
          key: name,
          href: `#/${name}`,
          "aria-current": current ? "page" : null,
          "aria-label": badge ? null : route.word,
          title: `${route.word} (g ${route.key})`,
        },
        icon(route.icon),
        h("span", { class: "word" }, route.word),
        badge,
      );
    }),
  );
}

function tools() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  return h(
    "div",
    { class: "head-tools" },
    h(
      "button",
      {
        type: "button",
        class: "button quiet square",
        "aria-label": `Theme: ${chosen}; change to ${next}`,
        title: `Theme: ${chosen}`,
        "data-testid": "theme",
        onclick: () => setTheme(next),
      },
      icon(chosen),
    ),
    h(
      "button",
      {
        type: "button",
        class: "button quiet square",
        "aria-label": "Keyboard shortcuts",
        title: "Keyboard shortcuts (?)",
        onclick: openHelp,
      },
      icon("help"),
    ),
  );
}

/** @param {string} theme */
function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("sow-theme", theme);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  document.dispatchEvent(new CustomEvent("sow:title"));
}
