"""Prints the list of runs and the report of one run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from sow.cli.context import Context
from sow.cli.output import ESCAPED, coloured_table, emit, print_list, table
from sow.domain.text.similar_text import without_details
from sow.domain.text.units import cut_to, format_seconds, wrap
from sow.errors import SowError
from sow.reports import report_text as words
from sow.reports import run_report
from sow.store.files.disk import Disk, replace_file
from sow.store.runs import run_folder
from sow.system import terminal
from sow.system.terminal import escape_line, out, paint

Facts = dict[str, Any]

COLOURS = {"completed": "green", "failed": "red", "paused": "yellow", "in_progress": "cyan"}
HEAD = ("TASK", "NAME", "OUTCOME", "RESULT", "ITERATIONS", "TIME", "COST")
WHOLE_HEAD = (*HEAD, "AGENT", "EXECUTOR")
LONGEST = 48
LONGEST_TEXT = 200


def list_runs(context: Context, *, json: bool) -> int:
    home = context.project_home()
    summaries = [run_report.run_summary(folder) for folder in run_folder.all_folders(home)]
    rows = [("RUN", "STATUS", "STARTED", "DONE", "NAME")]
    rows += [
        (run["id"], words.run_state(run), run["started_at"], f"{run['completed']}/{run['tasks']}", run["name"])
        for run in summaries
    ]
    return print_list({"runs": summaries}, rows, "no runs yet; start one: sow run PLAN", json=json)


def show_run(context: Context, *, run: str, format: str, json: bool) -> int:
    if json and format not in ("", "json"):
        raise SowError(f"--json and --format {format} exclude each other", "use one of them")
    facts = _facts(context, run)
    if json or format == "json":
        emit(facts)
    elif format == "md":
        out(run_report.render_markdown(facts).rstrip("\n"))
    else:
        show(facts, whole=True)
    return 0


def report_run(context: Context, *, run: str, format: str, out: str) -> int:
    if out:
        context.require_non_worker("write a report into a file")
    home = context.project_home()
    text = run_report.render(home, run_folder.find(home, run), format, context.hints())
    if out:
        _write(os.path.join(context.cwd, out), text)
        terminal.out(escape_line(f"wrote {out}"))
        return 0
    terminal.out((text.translate(ESCAPED) if format == "json" else text).rstrip("\n"))
    return 0


def _facts(context: Context, run: str) -> Facts:
    home = context.project_home()
    return run_report.report_data(home, run_folder.find(home, run), context.hints())


def _write(path: str, text: str) -> None:
    """Writes the user's file in an existing folder."""
    if os.path.lexists(path) and not os.path.isfile(path):
        raise SowError(f"--out: {path} is not a regular file", "give the name of a file")
    if not os.path.isdir(os.path.dirname(path)):
        raise SowError(f"--out: there is no folder {os.path.dirname(path)}", "create it first, or give another name")
    replace_file(Disk(), os.path.realpath(path), text)


def show(document: Facts, *, whole: bool = False) -> None:
    """Prints the summary of one run with the next step first; with `whole` all its totals."""
    run = document["run"]
    out(paint(escape_line(f"Run {run['id']}: {run['name']}"), "bold") + f" ({words.run_state(run)})")
    if whole:
        out(table(words.total_rows(document), indent="  "))
    else:
        _text(words.short_totals(document), 2)
    if document["next"]:
        out(f"\n{paint('Next', 'bold')}")
    for step in document["next"]:
        _text(step["text"], 2)
        out(f"    {paint(escape_line(step['command']), 'cyan')}")
    if document["tasks"]:
        out("")
        _tasks(document["tasks"], WHOLE_HEAD if whole else HEAD)
    for noun in ("agent", "executor") if whole else ():
        _groups(f"By {noun}", document[f"by_{noun}"])
    _section("Limits", [f"{limit['executor']}: {limit['reason']}" for limit in document["limits"]] + document["stops"])
    _section("Remarks", document["remarks"])


def _tasks(rows: Sequence[Facts], head: tuple[str, ...]) -> None:
    """Prints the table of tasks; what holds a task up is printed below its row."""
    header, *lines = coloured_table([head, *(_row(row)[: len(head)] for row in rows)], "OUTCOME", COLOURS)
    out(header)
    for row, line in zip(rows, lines, strict=True):
        out(line)
        for remark in _remarks(row):
            _text(remark, 6)


def _row(row: Facts) -> tuple[str, ...]:
    return (
        words.task_label(row),
        short(row["name"], LONGEST),
        words.outcome(row["outcome"]),
        words.result(row),
        str(row["tries"]),
        words.time_of(row),
        words.money(row).replace(" and ", " + "),
        row["agent"] or "-",
        row["executor"] or "-",
    )


def _remarks(row: Facts) -> list[str]:
    """Returns what holds a task up, and the concerns about its result."""
    noted = words.task_notes(row)
    if row["outcome"] in ("completed", "abandoned"):
        return noted
    about = [f"waits for {words.waits_for(row)}"] if row["waits_for"] else []
    if row["question"]:
        about.append(f"{words.asks(row['question'])}: {without_details(row['question']['text'])}")
    return [*about, *([row["why"]] if row["why"] and row["outcome"] == "failed" else []), *noted]


def _groups(title: str, rows: Sequence[Facts]) -> None:
    if len(rows) < 2:  # it would repeat the totals
        return
    out(f"\n{paint(title, 'bold')}")
    cells = [
        (
            row["name"],
            words.plural(row["turns"], "turn"),
            format_seconds(row["work_seconds"]),
            words.money(row),
            words.tokens(row),
        )
        for row in rows
    ]
    out(table(cells, indent="  "))


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        out(f"\n{paint(title, 'bold')}")
        for line in lines:
            _text(line, 2)


def _text(text: str, indent: int) -> None:
    """Prints an indented text; a terminal gets lines that fit."""
    line = " " * indent + short(text, LONGEST_TEXT)
    out("\n".join(wrap(line, terminal.columns(), indent + 2)) if sys.stdout.isatty() else line)


def short(text: str, limit: int) -> str:
    """Returns one line without control characters, cut to the limit."""
    return cut_to(limit, escape_line(text))
