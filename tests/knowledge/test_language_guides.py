"""The languages of files and repositories."""

from __future__ import annotations

from pathlib import Path

from sow.knowledge.language_guides import languages, repository_languages


def test_languages_are_recognised_by_names() -> None:
    """Files give their languages, each once; a file without a known ending gives none."""
    files = ["a/b.py", "c.PY", "web/x.tsx", "deploy/Dockerfile", "CMakeLists.txt", "LICENSE", "a.b/c", "x."]
    assert languages(files) == ["python", "typescript", "docker", "cmake"]


def test_the_language_of_a_repository(tmp_path: Path) -> None:
    """Files in its root decide; a folder of such a name does not."""
    assert repository_languages(str(tmp_path)) == []
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "go.mod").mkdir()
    assert repository_languages(str(tmp_path)) == ["python"]
