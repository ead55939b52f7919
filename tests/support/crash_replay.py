"""Kills a run at any of its crash points and repeats it to its end, as often as needed."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.plan_crash_scene import PlanCrashScene, was_killed

TRIES = 3  # the number of steps of one plan differs, since its tasks run in parallel


class CrashReplay:
    """A scene at the start of each of its calls: the first one, and those after an answer.

    Sessions know their folder, so every try uses the same one, which is restored before.
    """

    def __init__(self, folder: Path, scene: PlanCrashScene) -> None:
        self.folder = folder
        self.scene = scene
        self.counts: list[int] = []
        self.steps: list[str] = []  # the step of the calls at each boundary
        self.visited: set[int] = set()
        code = 4
        while code == 4:
            if self.counts:
                scene.answer()
            shutil.copytree(scene.folder, folder / f"call-{len(self.counts)}", symlinks=True)
            code = scene.run(0).code
            crossed = scene.crossings()
            self.counts.append(len(crossed))
            self.steps += [line.partition(" ")[2] for line in crossed]
        assert code == 0
        self.wanted, self.said = scene.end(), scene.feedback()
        self.tries = {ident: task.get("retry_count", 0) for ident, task in scene.states().items()}
        assert scene.complaints() == []

    def back_to(self, call: int) -> None:
        shutil.rmtree(self.scene.folder)
        shutil.copytree(self.folder / f"call-{call}", self.scene.folder, symlinks=True)

    def after(self, ending: str) -> list[int]:
        """Returns the boundaries right after a step whose text ends like this."""
        return [number + 1 for number, step in enumerate(self.steps, 1) if step.endswith(ending)]

    def visit(self, point: int) -> list[str]:
        """Kills the run at one of its boundaries and runs it to its end; returns what is wrong then."""
        call, number = 0, point
        while number > self.counts[call]:
            call, number = call + 1, number - self.counts[call]
        for _ in range(TRIES):
            self.back_to(call)
            if was_killed(self.scene.run(number)):
                break
        else:
            return [f"boundary {point}: not visited"]
        crossed = self.scene.crossings()
        where = f"boundary {point} ({crossed[-1]})"
        if len(crossed) != number:
            return [f"{where}: {len(crossed)} were crossed"]
        self.visited.add(point)
        begun, may = self.scene.starts(), self.scene.still_to_start()
        ended = self.scene.to_the_end()
        wrong = [] if ended[-1].code == 0 else [f"ended with {ended[-1]}"]
        wrong += (
            self._differences()
            + self._repeated()
            + self._retried()
            + self.scene.complaints()
            + self._too_many(begun, may)
        )
        return [f"{where}: {item}" for item in wrong]

    def _differences(self) -> list[str]:
        differences = self.scene.end()
        return [
            f"{key}: {differences.get(key)} is not {value}"
            for key, value in self.wanted.items()
            if differences.get(key) != value
        ]

    def _repeated(self) -> list[str]:
        """Returns repeated feedback; an interrupted worker may work better the second time and get less."""
        result = {ident: [text.partition("\n")[2] for text in texts] for ident, texts in self.scene.feedback().items()}
        return [
            f"{ident}: it was said twice: {texts}" for ident, texts in result.items() if len(set(texts)) < len(texts)
        ]

    def _retried(self) -> list[str]:
        """Returns tasks that used more retries than without a kill."""
        return [
            f"{ident}: {task.get('retry_count', 0)} tries, {self.tries.get(ident, 0)} would do"
            for ident, task in self.scene.states().items()
            if task.get("retry_count", 0) > self.tries.get(ident, 0)
        ]

    def _too_many(self, begun: dict[str, int], may: dict[str, int]) -> list[str]:
        """Returns tasks on which a worker started although its work was handed in."""
        iterations = {ident: task["iteration"] for ident, task in self.scene.states().items()}
        most = {ident: may.get(ident, 0) + number for ident, number in iterations.items()}
        return [
            f"{ident}: {count - begun.get(ident, 0)} starts after the kill, {most[ident]} would do"
            for ident, count in self.scene.starts().items()
            if count - begun.get(ident, 0) > most[ident]
        ]
