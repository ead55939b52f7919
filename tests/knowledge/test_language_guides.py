"""The languages of files and repositories."""

from __future__ import annotations

from pathlib import Path

from sow.knowledge.language_guides import languages, repository_languages


def test_languages_are_told_by_names() -> None:
    """Files tell their languages, each once; a file without a known ending tells nothing."""
    files = ["a/b.py", "c.PY", "web/x.tsx", "deploy/Dockerfile", "CMakeLists.txt", "LICENSE", "a.b/c", "x."]
    assert languages(files) == ["python", "typescript", "docker", "cmake"]


def test_a_repository_tells_its_languages(tmp_path: Path) -> None:
    """Files in its root are the sign; a folder of such a name is none."""
    assert repository_languages(str(tmp_path)) == []
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "go.mod").mkdir()
    assert repository_languages(str(tmp_path)) == ["python"]
