// @ts-check
// The board: tasks in columns by status.

import { card } from "./card.js";
import { h, list, render, say } from "./dom.js";
import { capital, part, plural } from "./format.js";
import { icon } from "./icons.js";
import { command, empty } from "./parts.js";
import { STATUSES, statusClass, statusWord } from "./status.js";

export const title = "Board";

const PORTION = 100; // cards that a column shows at first, and gains by each "show more"
/** Where the newest come first; elsewhere the plan's order holds. */
const NEWEST_FIRST = new Set(["completed", "abandoned"]);
/** Shown only when something is in it, for most projects never have it. */
const RARE = new Set(["abandoned"]);

/** Kept while one looks at other pages. */
let wanted = "";
let only = "all";

/**
 * @param {HTMLElement} root
 * @param {import("./router.js").Context} context
 * @returns {import("./router.js").Page}
 */
export function mount(root, context) {
  const { store } = context;
  /** @type {Record<string, number>} */
  const limits = {};
  const total = h("span", { class: "muted", role: "status" });
  const field = h("input", {
    class: "field",
    type: "search",
    value: wanted,
    placeholder: "Filter tasks",
    "aria-label": "Filter tasks",
    "aria-keyshortcuts": "/",
    "data-filter": true,
    "data-testid": "filter",
    oninput: () => ((wanted = field.value), show()),
  });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Show one status" });
  const columns = h("div", { class: "board", "data-testid": "board" });
  const search = h("span", { class: "search" }, icon("search"), field);
  const next = h("div", { class: "board-next" });
  const head = h(
    "div",
    { class: "page-head" },
    h("h1", null, "Board"),
    total,
    next,
    h("div", { class: "toolbar" }, search),
  );

  function show() {
    if (!store.tasks.size) return render(root, nothing(store));
    render(root, head, chips, columns);
    render(next, ...nextWords(store));
    const rows = filtered(store.rows(), wanted);
    const groups = grouped(rows);
    say(total, wanted ? `${rows.length} of ${plural(store.tasks.size, "task")}` : plural(rows.length, "task"));
    const shown = STATUSES.filter((status) => !RARE.has(status) || groups[status].length);
    render(
      chips,
      ["all", ...shown].map((status) => chip(status, groups, rows.length)),
    );
    columns.dataset.only = only;
    render(
      columns,
      shown.map((status) => column(status, groups[status])),
    );
  }

  /** @param {string} status @param {Record<string, any[]>} groups @param {number} all */
  function chip(status, groups, all) {
    const number = status === "all" ? all : groups[status].length;
    const word = status === "all" ? "All" : statusWord(status);
    const choose = () => ((only = status), show());
    return h(
      "button",
      { key: status, type: "button", class: "chip", "aria-pressed": String(only === status), onclick: choose },
      word,
      h("span", { class: "muted" }, number),
    );
  }

  /** @type {Record<string, {node: HTMLElement, count: HTMLElement, cards: HTMLElement, more: HTMLElement}>} */
  const made = {};

  /** @param {string} status @param {any[]} rows */
  function column(status, rows) {
    const own = (made[status] ??= makeColumn(status));
    const limit = (limits[status] ??= PORTION);
    say(own.count, rows.length);
    own.node.classList.toggle("bare", !rows.length);
    own.node.classList.toggle("chosen", only === status);
    list(
      own.cards,
      rows.slice(0, limit),
      (task) => task.id,
      (task) => h("li", null, card(task)),
    );
    const further = rows.length - limit;
    const grow = () => ((limits[status] += PORTION), show());
    render(
      own.more,
      further > 0
        ? h(
            "button",
            { type: "button", class: "button quiet", onclick: grow },
            `Show ${Math.min(PORTION, further)} more of ${further}`,
          )
        : null,
    );
    return own.node;
  }

  show();
  return {
    update: (change) => ["task", "state", "run", "inbox"].some((kind) => change.kinds.has(kind)) && show(),
    unmount: () => {},
  };
}

/** @param {string} status */
function makeColumn(status) {
  const count = h("span", { class: "column-count number", "data-testid": `count-${status}` });
  const cards = h("ul", { class: "cards" });
  const more = h("div", { class: "column-more" });
  const heading = h("h2", { class: "column-head", id: `column-${status}` }, icon(status), statusWord(status), count);
  const node = h(
    "section",
    {
      class: ["column", statusClass(status)],
      "aria-labelledby": `column-${status}`,
      "data-column": status,
      "data-testid": `column-${status}`,
    },
    heading,
    cards,
    more,
  );
  return { node, count, cards, more };
}

/** Rows in which every wanted word is found. @param {any[]} rows @param {string} text */
function filtered(rows, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return rows;
  return rows.filter((task) => {
    const said = [
      task.id,
      task.plan_id,
      task.name,
      task.agent,
      task.executor,
      task.phase,
      task.step,
      task.result,
      task.question?.text,
    ]
      .join(" ")
      .toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

/** @param {any[]} rows @returns {Record<string, any[]>} */
function grouped(rows) {
  /** @type {Record<string, any[]>} */
  const groups = Object.fromEntries(STATUSES.map((status) => [status, []]));
  for (const row of rows) (groups[row.status] ?? groups.pending).push(row);
  for (const status of NEWEST_FIRST)
    groups[status].sort((one, other) => String(other.updated_at).localeCompare(String(one.updated_at)));
  return groups;
}

/** The next step, if no run is live and nothing is asked. After a finished run that is to look at its changes. @param {import("./state.js").Store} store */
function nextWords(store) {
  const { run, next, inbox } = store.state ?? {};
  if (run?.live || inbox?.length) return [];
  const over = ["completed", "abandoned"];
  const done = run && store.rows().every((row) => over.includes(row.status));
  const review = h("a", { class: "button primary", href: `#/runs/${part(run?.id ?? "")}/changes`, key: "review" }, "Review the changes");
  return [done ? review : null, next?.command ? [h("span", { class: "muted", title: capital(next.text) }, capital(next.text)), command(next.command)] : null];
}

/** @param {import("./state.js").Store} store */
function nothing(store) {
  const next = store.state?.next;
  const plan = "Write a plan and run it. Its tasks appear here:";
  const other =
    next?.command && !next.command.startsWith("sow run") ? [h("p", null, plan), command("sow run plan.md")] : [];
  const node = empty("No task yet", next?.text || plan, next?.command || "sow run plan.md");
  node.append(...other);
  return node;
}
