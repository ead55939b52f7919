"""Renders the report of a run as one self-contained HTML file without scripts, fonts, pictures or network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sow import __version__
from sow.domain.text.units import dollars, format_seconds
from sow.reports import report_text as words
from sow.reports.html_elements import Html, h
from sow.reports.svg_timeline import chart
from sow.store.formats.validation import is_timestamp
from sow.system.terminal import escape_line

Facts = dict[str, Any]

# Even if a text got through unescaped, nothing runs and nothing is fetched.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE_SHEET = os.path.join(os.path.dirname(__file__), "report.css")
MOST_ROWS = 2000
LONGEST_LINE = 300  # of the reason why a task is not done
MOST_LINES = 16
OUTCOME_BADGES = {
    "completed": ("good", "✓"),
    "failed": ("bad-word", "✗"),
    "waiting": ("warn", "?"),
    "blocked": ("calm", "‖"),
    "running": ("busy", "●"),
    "pending": ("calm", "·"),
    "abandoned": ("calm", "–"),
    "unknown": ("calm", "?"),
}
VERDICTS = {"GREEN": ("good", "✓"), "YELLOW": ("warn", "!"), "RED": ("bad-word", "✗")}
CHANGES_HEAD = (("File", None), ("Added", "n"), ("Removed", "n"))
HEAD = ("Task", "Outcome", "Reviews", "Checks", "Iterations", "Agent", "Time", "Cost")


def page(document: Facts) -> str:
    """Returns the whole file."""
    run = document["run"]
    with open(STYLE_SHEET, encoding="utf-8") as file:
        style = file.read()
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=POLICY),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("meta", name="referrer", content="no-referrer"),
        h("title", f"{escape_line(run['name'])}: run {escape_line(run['id'])}"),
        h("style", Html(f"\n{style}")),
    )
    body = h("body", _header(document), h("main", _sections(document)), _footer(run))
    return f"<!doctype html>\n{h('html', head, body, lang='en')}\n"


def _sections(document: Facts) -> list[Html | None]:
    timeline = document.get("timeline")
    return [
        _tiles(document),
        _section("Next", _next(document["next"])),
        _section("Timeline", chart(timeline)) if timeline else None,
        _section("Tasks", _tasks(document["tasks"]), long=True),
        _section("Changed files", _changes(document.get("changes")), long=True),
        _section("Questions and answers", _questions(document)),
        _section("Cost", _costs(document)),
        _section("Limits", _plain([*map(_limit, document["limits"]), *document["stops"]])),
        _section("Remarks", _plain(document["remarks"])),
    ]


def _section(title: str, body: Html, *, long: bool = False) -> Html | None:
    return h("section", h("h2", title), body, class_="long" if long else None) if body else None


def _badge(word: str, look: tuple[str, str]) -> Html:
    return h("span", h("span", look[1], aria_hidden="true"), escape_line(word), class_=f"badge {look[0]}")


def _header(document: Facts) -> Html:
    run, counts = document["run"], document["counts"]
    plans = ", ".join(escape_line(plan) for plan in run["plans"]) or "no plan"
    ended = f", ended {_time(run['ended_at'])}" if run["ended_at"] else ""
    done = f"{counts['completed']} of {words.plural(counts['total'], 'task')} completed"
    return h(
        "header",
        h("p", f"Report of run {escape_line(run['id'])}", class_="eyebrow"),
        h("h1", escape_line(run["name"]) or "A run"),
        h(
            "p",
            _badge(*_outcome(document)),
            done,
            class_="lead",
        ),
        h(
            "p",
            escape_line(f"{plans} on branch {run['branch']}; started {_time(run['started_at'])}{ended}"),
            class_="about",
        ),
        _share(counts),
    )


def _outcome(document: Facts) -> tuple[str, tuple[str, str]]:
    run, counts = document["run"], document["counts"]
    if run["live"]:
        return "running", OUTCOME_BADGES["running"]
    if counts["failed"]:
        return "something failed", OUTCOME_BADGES["failed"]
    if counts["waiting"] or (run["exit"] == 4 and run["status"] != "ended"):
        return "needs input", OUTCOME_BADGES["waiting"]
    if counts["total"] and counts["completed"] + counts["abandoned"] == counts["total"]:
        return "all done", OUTCOME_BADGES["completed"]
    return words.run_state(run), OUTCOME_BADGES["blocked"]


def _time(at: str) -> str:
    """Formats a timestamp as `2026-01-31 09:00:00 UTC`."""
    return f"{at[:10]} {at[11:19]} UTC" if is_timestamp(at) else at


def _share(counts: Facts) -> Html | None:
    parts, x = [], 0.0
    for outcome in ("completed", "running", "waiting", "failed", "blocked", "pending", "abandoned", "unknown"):
        if counts[outcome]:
            width = 100 * counts[outcome] / counts["total"]
            parts.append(
                h(
                    "rect",
                    h("title", f"{counts[outcome]} {words.outcome(outcome)}"),
                    x=x,
                    y=0,
                    width=width,
                    height=8,
                    class_=outcome,
                )
            )
            x += width
    if not parts:
        return None
    label = words.outcomes(counts)
    return h(
        "svg", parts, viewBox="0 0 100 8", preserveAspectRatio="none", class_="share", role="img", aria_label=label
    )


def _tiles(document: Facts) -> Html:
    total, counts = document["totals"], document["counts"]
    causes = {"waited_for_people_seconds": "people", "waited_for_limits_seconds": "limits"}
    waits = [f"{format_seconds(total[key])} for {cause}" for key, cause in causes.items() if total[key]]
    checks = total["checks"]
    tiles = [
        ("Tasks done", f"{counts['completed']} / {counts['total']}", words.outcomes(counts)),
        (
            "Time",
            format_seconds(total["wall_seconds"]),
            f"waited {' and '.join(waits)}" if waits else "while the run was active",
        ),
        (
            "Work of agents",
            format_seconds(total["work_seconds"]),
            words.speed(total) or words.plural(total["turns"], "turn"),
        ),
        ("Cost", _cost(total), _unknown_cost(total) or words.plural(total["turns"], "turn")),
        ("Tokens", _tokens(total), words.tokens(total) if total["input_tokens"] is not None else "not reported"),
        (
            "Checks",
            str(sum(checks.values())),
            f"{checks['passed']} passed, {checks['failed']} failed; also after merges and on the final tree"
            if any(checks.values())
            else "none",
        ),
        ("Reviews", str(sum(total["reviews"].values())), _verdicts(total["reviews"])),
        ("Questions", str(total["questions"]), _open_questions(document["questions"])),
    ]
    return h("dl", [_tile(*tile) for tile in tiles], class_="tiles")


def _tile(name: str, figure: str, note: str) -> Html:
    return h("div", h("dt", name), h("dd", figure, class_="figure"), h("dd", note, class_="more"), class_="tile card")


def _cost(facts: Facts) -> str:
    cost = facts["cost_usd"]
    return dollars(cost) if cost is not None else "unknown" if facts["cost_unknown_turns"] else "–"


def _unknown_cost(facts: Facts) -> str:
    unknown = facts["cost_unknown_turns"]
    return f"+ {words.plural(unknown, 'turn')} unknown" if unknown and facts["cost_usd"] is not None else ""


def _tokens(facts: Facts) -> str:
    if facts["input_tokens"] is None:
        return "–"
    count = facts["input_tokens"] + facts["output_tokens"]
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return str(count)


def _verdicts(counts: Facts) -> str:
    return ", ".join(f"{count} {escape_line(verdict)}" for verdict, count in sorted(counts.items())) or "none"


def _open_questions(questions: Sequence[Facts]) -> str:
    open_count = sum(not question["answered_at"] for question in questions)
    return f"{open_count} open" if open_count else "all answered" if questions else "none asked"


def _tasks(rows: Sequence[Facts]) -> Html:
    if not rows:
        return Html("")
    numbers = ("Checks", "Iterations", "Time", "Cost")
    head = h("tr", [h("th", name, scope="col", class_="n" if name in numbers else None) for name in HEAD])
    body = [_task(row) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        body.append(h("tr", h("td", f"and {len(rows) - MOST_ROWS:,} more: sow runs show", colspan=len(HEAD))))
    table = h("table", h("thead", head), h("tbody", body), class_="tasks")
    return h("div", h("div", table, class_="scroll"), class_="card")


def _task(row: Facts) -> Html:
    reason = _open_reason_lines(row)
    checks = row["checks"]
    evidence = f"{checks['passed']} / {sum(checks.values())}" if any(checks.values()) else "–"
    name = [h("small", words.task_label(row)), " ", h("strong", escape_line(row["name"]))]
    verdicts = [
        _badge(review["verdict"] or "no verdict", VERDICTS.get(review["verdict"], ("calm", "?")))
        for review in row["reviews"]
    ]
    agent = " on ".join(escape_line(name) for name in (row["agent"], row["executor"]) if name)
    cells = (
        (h("span", name), "Task", "task"),
        (_badge(words.outcome(row["outcome"]), OUTCOME_BADGES.get(row["outcome"], ("calm", "?"))), "Outcome", None),
        (h("span", verdicts, class_="verdicts") if verdicts else "–", "Reviews", None),
        (evidence, "Checks", "n"),
        (row["tries"], "Iterations", "n"),
        (agent or "–", "Agent", "quiet"),
        (words.time_of(row), "Time", "n"),
        (_cost(row), "Cost", "n"),
    )
    notes = [h("p", text, class_="why") for text in filter(None, (reason, *map(escape_line, words.task_notes(row))))]
    first, *rest = [
        h("td", value, notes if kind == "task" else None, class_=kind, data_label=label) for value, label, kind in cells
    ]
    return h("tr", first, rest)


def _open_reason_lines(row: Facts) -> str:
    """Returns why a task is not done, line by line. Only this part shows the details of a run's question."""
    lines = [escape_line(line)[:LONGEST_LINE] for line in _open_reason(row).split("\n") if line.strip()]
    return "\n".join(lines[:MOST_LINES])


