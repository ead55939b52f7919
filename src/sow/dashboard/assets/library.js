// The page of roles, sinks and linked repositories.

import { get } from "./api.js";
import { DataTable } from "./data_table.js";
import { h, render } from "./dom.js";
import { ago, firstLine, plural } from "./format.js";
import { icon } from "./icons.js";
import { empty, load } from "./parts.js";

export const title = "Library";

const SECTIONS = {
  agents: ["Roles", "What an agent can be asked to do, and the executor of each role.", "sow agent list"],
  sinks: ["Sinks", "Knowledge that is installed beside the project.", "sow sinks install URL FOLDER", sinkCard],
  repos: ["Repositories", "Other code that agents may read.", "sow repos add URL", repoCard],
};
const AGENT_COLUMNS = [
  { key: "name", word: "Role", head: true, value: (agent) => agent.name, cell: (agent) => agent.name },
  { key: "executor", word: "Executor", value: (agent) => agent.executor, cell: executorCell },
  { key: "about", word: "Description", value: (agent) => agent.description, cell: (agent) => h("span", { class: "words" }, firstLine(agent.description) || "–") },
  { key: "source", word: "Source", value: (agent) => agent.source, cell: (agent) => h("span", { class: "muted" }, agent.source) },
];

/** #/library */
export function mount(root) {
  const body = h("div", { class: "library" });
  const filter = h("input", { type: "search", class: "field", placeholder: "Filter", "aria-label": "Filter the library", "data-filter": true, oninput: () => answer && show(answer) });
  const agents = new DataTable({ label: "Roles", columns: AGENT_COLUMNS, keyOf: (agent) => agent.name });
  const table = h("div", { class: "panel" }, agents.element);
  let answer = null;

  function show(found) {
    answer = found;
    const words = filter.value.trim().toLowerCase();
    const problems = found.problems?.length ? h("div", { class: "notice status-paused", key: "problems" }, found.problems.map((text) => h("p", { class: "wrap" }, text))) : null;
    const lists = Object.keys(SECTIONS).map((name) => {
      const entries = found[name] ?? [];
      const shown = entries.filter((entry) => JSON.stringify(entry).toLowerCase().includes(words));
      if (name === "agents") agents.show(shown);
      return section(name, entries, shown, name === "agents" ? table : null);
    });
    render(body, problems, lists);
  }

  const head = h("div", { class: "page-head" }, h("h1", null, "Library"), h("div", { class: "toolbar" }, h("span", { class: "search" }, icon("search"), filter)));
  render(root, head, body);
  const loading = load(body, (signal) => get("/api/library", signal), show);
  return { update: (change) => change.kinds.has("state") && void loading.again(), unmount: () => loading.stop() };
}

function section(name, entries, shown, table) {
  const [heading, text, line, card] = SECTIONS[name];
  const none = entries.length ? h("p", { class: "muted" }, "Nothing matches the filter.") : empty(`No ${heading.toLowerCase()} here`, text, line);
  return h(
    "section",
    { class: "library-section", key: name },
    h("h2", { class: "section-head" }, heading, h("span", { class: "muted number" }, entries.length), h("small", { class: "muted" }, entries.length ? text : "")),
    shown.length ? table ?? h("div", { class: "library-cards" }, shown.map((entry) => card(entry))) : none,
  );
}

function executorCell(agent) {
  if (!agent.executor) return h("span", { class: "paused-word" }, "not bound");
  const fallbacks = agent.fallbacks?.length ? h("small", { class: "muted" }, ` then ${agent.fallbacks.join(", ")}`) : null;
  return h("span", null, h("span", { class: "tag" }, agent.executor), fallbacks);
}

function sinkCard(sink) {
  return cardOf(sink.name, sizeOf(sink), sink.summary || "no description", knowledge(sink), staleness(sink));
}

function repoCard(repo) {
  return cardOf(repo.name, [repo.mode, sizeOf(repo)].filter(Boolean).join(", "), repo.purpose || "no description", knowledge(repo), staleness(repo));
}

function knowledge(entry) {
  const { url, path, ref } = entry.source ?? {};
  const source = [url, path].filter(Boolean).join(" · ");
  return [
    ["When to use", entry.when_to_use],
    ["Where to look", entry.hints?.length ? entry.hints.map((hint) => h("div", null, h("span", { class: "mono" }, hint.path), ` ${hint.about}`)) : null],
    ["Source", source ? h("span", { class: "mono wrap" }, source) : null],
    ["Pin", entry.pin ? h("span", { class: "mono" }, [ref, entry.pin.slice(0, 12)].filter(Boolean).join(" @ ")) : "not installed on this machine"],
    ["As of", entry.updated_at ?? entry.installed_at ? ago(entry.updated_at ?? entry.installed_at) : null],
    ["Described by", entry.described_by],
    ["Tags", entry.tags?.length ? entry.tags.map((tag) => [h("span", { class: "tag" }, tag), " "]) : null],
  ];
}

function sizeOf(entry) {
  return entry.files ? plural(entry.files, "file") : "";
}

/** Whether its source has a newer version; nothing if that was never checked. */
function staleness(entry) {
  if (entry.stale === null || entry.stale === undefined) return null;
  const word = entry.stale ? "update available" : "up to date";
  return h("span", { class: ["badge", entry.stale ? "status-paused" : "status-completed"] }, icon(entry.stale ? "warning" : "check"), word);
}

function cardOf(name, remark, summary, pairs, badge = null) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h(
    "article",
    { class: "panel library-card", key: name },
    h("h3", null, h("span", null, name), remark ? h("span", { class: "tag" }, remark) : null, badge),
    h("p", null, summary),
    h("dl", null, told.map(([word, value]) => [h("dt", null, word), h("dd", null, value)])),
  );
}
