"""Defines a document that a worker may read, and the choice of documents for a task."""

from __future__ import annotations

from dataclasses import dataclass, field

from sow.domain.documents.state import Chosen

SINK, ADR, KNOWLEDGE, REPO, UPSTREAM = "sink", "adr", "knowledge", "repo", "upstream"

CODE = (
    ".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt", ".swift", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".cs", ".php", ".scala", ".proto", ".graphql", ".sql",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file: its path, its owner, and its owner's description."""

    path: str  # as the task's state names it: relative to the root
    absolute_path: str  # from which it is read
    kind: str
    size: int
    mtime: int
    owner: str = ""  # the sink, the linked repository or the task that it comes from
    about: str = ""  # the owner's description
    tags: tuple[str, ...] = ()
    when: str = ""  # when to read this document, as its owner's index says
    certain_reason: str = ""  # reason why it always belongs to the task; else empty

    @property
    def title(self) -> str:
        """Returns the path below its owner's folder, or below the folder of documents."""
        parts = self.path.split("/")
        return "/".join(parts[3:] if self.owner else parts[2:]) or self.path

    @property
    def is_code(self) -> bool:
        """Returns True for a source file of a linked repository."""
        return self.kind == REPO and self.path.endswith(CODE)

    @property
    def stem(self) -> str:
        """Returns the file's name without its ending."""
        return self.path.rpartition("/")[2].rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document with its score and the reason, before the budget is applied."""

    document: Document
    score: float
    reason: str
    shared_words: tuple[str, ...] = ()  # words of the task that are in the document, to find the best excerpt


@dataclass(kw_only=True, slots=True)
class ChosenDocuments:
    """The documents chosen for a task, and those left out because the budget was used up."""

    budget: int  # in tokens
    chosen: list[Chosen]
    left_out: list[Chosen]
    considered: int
    remarks: list[str] = field(default_factory=list)
