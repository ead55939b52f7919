"""Creates and lists numbered decision records (`sow adr`)."""

from __future__ import annotations

from dataclasses import asdict

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, print_list
from sow.domain import inputs
from sow.store.knowledge import adrs
from sow.system import clock
from sow.system.terminal import out


def new(context: Context, *, title: str, status: str, json: bool) -> int:
    home = context.project_home()
    checkout = adrs.current_checkout(home, context.cwd)
    adr = adrs.create(home, checkout, inputs.checked_line(title, "the title"), status=status, date=clock.now()[:10])
    if json:
        emit({**asdict(adr), "file": f"{checkout.root}/{adr.path}"})
    else:
        out(f"{checkout.root}/{adr.path}")
    return 0


def list_adrs(context: Context, *, json: bool) -> int:
    home = context.project_home()
    records = adrs.load_all(adrs.current_checkout(home, context.cwd))
    rows = [("NUMBER", "STATUS", "TITLE", "FILE")]
    rows += [(str(adr.number), adr.status, adr.title, adr.path) for adr in records]
    document = {"adrs": [asdict(adr) for adr in records]}
    return print_list(document, rows, "no decision records; create one: sow adr new TITLE", json=json)


COMMANDS = (
    Command(
        "adr new",
        new,
        "Create a decision record with the next number",
        Argument("title", "The decision, in a few words"),
        Option("--status", "STATUS", "The status", choices=adrs.STATUSES, default="accepted"),
        json=True,
        details="The folder is artifacts.adrs in .sow/config.yaml. Fill in the file that the command prints.",
    ),
    Command("adr list", list_adrs, "List the decision records", json=True),
)
