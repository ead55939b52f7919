"""Installs, updates, describes and removes sinks (`sow sinks`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.knowledge import source_output
from sow.cli.knowledge.describe_documents import MOST_TEXT, description_turn
from sow.cli.output import emit, print_list
from sow.cli.progress import Progress
from sow.domain import inputs
from sow.domain.documents.state import Sink
from sow.domain.text.units import counted
from sow.errors import SowError, Waiting
from sow.knowledge import descriptions
from sow.knowledge.descriptions import BY_AGENT, BY_USER, Description
from sow.knowledge.sinks import Sinks
from sow.store.knowledge.index import SINKS
from sow.system.process.child_process import run_to_end
from sow.system.terminal import escape_line, out, require_yes

MOST_FILES = 5000


class Describer:
    """Describes sinks; it is created before a fetch, so that a bad executor fails early."""

    def __init__(self, context: Context, sinks: Sinks, executor: str) -> None:
        self.sinks = sinks
        self.agent = description_turn(context, executor)

    def describe(self, name: str) -> Sink:
        """Asks the agent and writes its answer into the index."""
        folder = self.sinks.folder_of(name)
        paths = {path.removeprefix(f"{folder}/"): path for path in descriptions.document_paths(folder)}
        documents = descriptions.excerpts(paths, MOST_TEXT)
        if not documents:
            raise SowError(
                f"the sink {name} has no text to describe",
                f"describe it yourself: sow sinks describe {name} --summary TEXT",
            )
        executor = self.agent.executor
        with Progress(f"{executor.name} ({executor.model or 'its default model'}) reads {name}"):
            answer = run_to_end(self.agent.ask(name, documents))
        own_hints = [hint for hint in answer.hints if hint["path"] in paths]
        return self.sinks.describe(name, replace(answer, hints=own_hints), f"{BY_AGENT}: {executor.name}")


def keeper(context: Context) -> Sinks:
    """Returns the sinks of this checkout, with the user's limits."""
    return Sinks(context.project_home(), context.environment, source_output.limits(context, "sink_mb", MOST_FILES))


def install(
    context: Context,
    *,
    url: str,
    path: str,
    ref: str,
    name: str,
    describe: bool,
    executor: str,
    yes: bool,
    json: bool,
) -> int:
    context.require_non_worker("install a sink")
    sinks = keeper(context)
    if not url:
        return _install_missing(sinks, yes=yes, json=json)
    if executor and not describe:
        raise SowError("--executor needs --describe", "add --describe")
    describer = Describer(context, sinks, executor) if describe else None
    with Progress(f"Fetching {url}"):
        entry, remarks = sinks.install(url, path, ref=ref or None, name=name, cwd=context.cwd)
    source_output.print_remarks(remarks)
    source_output.ignore_in_git(sinks, entry["name"])
    if describer:
        entry = describer.describe(entry["name"])
    if json:
        return emit(entry)
    out(escape_line(f"installed {entry['name']} ({source_output.size_of(entry)}) at {source_output.pin_of(entry)}"))
    source_output.print_description(entry)
    return 0


def _install_missing(sinks: Sinks, *, yes: bool, json: bool) -> int:
    """Installs the sinks of the committed index that a fresh clone lacks, after the user agreed to their sources."""
    entries = sinks.missing()
    _agree_to_fetch(entries, yes=yes, json=json)
    for entry in entries:
        with Progress(f"Fetching {entry['name']}"):
            remarks = sinks.install_missing(entry)
        source_output.print_remarks(remarks)
    if json:
        return emit({"sinks": entries})
    out(f"installed {counted(len(entries), 'sink')}" if entries else "all sinks of this repository are installed")
    return 0


def _agree_to_fetch(entries: list[Sink], *, yes: bool = False, json: bool = False) -> None:
    """Shows the sources of sinks that this machine never fetched, and asks; raises if the user does not agree."""
    for entry in entries if not json else ():
        out(escape_line(f"{entry['name']} at {source_output.pin_of(entry)} from {source_output.source_of(entry)}"))
    if entries and not yes:
        require_yes(
            f"Fetch {counted(len(entries), 'sink')}?",
            Waiting("fetching these sinks needs confirmation", "check the sources, then: sow sinks install --yes"),
            Waiting("nothing was fetched", "to fetch them later, run: sow sinks install"),
        )


def update(context: Context, *, name: list[str], check: bool, ref: str, force: bool, json: bool) -> int:
    sinks = keeper(context)
    known_urls = [entry["source"]["url"] for entry in SINKS.load_user(context.environment)]
    missing = [entry for entry in sinks.missing() if not name or entry["name"] in name]
    _agree_to_fetch([entry for entry in missing if entry["source"]["url"] not in known_urls], json=json)
    return source_output.update(keeper, context, name=name, check=check, ref=ref, force=force, json=json)


