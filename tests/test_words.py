"""The words that users read: words of the glossary, and short sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.quick_cases import all_of

import sow
from sow.cli.command import GROUPS, Command, commands

PACKAGE = Path(sow.__file__).parent
# A word that must not appear, and what to write instead.
WORDS = {
    r"\brounds?\b": "iteration",
    r"\b(a|each|every|first|last|next|another|this|one|second|third) (try|tries)\b": "iteration, attempt",
    r"\btries\b": "iterations",
    r"\bdesks?\b": "task folder",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bforetell|\bforetold\b": "estimate",
    r"\bwhoever\b": "the agent that",
    r"\baboard\b": "reopen",
    r"\bfarewell\b": "shutdown",
    r"\bfurniture\b": "setup files",
    r"\b(came|comes|come) of\b": "result",
    r"\b(go|goes|going|gone|went) on(?! (your|the) branch)\b": "continue",
    r"\blet(s|ting)? (it |them )?go\b": "delete",
    r"\buntold\b": "unknown",
    r"\b(needs )?your word\b": "confirmation",
    r"\bas (it|they) stands?\b": "the current version",
    r"\bput away\b": "archive",
    r"\bgiv(e|en|es|ing) up\b": "abandon",
    r"\bof ours\b": "of sow",
    r"\bholds? up\b": "block",
    r"\bof itself\b": "by default",
    r"\bstanding answers?\b": "saved answer",
}
FORBIDDEN = re.compile("|".join(WORDS), re.IGNORECASE)
MOST_WORDS = 20  # of a sentence
LISTS = ("Exit codes:", "Fields:", "Statuses:", "one of:")  # these are no sentences
SENTENCE_END = re.compile(r"(?<=[.;:!?])\s+|\n")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Returns the literals of a module that have several words, without docstrings."""
    tree = ast.parse(path.read_text())
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if is_text and " " in node.value.strip():
            yield node.lineno, node.value


def covered() -> list[Path]:
    """Returns all modules of the package and its Markdown prompts."""
    return sorted(file for file in PACKAGE.rglob("*") if file.suffix in (".py", ".md"))


@all_of("path", covered())
def test_texts_use_the_words_of_the_glossary(path: Path):
    """No text that a user or an agent reads has a word that the glossary replaced."""
    result = texts(path) if path.suffix == ".py" else enumerate(path.read_text().splitlines(), 1)
    wrong = [f"{path}:{line}: {text!r}" for line, text in result if FORBIDDEN.search(text)]
    assert wrong == []


def sentences(text: str) -> list[str]:
    return [part for part in SENTENCE_END.split(text) if not part.startswith(LISTS)]


@all_of("command", [command for group in GROUPS for command in commands(group)])
def test_help_has_short_sentences(command: Command):
    """A sentence of the help has at most 20 words."""
    about = [command.summary, command.details, *(option.help for option in (*command.options, *command.arguments))]
    kept = [part for text in about for part in sentences(re.sub(r"Exit codes?:.*", "", text))]
    assert [part for part in kept if len(part.split()) > MOST_WORDS] == []


@all_of("path", sorted((PACKAGE / "cli").rglob("*.py")))
def test_messages_have_short_sentences(path: Path):
    """A sentence that the command line prints has at most 20 words."""
    long = [part for _, text in texts(path) for part in sentences(text) if len(part.split()) > MOST_WORDS]
    assert long == []
