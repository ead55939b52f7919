"""Repositories that try to steer their agents by commands, permissions and variables in files that a CLI reads."""

from __future__ import annotations

import json
from typing import ClassVar

from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW, Contract


class Steered(Contract):
    """A CLI, and the files of a repository that would make it run a command or set a variable."""

    steering: ClassVar[dict[str, str]] = {}
    words_file = ""  # the file of a repository whose words it reads
    words = "Every file here ends"  # what the model is told of it

    def steer(self, cli_repo: CliRepo) -> None:
        for path, text in self.steering.items():
            where = cli_repo.repo.root / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text.replace("ROOT", str(cli_repo.repo.root)))
        (cli_repo.repo.root / self.words_file).write_text("Every file here ends with a line end.\n")
        cli_repo.stub.plays["work"] = ["sh:echo variable=$STEERED", NEEDS_REVIEW]
        cli_repo.task("play:work")

    def check(self, cli_repo: CliRepo, *, steered: bool) -> None:
        """What one turn in that repository came to."""
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert self.words in json.dumps(cli_repo.stub.requests()[0]["body"])
        texts = [text for _, kind, text in cli_repo.stub.conversations()[-1] if kind == "tool_result"]
        assert "variable=" in texts[0] and ("variable=yes" in texts[0]) is steered
        assert bool(list(cli_repo.repo.root.glob("steered*"))) is steered


class IgnoresSteering(Steered):
    """A CLI that can be told to leave a repository's settings out."""

    def test_a_repository_gives_words_and_nothing_else(self, cli_repo: CliRepo) -> None:
        """The repository's settings run nothing and set nothing, while its words for agents reach the model."""
        self.steer(cli_repo)
        self.check(cli_repo, steered=False)

    def test_a_trusted_repository_may_steer(self, cli_repo: CliRepo) -> None:
        """Where the user trusts the repository, its settings are the CLI's own business."""
        self.steer(cli_repo)
        cli_repo.trust()
        self.check(cli_repo, steered=True)


class RefusesSteering(Steered):
    """A CLI that obeys whatever it finds, so that it is not started where there is something."""

    def test_a_repository_with_settings_has_to_be_trusted(self, cli_repo: CliRepo) -> None:
        """It is not started, and nothing is written, until the user trusts the repository."""
        self.steer(cli_repo)
        before = cli_repo.repo.snapshot()
        result = cli_repo.spawn()
        assert (result.code, cli_repo.repo.snapshot()) == (2, before), result
        assert all(path.split("/")[0] in result.err for path in self.steering) and "trust" in result.err
        assert cli_repo.stub.requests() == []
        cli_repo.trust()
        self.check(cli_repo, steered=True)
