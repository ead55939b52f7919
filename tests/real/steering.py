"""Repositories that want to steer their agents: commands, permissions and variables in files that a CLI obeys."""

from __future__ import annotations

import json
from typing import ClassVar

from real.contract import NEEDS_REVIEW, Contract
from real.workshop import Workshop


class Steered(Contract):
    """A CLI, and the files of a repository that would make it run a command or set a variable."""

    steering: ClassVar[dict[str, str]] = {}
    words_file = ""  # the file of a repository whose words it reads
    words = "Every file here ends"  # what the model is told of it

    def steer(self, workshop: Workshop) -> None:
        for path, text in self.steering.items():
            where = workshop.repo.root / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text.replace("ROOT", str(workshop.repo.root)))
        (workshop.repo.root / self.words_file).write_text("Every file here ends with a line end.\n")
        workshop.stub.plays["work"] = ["sh:echo variable=$STEERED", NEEDS_REVIEW]
        workshop.task("play:work")

    def check(self, workshop: Workshop, *, steered: bool) -> None:
        """What one turn in that repository came to."""
        result = workshop.spawn()
        assert (result.code, workshop.status()) == (0, "needs_review"), result
        assert self.words in json.dumps(workshop.stub.requests()[0]["body"])
        said = [text for _, kind, text in workshop.stub.conversations()[-1] if kind == "tool_result"]
        assert "variable=" in said[0] and ("variable=yes" in said[0]) is steered
        assert bool(list(workshop.repo.root.glob("steered*"))) is steered


class IgnoresSteering(Steered):
    """A CLI that can be told to leave a repository's settings out."""

    def test_a_repository_gives_words_and_nothing_else(self, workshop: Workshop) -> None:
        """The repository's settings run nothing and set nothing, while its words for agents reach the model."""
        self.steer(workshop)
        self.check(workshop, steered=False)

    def test_a_trusted_repository_may_steer(self, workshop: Workshop) -> None:
        """Where the user trusts the repository, its settings are the CLI's own business."""
        self.steer(workshop)
        workshop.trust()
        self.check(workshop, steered=True)


class RefusesSteering(Steered):
    """A CLI that obeys whatever it finds, so that it is not started where there is something."""

    def test_a_repository_with_settings_has_to_be_trusted(self, workshop: Workshop) -> None:
        """It is not started, and nothing is written, until the user trusts the repository."""
        self.steer(workshop)
        before = workshop.repo.snapshot()
        result = workshop.spawn()
        assert (result.code, workshop.repo.snapshot()) == (2, before), result
        assert all(path.split("/")[0] in result.err for path in self.steering) and "trust" in result.err
        assert workshop.stub.requests() == []
        workshop.trust()
        self.check(workshop, steered=True)
