"""Finds the languages that a task is written in, and the documents that are guides to a language."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from sow.domain.text.keywords import COMMON, words
from sow.knowledge.document import REPO, UPSTREAM, Document

LANGUAGES = {
    "py": "python", "go": "go", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "ts": "typescript",
    "tsx": "typescript", "rs": "rust", "rb": "ruby", "java": "java", "kt": "kotlin", "cs": "csharp", "cpp": "cpp",
    "cc": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "c": "c", "h": "c", "sql": "sql", "sh": "shell", "css": "css",
    "scss": "css", "html": "html", "tf": "terraform", "vue": "vue", "svelte": "svelte", "swift": "swift", "php": "php",
    "scala": "scala", "dart": "dart", "ex": "elixir", "exs": "elixir", "r": "r", "jl": "julia", "lua": "lua",
    "md": "markdown", "proto": "protobuf", "graphql": "graphql", "dockerfile": "docker", "cmake": "cmake",
}  # by the end of a file's name  # fmt: skip
BY_NAME = {"dockerfile": "docker", "cmakelists.txt": "cmake", "makefile": "make", "chart.yaml": "helm"}
MARKERS = {
    "pyproject.toml": "python", "setup.py": "python", "requirements.txt": "python", "go.mod": "go",
    "Cargo.toml": "rust", "tsconfig.json": "typescript", "package.json": "javascript", "Gemfile": "ruby",
    "pom.xml": "java", "build.gradle": "java", "build.gradle.kts": "kotlin", "CMakeLists.txt": "cpp",
    "Package.swift": "swift", "composer.json": "php", "pubspec.yaml": "dart", "mix.exs": "elixir",
}  # files in the root of a repository that tell its language  # fmt: skip
NAMES = {
    "golang": "go", "bash": "shell", "js": "javascript", "node": "javascript", "ts": "typescript", "py": "python",
    "dockerfile": "docker", "postgres": "sql", "postgresql": "sql", "mysql": "sql", "grpc": "protobuf",
}  # other words for a language  # fmt: skip
# Words that a guide to a whole language may have in its title; any other word makes it a guide to a part.
GUIDE_WORDS = """
best coding conventions formatting guide guidelines guides handbook house idioms index language practice practices
programming programs readme rules scripts services skill sink standard standards style
"""


def languages(paths: Iterable[str]) -> list[str]:
    """Returns the languages of files by their names."""
    named = []
    for path in paths:
        name = path.rpartition("/")[2].lower()
        named.append(BY_NAME.get(name) or LANGUAGES.get(name.rpartition(".")[2] if "." in name else ""))
    return [language for language in dict.fromkeys(named) if language]


def repository_languages(folder: str) -> list[str]:
    """Returns the languages of a repository by the files in its root."""
    languages = [language for name, language in MARKERS.items() if os.path.isfile(f"{folder}/{name}")]
    return list(dict.fromkeys(languages))


def guides(documents: Iterable[tuple[Document, str]], wanted: Collection[str]) -> dict[str, list[Document]]:
    """Returns the guides to each wanted language, from documents with their first headings.

    A guide has only the language in its title, such as python.md. Without such a document it is the only one with the
    language in its file name. Chapters of a guide, such as `python-style/async-code.md`, are chosen by their words.
    """
    shared: dict[str, list[Document]] = {}
    named: dict[str, list[Document]] = {}
    for document, heading in documents:
        if document.kind in (REPO, UPSTREAM):
            continue
        folder = document.path.split("/")[-2]
        for title in (document.stem, heading, f"{folder} {document.stem}"):
            subject = _subject(title)
            if subject & set(wanted) and not subject - set(wanted) - COMMON:
                shared.setdefault(min(subject & set(wanted)), []).append(document)
                break
        for language in _subject(document.stem) & set(wanted):
            named.setdefault(language, []).append(document)
    single = {language: documents for language, documents in named.items() if len(documents) == 1}
    return {**single, **shared}


def _subject(title: str) -> set[str]:
    """Returns the words of a title without those of any guide; languages have one spelling."""
    spelled = title.lower().replace("c++", "cpp").replace("c#", "csharp")
    return {NAMES.get(word, word) for word in words(spelled) if not word.isdigit()} - set(GUIDE_WORDS.split())
