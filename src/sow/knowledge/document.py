"""Defines a document that a worker may read, and the choice of documents for a task."""

from __future__ import annotations

from sow.domain.documents.state import Chosen

SINK, ADR, KNOWLEDGE, REPO, UPSTREAM = "sink", "adr", "knowledge", "repo", "upstream"

CODE = (
    ".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt", ".swift", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".cs", ".php", ".scala", ".proto", ".graphql", ".sql",
)  # fmt: skip


class Document:
    """One file: its path, its owner, and its owner's description."""

    __slots__ = ("about", "absolute_path", "certain_reason", "kind", "mtime", "owner", "path", "size", "tags", "when")

    def __init__(
        self,
        *,
        path: str,
        place: str,
        kind: str,
        size: int,
        mtime: int,
        owner: str = "",
        about: str = "",
        tags: tuple[str, ...] = (),
        sure: str = "",
        when: str = "",
    ) -> None:
        self.path = path  # as the task's state names it: relative to the root
        self.absolute_path = place  # absolute path from which it is read
        self.kind = kind
        self.size = size
        self.mtime = mtime
        self.owner = owner  # the sink, the linked repository or the task that it comes from
        self.about = about  # the owner's description
        self.tags = tags
        self.when = when  # when to read this document, as its owner's index says
        self.certain_reason = sure  # reason why it belongs to the task whatever its text says; else empty

    @property
    def title(self) -> str:
        """Returns the path below its owner's folder, or below the folder of documents."""
        parts = self.path.split("/")
        return "/".join(parts[3:] if self.owner else parts[2:]) or self.path

    @property
    def is_code(self) -> bool:
        """True for a source file of a linked repository."""
        return self.kind == REPO and self.path.endswith(CODE)

    @property
    def stem(self) -> str:
        """Returns the file's name without its ending."""
        return self.path.rpartition("/")[2].rpartition(".")[0]


class RankedDocument:
    """A document with its score and the reason, before the budget is applied."""

    __slots__ = ("document", "reason", "score", "shared_words")

    def __init__(self, document: Document, score: float, reason: str, words: tuple[str, ...] = ()) -> None:
        self.document = document
        self.score = score
        self.reason = reason
        self.shared_words = words  # words of the task that are in the document, to find the best excerpt


class ChosenDocuments:
    """The documents chosen for a task, and those left out because the budget was used up."""

    __slots__ = ("budget", "chosen", "considered", "left_out", "remarks")

    def __init__(self, budget: int, chosen: list[Chosen], left_out: list[Chosen], considered: int) -> None:
        self.budget = budget  # in tokens
        self.chosen = chosen
        self.left_out = left_out
        self.considered = considered
        self.remarks: list[str] = []
