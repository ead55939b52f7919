"""Links other repositories for workers to read, as a checkout or as a link (`sow repos`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.knowledge import source_output
from sow.cli.output import emit, table
from sow.domain import inputs
from sow.domain.documents.index import Repo
from sow.errors import SowError
from sow.knowledge.repos import RepoDescription, Repos
from sow.store.knowledge.index import REPOS
from sow.system.terminal import escape_line, out

MOST_FILES = 200_000


def keeper(context: Context) -> Repos:
    """Returns the linked repositories of this checkout, with the user's limits."""
    return Repos(context.project_home(), context.environment, source_output.limits(context, "repo_mb", MOST_FILES))


def _description(context: Context, purpose: str, hint: list[str], tag: list[str]) -> RepoDescription:
    """Checks the user's description of a repository."""
    return RepoDescription(
        purpose=context.checked_text(purpose, "--purpose", 4000).strip() if purpose else "",
        hints=[source_output.hint(value) for value in hint],
        tags=list(dict.fromkeys(inputs.checked_line(value, "--tag", 60) for value in tag)),
    )


def add(
    context: Context,
    *,
    url: str,
    purpose: str,
    hint: list[str],
    tag: list[str],
    ref: str,
    name: str,
    clone: bool,
    json: bool,
) -> int:
    context.require_non_worker("link a repository")
    about = _description(context, purpose, hint, tag)
    source_output.print_fetching(url)
    repos = keeper(context)
    entry, remarks = repos.add(url, about, ref=ref, name=name, clone=clone, cwd=context.cwd)
    source_output.print_remarks(remarks)
    source_output.ignore_in_git(repos, entry["name"])
    if json:
        return emit(entry)
    location = f" at {source_output.pin_of(entry)}" if "pin" in entry else f" to {entry['source']['url']}"
    out(escape_line(f"linked {entry['name']} ({source_output.size_of(entry)}){location}"))
    _print_description(entry)
    return 0


def _print_description(entry: Repo) -> None:
    source_output.print_facts({"purpose": entry["purpose"]}, [])
    source_output.print_hints(entry["hints"])
    source_output.print_facts({}, entry["tags"])


def update(context: Context, *, name: list[str], check: bool, ref: str, force: bool, json: bool) -> int:
    return source_output.update(
        context, keeper(context), name, "repository", check=check, ref=ref, force=force, json=json
    )


def list_repos(context: Context, *, json: bool) -> int:
    repos = REPOS.load(context.project_home())
    if json:
        emit({"repos": repos})
    elif repos:
        rows = [
            (e["name"], e["mode"], source_output.pin_of(e) or e["source"]["url"], e["purpose"][:100]) for e in repos
        ]
        out(table(rows))
    else:
        out("no repository is linked here: sow repos add URL")
    return 0


def show(context: Context, *, name: str, json: bool) -> int:
    return source_output.show(keeper(context), name, _print_description, _origin, done="linked", json=json)


def _origin(entry: Repo) -> list[str]:
    return [f"pin: {entry['pin']}"] if "pin" in entry else []


def remove(context: Context, *, name: str, force: bool) -> int:
    context.require_non_worker("remove a repository")
    repos = keeper(context)
    return source_output.print_removed(repos.remove(name, force=force, forget=False), repos, forget=False)


def describe(context: Context, *, name: str, purpose: str, hint: list[str], tag: list[str], json: bool) -> int:
    context.require_non_worker("describe a repository")
    about = _description(context, purpose, hint, tag)
    if not about.fields:
        raise SowError("what is to be said about it?", "give --purpose, --hint or --tag")
    entry = keeper(context).describe(name, about)
    if json:
        return emit(entry)
    _print_description(entry)
    return 0


NAME = Argument("name", "Its name in 'sow repos list'", completes="repos")
WORDS = (
    Option("--purpose", "TEXT", "Why it is linked (TEXT, @FILE or -); without: what its README says"),
    Option("--hint", "HINT", "Where to look, as PATH or 'PATH: what is there'", repeat=True),
    Option("--tag", "TAG", "A word that tasks about it use", repeat=True),
)
COMMANDS = (
    Command(
        "repos add",
        add,
        "Link another repository, so that workers can read it",
        Argument("url", "Its URL, or the path of a checkout on this machine"),
        *WORDS,
        Option("--ref", "REF", "A branch, a tag or a whole commit id to follow; without: the default branch"),
        Option("--name", "NAME", "Its name here; without: the repository's"),
        Option("--clone", help="Copy a repository of this machine too, instead of a link to it"),
        json=True,
        details="A URL becomes a checkout of one commit in .sow/repos/NAME, a path a link to it; git ignores both.\n"
        "No hook, filter or submodule of it is run or fetched, and links in it are plain files.",
    ),
    Command(
        "repos update",
        update,
        "Bring all linked repositories, or some, up to what their sources have now",
        Argument("name", "Which ones; without: all", optional=True, repeat=True, completes="repos"),
        Option("--check", help="Only say what is new"),
        Option("--ref", "REF", "Follow another branch, tag or commit from now on"),
        Option("--force", help="Replace a checkout that was changed by hand"),
        json=True,
    ),
    Command("repos list", list_repos, "List the repositories that are linked here", json=True),
    Command("repos show", show, "Show what a linked repository is for, and where to look", NAME, json=True),
    Command(
        "repos remove",
        remove,
        "Remove a linked repository; what a link leads to stays",
        NAME,
        Option("--force", help="Do so although it was changed by hand"),
    ),
    Command(
        "repos describe", describe, "Say why a repository is linked, and where to look in it", NAME, *WORDS, json=True
    ),
)