def list_sinks(context: Context, *, known: bool, json: bool) -> int:
    sinks: list[Sink] = SINKS.load_user(context.environment) if known else SINKS.load(context.project_home())
    missing = [] if known else [entry["name"] for entry in keeper(context).missing()]
    rows = [("NAME", "COMMIT", "SIZE", "CONTENTS")]
    rows += [
        (
            sink["name"],
            source_output.pin_of(sink),
            "not fetched" if sink["name"] in missing else source_output.size_of(sink),
            sink["summary"][:100],
        )
        for sink in sinks
    ]
    document = {"sinks": [{**sink, "fetched": False} if sink["name"] in missing else sink for sink in sinks]}
    empty = "no known sinks" if known else "no sinks; install one: sow sinks install URL FOLDER"
    print_list(document, rows, empty, json=json)
    if missing and not json:
        out("fetch the missing sinks: sow sinks install")
    return 0


def describe(
    context: Context,
    *,
    name: str,
    summary: str,
    when: str,
    tag: list[str],
    hint: list[str],
    executor: str,
    json: bool,
) -> int:
    context.require_non_worker("describe a sink")
    sinks = keeper(context)
    if summary or when or tag or hint:
        if executor:
            raise SowError(
                "--executor excludes --summary, --when, --tag and --hint", "use --executor, or describe it yourself"
            )
        entry = _by_hand(context, sinks, name, summary, when, tag, hint)
    else:
        sinks.entry(name)
        entry = Describer(context, sinks, executor).describe(name)
    if json:
        return emit(entry)
    source_output.print_description(entry)
    return 0


def _by_hand(
    context: Context, sinks: Sinks, name: str, summary: str, when: str, tag: list[str], hint: list[str]
) -> Sink:
    description = Description(
        summary=context.checked_text(summary, "--summary", 4000).strip() if summary else "",
        when_to_use=context.checked_text(when, "--when", 4000).strip() if when else "",
        tags=tuple(dict.fromkeys(inputs.checked_line(value, "--tag", 60) for value in tag)),
        hints=[source_output.hint(value) for value in hint],
    )
    return sinks.describe(name, description, BY_USER)


NAME = Argument("name", "The name in 'sow sinks list'", completes="sinks")
EXECUTOR = Option("--executor", "NAME", "Use this executor, not the one bound to researcher", completes="executors")
COMMANDS = (
    Command(
        "sinks install",
        install,
        "Install a folder of guides from a git repository",
        Argument(
            "url",
            "A URL, a path, or the name of a known sink; without it, the missing sinks of this repository",
            optional=True,
        ),
        Argument("path", "The folder in it (default: the whole repository)", optional=True),
        Option("--ref", "REF", "A branch, tag or full commit id (default: the default branch)"),
        Option("--name", "NAME", "The name here (default: the folder's)"),
        Option("--describe", help="Let an agent describe it"),
        EXECUTOR,
        Option("--yes", help="Fetch the missing sinks without asking"),
        json=True,
        details="sow copies the files to .sow/sinks/NAME, which git ignores, and runs none of them.\n"
        "URLs can be https://, ssh://, user@host:path, file:// or a path. Git asks for no password.",
    ),
    Command(
        "sinks update",
        update,
        "Update sinks from their sources",
        Argument("name", "The sinks (default: all)", optional=True, repeat=True, completes="sinks"),
        *source_output.UPDATE_OPTIONS,
        json=True,
    ),
    Command(
        "sinks list",
        list_sinks,
        "List the installed sinks",
        Option("--known", help="List the sinks that you installed in any repository"),
        json=True,
    ),
    Command("sinks show", partial(source_output.show, keeper), "Show a sink and its source", NAME, json=True),
    Command(
        "sinks remove",
        partial(source_output.remove, keeper),
        "Remove a sink",
        NAME,
        Option("--force", help="Remove it even if you changed it"),
        Option("--forget", help="Also forget its name and source"),
    ),
    Command(
        "sinks describe",
        describe,
        "Describe a sink, or let an agent describe it",
        NAME,
        Option("--summary", "TEXT", "What it contains (TEXT, @FILE or -)"),
        Option("--when", "TEXT", "When a worker should read it (TEXT, @FILE or -)"),
        Option("--tag", "TAG", "A word that such tasks use", repeat=True),
        Option("--hint", "HINT", "When to read one of its documents, as 'PATH: when'", repeat=True),
        EXECUTOR,
        json=True,
        details="Without --summary, --when, --tag and --hint, sow asks the agent that is bound to researcher.\n"
        "The agent also says when to read each document. Updates keep this description.",
    ),
)