def _open_reason(row: Facts) -> str:
    if row["outcome"] in ("completed", "abandoned", "running"):
        return ""
    reasons = [f"waits for {words.waits_for(row)}"] if row["waits_for"] else []
    reasons += [f"asks: {row['question']['text']}"] if row["question"] else []
    return "; ".join(reasons + ([row["why"]] if row["why"] and row["outcome"] == "failed" else []))


def _changes(changes: Facts | None) -> Html:
    if not changes or not changes["files"]:
        return Html("")
    rows = [
        h(
            "tr",
            h("td", h("code", escape_line(file["path"]))),
            h("td", "binary" if file["added"] is None else f"+{file['added']}", class_="n"),
            h("td", "" if file["removed"] is None else f"\N{MINUS SIGN}{file['removed']}", class_="n"),
        )
        for file in changes["files"]
    ]
    names = h("tr", [h("th", name, scope="col", class_=kind) for name, kind in CHANGES_HEAD])
    more = None if changes["complete"] else h("p", "and more files", class_="why")
    return h("div", h("div", h("table", h("thead", names), h("tbody", rows)), class_="scroll"), more, class_="card")


def _questions(document: Facts) -> Html:
    names = {row["id"]: f"{words.task_label(row)} {row['name']}" for row in document["tasks"]}
    items = [_question(question, names.get(question["task"], question["task"])) for question in document["questions"]]
    return h("ul", items, class_="talk card") if items else Html("")


