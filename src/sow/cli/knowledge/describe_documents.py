"""Has an agent say when each of the repository's own documents should be read (`sow context describe`)."""

from __future__ import annotations

from sow.cli.agents.turn_output import TurnOutput
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain import inputs
from sow.domain.text.markdown_lines import frontmatter
from sow.domain.text.units import counted
from sow.engine.turns.describe_documents import ROLE, DescriptionTurn
from sow.engine.turns.turn import TurnSettings
from sow.errors import SowError
from sow.knowledge import descriptions
from sow.knowledge.library import Library
from sow.system.process.child_process import run_to_end
from sow.system.terminal import escape_line, out

MOST_TEXT = 100_000  # characters that are given to the agent at once
MOST_DOCUMENTS = 20  # in one question
MARKDOWN = (".md", ".markdown", ".mdx")


def description_turn(context: Context, executor: str) -> DescriptionTurn:
    """Returns the question to an executor; without a name, to the one that is bound to researcher."""
    config = context.config()
    settings = TurnSettings(context.project_home(), config, context.environment, on_event=TurnOutput(quiet=True).show)
    return DescriptionTurn(settings, config.executor(executor or config.binding(ROLE)[0]))


def describe(context: Context, *, path: list[str], executor: str, json: bool) -> int:
    """Writes `when_to_use` into the front matter of documents that lack it."""
    context.require_non_worker("describe documents")
    home = context.project_home()
    own_documents = Library(home, home.root).own_documents()
    documents = {file.path: file.absolute_path for file in own_documents if file.path.endswith(MARKDOWN)}
    chosen = [inputs.checked_path(given, "the document") for given in path] or list(documents)
    for missing in (given for given in chosen if given not in documents):
        raise SowError(
            f"{missing!r:.200} is none of the repository's documents",
            "such documents are in .sow/knowledge and in the folders of .sow/config.yaml",
        )
    left = {given: documents[given] for given in chosen if _lacks_hint(home.read(documents[given]))}
    described: dict[str, str] = {}
    agent = description_turn(context, executor) if left else None
    while agent and left:
        part = dict(list(left.items())[:MOST_DOCUMENTS])
        left = {given: left[given] for given in left if given not in part}
        answer = run_to_end(agent.ask("own-documents", descriptions.excerpts(part, MOST_TEXT)))
        for given, hint in ((hint["path"], hint["about"]) for hint in answer.hints):
            text = home.read(part[given]) if given in part else ""  # somebody may have edited it meanwhile
            if text and _lacks_hint(text):
                home.replace(part[given], descriptions.with_hint(text, hint))
                described[given] = hint
    if json:
        return emit({"documents": described})
    for given, hint in described.items():
        out(escape_line(f"{given}: {hint}"))
    out(f"described {counted(len(described), 'document')}" + ("; see them with 'git diff'" if described else ""))
    return 0


def _lacks_hint(text: str) -> bool:
    return "when_to_use:" not in frontmatter(text)[0]
