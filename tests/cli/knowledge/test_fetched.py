"""sow sinks update on a terminal: shows the changes before it asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from knowledge.remotes import guides


@pytest.mark.parametrize(("typed", "text"), [(b"n\n", "old\n"), (b"y\n", "new\n")])
def test_an_update_is_shown_before_it_is_made(
    bare_repo: Repo, tmp_path: Path, on_terminal: Callable[..., Any], typed: bytes, text: str
) -> None:
    """The user sees the changes and confirms them; without changes no question is asked (B18)."""
    remote = guides(tmp_path, bare_repo.environment)
    bare_repo.ok("init")
    remote.write("go-style/extra.md", "old\n")
    remote.commit()
    bare_repo.ok("sinks", "install", remote.url, "go-style/")
    code, shown = on_terminal(bare_repo, "sinks", "update").end()
    assert code == 0 and "Update?" not in shown and "go-style" in shown
    remote.write("go-style/extra.md", "new\n")
    remote.commit()
    code, shown = on_terminal(bare_repo, "sinks", "update").until("Update?").type(typed).end()
    assert code == 0 and f"→ {remote.head[:7]}" in shown
    assert (bare_repo.root / ".sow/sinks/go-style/extra.md").read_text() == text