def _question(question: Facts, task: str) -> Html:
    waited = f" after {format_seconds(question['waited_seconds'])}" if question["waited_seconds"] is not None else ""
    origin = f" by {escape_line(question['origin'])}" if question["origin"] else ""
    number = f", question {question['number']}" if question["number"] is not None else ""
    answer = question.get("answer") or ("answered" if question["answered_at"] else "not answered yet")
    return h(
        "li",
        h("small", escape_line(f"Task {task}{number}, asked {_time(question['asked_at'])}")),
        h("p", question["text"], class_="asked"),
        h("p", answer, class_="answer" if question["answered_at"] else "answer open"),
        h("small", f"answered{origin}{waited}") if question["answered_at"] else None,
    )


def _costs(document: Facts) -> Html:
    parts = [_groups(noun, document[f"by_{noun.lower()}"]) for noun in ("Agent", "Executor", "Host")]
    return h("div", parts, class_="two") if any(parts) else Html("")


def _groups(noun: str, rows: Sequence[Facts]) -> Html:
    """Returns one table; one row would repeat the totals. The bar shows the share of the work."""
    if len(rows) < 2:
        return Html("")
    longest = max(row["work_seconds"] for row in rows) or 1
    head = [(noun, None), ("Turns", "n"), ("Work", "n"), ("Tokens", "n"), ("Cost", "n")]
    body = [
        h(
            "tr",
            h("td", h("strong", escape_line(row["name"])), _meter(row["work_seconds"] / longest)),
            h("td", row["turns"], class_="n"),
            h("td", format_seconds(row["work_seconds"]), class_="n"),
            h("td", _tokens(row), class_="n"),
            h("td", _cost(row), h("p", _unknown_cost(row), class_="why") if _unknown_cost(row) else None, class_="n"),
        )
        for row in rows
    ]
    names = h("tr", [h("th", name, scope="col", class_=kind) for name, kind in head])
    return h("div", h("div", h("table", h("thead", names), h("tbody", body)), class_="scroll"), class_="card")


def _meter(share: float) -> Html:
    ground = h("rect", width=100, height=6, rx=1, class_="ground")
    full = h("rect", width=round(100 * share, 1), height=6, rx=1, class_="full")
    return h("svg", ground, full, viewBox="0 0 100 6", preserveAspectRatio="none", class_="meter", aria_hidden="true")


def _limit(limit: Facts) -> str:
    return f"{limit['executor']}: {limit['reason'] or 'a limit'}"


def _plain(lines: Sequence[str]) -> Html:
    return h("ul", [h("li", escape_line(line)) for line in lines], class_="plain card") if lines else Html("")


def _next(steps: Sequence[Facts]) -> Html:
    items = [h("li", escape_line(step["text"]), " ", h("code", escape_line(step["command"]))) for step in steps]
    return h("ol", items, class_="steps card") if items else Html("")


def _footer(run: Facts) -> Html:
    calls = f"; continued {words.continued(run['calls'])}" if run["calls"] > 1 else ""
    return h("footer", f"Made by sow {__version__} from the journal of the run and the states of its tasks{calls}.")
