"""Installs, updates, describes and removes sinks (`sow sinks`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.knowledge import fetched
from sow.cli.output import emit, table
from sow.domain import inputs
from sow.errors import SowError
from sow.knowledge.descriptions import BY_USER, Description
from sow.knowledge.sinks import Sinks
from sow.store.knowledge.sink_index import CATALOG
from sow.system.terminal import escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.knowledge.describe import Describer
    from sow.domain.documents.index import Sink

MOST_FILES = 5000


def keeper(context: Context) -> Sinks:
    """Returns the sinks of this checkout, with the user's limits."""
    return Sinks(context.project_home(), context.environment, fetched.limits(context, "sink_mb", MOST_FILES))


def install(
    context: Context, *, url: str, path: str, ref: str, name: str, describe: bool, executor: str, json: bool
) -> int:
    context.require_non_worker("install a sink")
    sinks = keeper(context)
    if executor and not describe:
        raise SowError("--executor says who describes the sink", "add --describe")
    describer = _describer(context, sinks, executor) if describe else None
    fetched.print_fetching(url)
    entry, remarks = sinks.install(url, path, ref=ref or None, name=name, cwd=context.cwd)
    fetched.print_remarks(remarks)
    fetched.ignore_in_git(sinks, entry["name"])
    if describer:
        entry = describer.describe(entry["name"])
    if json:
        return emit(entry)
    out(escape_line(f"installed {entry['name']} ({fetched.size_of(entry)}) at {fetched.pin_of(entry)}"))
    _print_description(entry)
    return 0


def _print_description(entry: Sink) -> None:
    out("  " + escape_line(f"what: {entry['summary'] or '(nothing is said)'}"))
    out("  " + escape_line(f"when: {entry['when_to_use'] or '(nothing is said)'}"))
    if entry["tags"]:
        out("  " + escape_line(f"tags: {', '.join(entry['tags'])}"))


def update(context: Context, *, name: list[str], check: bool, ref: str, force: bool, json: bool) -> int:
    return fetched.update(context, keeper(context), name, "sink", check=check, ref=ref, force=force, json=json)


def list_sinks(context: Context, *, known: bool, json: bool) -> int:
    sinks: list[Sink] = CATALOG.load_user(context.environment) if known else CATALOG.load(context.project_home())
    if json:
        emit({"sinks": sinks})
    elif sinks:
        rows = [(sink["name"], fetched.pin_of(sink), fetched.size_of(sink), sink["summary"][:100]) for sink in sinks]
        out(table(rows))
    else:
        out("you know no sink yet" if known else "no sink is installed here: sow sinks install URL FOLDER")
    return 0


def show(context: Context, *, name: str, json: bool) -> int:
    sinks = keeper(context)
    entry: Sink = sinks.entry(name)
    edited = sinks.is_edited(entry)
    if json:
        return emit({**entry, "folder": f".sow/sinks/{name}", "edited": edited})
    out(f"{paint(name, 'bold')} " + escape_line(f"({fetched.size_of(entry)}) in .sow/sinks/{name}"))
    _print_description(entry)
    out("  " + escape_line(f"from: {fetched.source_of(entry)}"))
    out("  " + escape_line(f"pin: {entry.get('pin', '')}, installed {entry.get('installed_at', '')}"))
    out("  " + escape_line(f"described by: {entry.get('described_by', '')}"))
    if edited:
        out("  changed by hand since it was installed")
    return 0


def remove(context: Context, *, name: str, force: bool, forget: bool) -> int:
    context.require_non_worker("remove a sink")
    sinks = keeper(context)
    return fetched.print_removed(sinks.remove(name, force=force, forget=forget), sinks, forget=forget)


def describe(context: Context, *, name: str, summary: str, when: str, tag: list[str], executor: str, json: bool) -> int:
    context.require_non_worker("describe a sink")
    sinks = keeper(context)
    if summary or when or tag:
        if executor:
            raise SowError(
                "--executor asks an agent, and the other options are your own words", "give one or the other"
            )
        entry = _by_hand(context, sinks, name, summary, when, tag)
    else:
        sinks.entry(name)
        entry = _describer(context, sinks, executor).describe(name)
    if json:
        return emit(entry)
    _print_description(entry)
    return 0


def _by_hand(context: Context, sinks: Sinks, name: str, summary: str, when: str, tag: list[str]) -> Sink:
    description = Description(
        summary=inputs.checked_text(context.text(summary, "--summary"), "--summary", 4000).strip() if summary else "",
        when_to_use=inputs.checked_text(context.text(when, "--when"), "--when", 4000).strip() if when else "",
        tags=tuple(dict.fromkeys(inputs.checked_line(value, "--tag", 60) for value in tag)),
    )
    return sinks.describe(name, description, BY_USER)


def _describer(context: Context, sinks: Sinks, executor: str) -> Describer:
    from sow.cli.knowledge.describe import Describer

    return Describer(context, sinks, executor)


NAME = Argument("name", "Its name in 'sow sinks list'", completes="sinks")
EXECUTOR = Option(
    "--executor", "NAME", "Who describes it, instead of the one that is bound to researcher", completes="executors"
)
COMMANDS = (
    Command(
        "sinks install",
        install,
        "Install a folder of documents from a git repository",
        arguments=(
            Argument("url", "The repository's URL or path, or the name of a sink that you installed elsewhere"),
            Argument("path", "The folder in it; without: all of it", optional=True),
        ),
        options=(
            Option("--ref", "REF", "A branch, a tag or a whole commit id to follow; without: the default branch"),
            Option("--name", "NAME", "Its name here; without: the folder's"),
            Option("--describe", help="Have an agent read it and say what it is for"),
            EXECUTOR,
        ),
        json=True,
        details="Only the files of the folder are kept, in .sow/sinks/NAME, which git ignores. None of them is run.\n"
        "URLs are https://, ssh://, user@host:path, file:// and paths; nothing is ever asked on the terminal.",
    ),
    Command(
        "sinks update",
        update,
        "Bring all sinks, or some, up to what their sources have now",
        arguments=(Argument("name", "Which ones; without: all", optional=True, repeat=True, completes="sinks"),),
        options=(
            Option("--check", help="Only say what is new"),
            Option("--ref", "REF", "Follow another branch, tag or commit from now on"),
            Option("--force", help="Replace a sink that was changed by hand"),
        ),
        json=True,
    ),
    Command(
        "sinks list",
        list_sinks,
        "List the sinks that are installed here",
        options=(Option("--known", help="List those that you ever installed, in whatever repository"),),
        json=True,
    ),
    Command("sinks show", show, "Show what a sink is for and where it comes from", arguments=(NAME,), json=True),
    Command(
        "sinks remove",
        remove,
        "Remove a sink",
        arguments=(NAME,),
        options=(
            Option("--force", help="Do so although it was changed by hand"),
            Option("--forget", help="Forget its source too, so that its name means nothing any more"),
        ),
    ),
    Command(
        "sinks describe",
        describe,
        "Say what a sink is for, or have an agent say it",
        arguments=(NAME,),
        options=(
            Option("--summary", "TEXT", "What it holds (TEXT, @FILE or -)"),
            Option("--when", "TEXT", "When a worker should read it (TEXT, @FILE or -)"),
            Option("--tag", "TAG", "A word that tasks about it use", repeat=True),
            EXECUTOR,
        ),
        json=True,
        details="Without --summary, --when or --tag the agent that is bound to researcher is asked. Your words and\n"
        "an agent's stay through updates; what was read from the files is read again.",
    ),
)
