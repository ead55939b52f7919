"""Links other repositories for workers to read, as a checkout or as a link (`sow repos`)."""

from __future__ import annotations

from functools import partial

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.knowledge import source_output
from sow.cli.output import emit, print_list
from sow.cli.progress import Progress
from sow.domain import inputs
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
    repos = keeper(context)
    with Progress(f"Fetching {url}"):
        entry, remarks = repos.add(url, about, ref=ref, name=name, clone=clone, cwd=context.cwd)
    source_output.print_remarks(remarks)
    source_output.ignore_in_git(repos, entry["name"])
    if json:
        return emit(entry)
    location = f" at {source_output.pin_of(entry)}" if "pin" in entry else f" to {entry['source']['url']}"
    out(escape_line(f"linked {entry['name']} ({source_output.size_of(entry)}){location}"))
    source_output.print_description(entry)
    return 0


def list_repos(context: Context, *, json: bool) -> int:
    repos = REPOS.load(context.project_home())
    rows = [("NAME", "MODE", "SOURCE", "PURPOSE")]
    rows += [(e["name"], e["mode"], source_output.pin_of(e) or e["source"]["url"], e["purpose"][:100]) for e in repos]
    return print_list({"repos": repos}, rows, "no linked repositories; link one: sow repos add URL", json=json)


def remove(context: Context, *, name: str, force: bool) -> int:
    return source_output.remove(keeper, context, name=name, force=force, forget=False)


def describe(context: Context, *, name: str, purpose: str, hint: list[str], tag: list[str], json: bool) -> int:
    context.require_non_worker("describe a repository")
    about = _description(context, purpose, hint, tag)
    if not about.fields:
        raise SowError("the description is missing", "give --purpose, --hint or --tag")
    entry = keeper(context).describe(name, about)
    if json:
        return emit(entry)
    source_output.print_description(entry)
    return 0


NAME = Argument("name", "The name in 'sow repos list'", completes="repos")
WORDS = (
    Option("--purpose", "TEXT", "Why it is linked (TEXT, @FILE or -; default: from its README)"),
    Option("--hint", "HINT", "Where to look: PATH, or 'PATH: description'", repeat=True),
    Option("--tag", "TAG", "A word that such tasks use", repeat=True),
)
COMMANDS = (
    Command(
        "repos add",
        add,
        "Link another repository for workers to read",
        Argument("url", "The URL, or the path of a checkout on this machine"),
        *WORDS,
        Option("--ref", "REF", "A branch, tag or full commit id (default: the default branch)"),
        Option("--name", "NAME", "The name here (default: the repository's)"),
        Option("--clone", help="Copy a local repository instead of linking it"),
        json=True,
        details="sow checks out one commit of a URL in .sow/repos/NAME, and links a path. Git ignores both.\n"
        "sow runs no hooks or filters of it, and fetches no submodules.",
    ),
    Command(
        "repos update",
        partial(source_output.update, keeper),
        "Update linked repositories from their sources",
        Argument("name", "The repositories (default: all)", optional=True, repeat=True, completes="repos"),
        *source_output.UPDATE_OPTIONS,
        json=True,
    ),
    Command("repos list", list_repos, "List the linked repositories", json=True),
    Command("repos show", partial(source_output.show, keeper), "Show a linked repository", NAME, json=True),
    Command(
        "repos remove",
        remove,
        "Unlink a repository; a local source stays",
        NAME,
        Option("--force", help="Remove it even if you changed it"),
    ),
    Command("repos describe", describe, "Describe a linked repository", NAME, *WORDS, json=True),
)
