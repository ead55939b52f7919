"""R12 and R1 for the layer: no space at any call is a clear error, and every file is the complete old or new one."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from guarantees.fake_disks import Counting, refusing
from sow.agents.layer import layer
from sow.domain.install import file_mark
from sow.domain.install.layer import Layer
from sow.errors import SystemFailure
from sow.store.user import installed_layer
from sow.store.user.installed_layer import InstallTarget

MINE = "---\ndescription: mine\n---\nMine.\n"


def few() -> Layer:
    """A part of the real layer: two commands, the settings, and a block."""
    pieces = [
        piece for piece in layer("claude", user=False).pieces if piece.path.endswith(("/run.md", "/new.md", ".json"))
    ]
    return Layer([*pieces, *layer("codex", user=False).pieces[:1]], (".claude/agents", ".claude/commands"))


def lay(root: Path) -> dict[str, str]:
    """Makes the earlier files: an old one of sow, one that the user changed, an obsolete one, and two of the user."""
    old = file_mark.add_mark("---\ndescription: old\n---\nOld.\n", "0.1.0", file_mark.FRONTMATTER)
    files = {
        ".claude/commands/sow/run.md": old,
        ".claude/commands/project/new.md": f"{old}Changed.\n",
        ".claude/commands/gone.md": old,
        ".claude/commands/mine.md": MINE,
        "AGENTS.md": "# Mine\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return files


def act(root: Path, disk: Counting, wanted: Layer, *, remove: bool = False) -> None:
    place = InstallTarget(str(root), user=False, disk=disk)
    installed_layer.apply(place, installed_layer.plan_steps(place, wanted, remove=remove))


def texts(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("remove", [False, True], ids=["install", "uninstall"])
def test_no_space_at_any_call(tmp_path: Path, remove: bool) -> None:
    """After a failure at any call the error is clear, no file is half written, and the same call completes the rest."""
    expected, whole = few(), Counting()
    lay(tmp_path / "whole")
    act(tmp_path / "whole", whole, expected, remove=remove)
    for at in range(1, len(whole.calls) + 1):
        root = tmp_path / str(at)
        before = lay(root)
        with pytest.raises(SystemFailure):
            act(root, Counting(at, refusing(errno.ENOSPC)), expected, remove=remove)
        left = texts(root)
        assert left[".claude/commands/mine.md"] == MINE and left["AGENTS.md"].startswith("# Mine\n")
        assert any("Changed." in text for text in left.values())
        new = {piece.path: piece.text for piece in expected.pieces}
        existing = {before.get(path) for path in left} | set(new.values())
        assert all(text in existing or ".kept-" in path or path == "AGENTS.md" for path, text in left.items()), at
        act(root, Counting(), expected, remove=remove)
        assert {path: text for path, text in texts(root).items() if not path.endswith(".kept-2")} == texts(
            tmp_path / "whole"
        )
    assert len(whole.calls) > 10
