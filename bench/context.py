"""Measures `sow context` with a large library: the first call, which reads all words, and later calls."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

from bench.timing import PYTHON, SOW
from sow.store.formats import VERSION

DOCUMENTS = 500
KILOBYTES = 40  # each: 20 MB together
SINKS = 10
FIRST, NEXT = 5.0, 1.0  # seconds
FIRST_READS, NEXT_READS = 60.0, 15.0  # times a plain read of the same files
WORDS = 20_000

# The minimum work: start Python and read every file.
READ = "import sys, pathlib; print(sum(len(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).rglob('*.md')))"


def timed(scratch: Path, rounds: int = 5) -> tuple[float, float, float]:
    """Returns seconds of the first call, of the best later call, and of the best plain read."""
    root = scratch / "library"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    _git(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first")
    _git(root, "switch", "-q", "-c", "feat/library")
    _run([SOW, "init", "--project", "Library"], root)
    vocabulary = fill(root / ".sow" / "sinks")
    generator = random.Random(2)
    _run([SOW, "task", "create", "--name", "Tokens " + " ".join(generator.sample(vocabulary, 60))[:180]], root)
    reads = [_run([PYTHON, "-c", READ, str(root / ".sow" / "sinks")], root) for _ in range(rounds)]
    first = _run([SOW, "context", "010", "--json"], root)
    later = [_run([SOW, "context", "010", "--json"], root) for _ in range(rounds)]
    return first, min(later), min(reads)


def fill(folder: Path) -> list[str]:
    """Writes sinks in a made-up language with few common and many rare words; returns its words."""
    generator = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(generator.choices(letters, k=generator.randint(3, 10))) for _ in range(WORDS)]
    weights = [1 / (index + 1) for index in range(WORDS)]
    entries = []
    for sink in range(SINKS):
        name = f"sink-{sink}"
        (folder / name).mkdir(parents=True)
        source = {"url": "https://git.example.org/sinks.git", "path": name, "ref": ""}
        fields = {"summary": name, "when_to_use": "", "tags": [f"tag-{sink}"]}
        entries.append({"name": name, "source": source, **fields})
        for number in range(DOCUMENTS // SINKS):
            words_in_text = generator.choices(vocabulary, weights, k=KILOBYTES * 150)
            lines = [" ".join(words_in_text[start : start + 12]) for start in range(0, len(words_in_text), 12)]
            lines[::40] = [f"# {line}" for line in lines[::40]]
            (folder / name / f"{number:03d}.md").write_text("\n".join(lines)[: KILOBYTES * 1000])
    (folder / "index.json").write_text(json.dumps({"schema_version": VERSION, "sinks": entries}))
    return vocabulary[100:5000]


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)


def _run(command: list[str], cwd: Path) -> float:
    start = time.perf_counter()
    process = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:3])}: exit {process.returncode}\n{process.stderr.decode()}")
    return seconds
