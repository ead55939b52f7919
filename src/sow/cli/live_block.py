"""The picture of a run as lines for the bottom of a terminal."""

from __future__ import annotations

from sow.domain.duration import duration, stopwatch
from sow.domain.wording import answer_command
from sow.system import width
from sow.system.terminal import COLOURS, harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.engine.scene import Scene

    Line = tuple[str, str]  # as it is measured, and as it is shown

MOST_QUESTIONS = 3
MOST_PAUSES = 3
MOST_NAMED = 20
NARROW, WIDE = 16, 44  # columns of a task's name
BAR = 30
SIGNS = {"work": "●", "asks": "?", "pause": "‖", "wait": "·", "full": "█", "empty": "░", "next": "→"}
POOR = {"work": "*", "asks": "?", "pause": "=", "wait": ".", "full": "#", "empty": "-", "next": ":"}


class Picture:
    """Draws a scene; `colours` and `rich` say what the terminal can show."""

    __slots__ = ("colours", "signs")

    def __init__(self, *, colours: bool, rich: bool) -> None:
        self.colours = colours
        self.signs = SIGNS if rich else POOR

    def lines(self, scene: Scene, now: float, columns: int, rows: int) -> list[Line]:
        """At most so many lines: the bar is always there, then what waits for a person, then the work."""
        below = [*self._questions(scene, columns), *self._stops(scene, columns), *self._waiting(scene, columns)]
        below += [self._plain("work", scene.final, columns)] if scene.final else []
        bar = self._bar(scene, now, columns)
        below = below[: max(rows - 2, 0)]
        room = max(rows - len(below) - 1, 0)
        return [*self._work(scene, now, columns, room), *below, bar]

    def _work(self, scene: Scene, now: float, columns: int, room: int) -> list[Line]:
        """One line for each running task, the longest at work first."""
        idents = list(scene.running)
        shown = idents if len(idents) <= room else idents[: max(room - 1, 0)]
        names = {ident: scene.called(ident) for ident in shown}
        wide = min(max((width.columns(name) for name in names.values()), default=0), max(columns // 3, NARROW), WIDE)
        lines = [self._task(scene, ident, names[ident], wide, now, columns) for ident in shown]
        if len(shown) < len(idents) and room:
            lines.append(self._plain("wait", f"and {len(idents) - len(shown)} more at work", columns))
        return lines

    def _task(self, scene: Scene, ident: str, name: str, wide: int, now: float, columns: int) -> Line:
        work = scene.running[ident]
        spent = scene.spend.get(ident)
        again = f"iteration {work.iteration}, " if work.iteration > 1 else ""
        facts = f"{stopwatch(max(now - work.since, 0)):>7}  {spent.words() if spent else '':>7}"
        shown = width.pad(name, wide)
        step = width.cut(harmless_line(again + work.step), columns - wide - len(facts) - 8)
        plain = f" {self.signs['work']} {shown}  {facts}  {step}".rstrip()
        mark = self._tint(self.signs["work"], "cyan")
        return plain, f" {mark} {shown}  {facts}  {self._tint(step, 'dim')}"

    def _questions(self, scene: Scene, columns: int) -> list[Line]:
        asked = list(scene.questions.items())
        lines = []
        for ident, (number, text) in asked[:MOST_QUESTIONS]:
            answer = f" {self.signs['next']} {answer_command(number or ident, text)}"
            room = max(columns - width.columns(answer) - 5, 0)
            said = width.cut(harmless_line(f"{scene.called(ident)} asks: {text}"), room)
            plain = f" {self.signs['asks']} {said}{answer}"
            lines.append((plain, f" {self._tint(self.signs['asks'], 'yellow')} {said}{self._tint(answer, 'cyan')}"))
        if len(asked) > len(lines):
            lines.append(self._plain("asks", f"{len(asked) - len(lines)} more questions: sow inbox", columns))
        return lines

    def _stops(self, scene: Scene, columns: int) -> list[Line]:
        said = [*scene.pauses.values(), *scene.stops.values()]
        return [self._plain("pause", each, columns, "yellow") for each in said[:MOST_PAUSES]]

    def _waiting(self, scene: Scene, columns: int) -> list[Line]:
        """How many wait, and for whom the first of them do."""
        idents = scene.waiting()
        if not idents:
            return []
        held = [(ident, scene.waits_for(ident)) for ident in idents[:MOST_NAMED]]
        some = [f"{_number(scene, ident)} for {_list(scene, needed)}" for ident, needed in held if needed]
        verb = "waits" if len(idents) == 1 else "wait"
        more = f": {', '.join(some)}" if some else " for a free place"
        return [self._plain("wait", f"{len(idents)} {verb}{more}", columns)]

    def _bar(self, scene: Scene, now: float, columns: int) -> Line:
        total, done, failed = len(scene.tasks), scene.count("completed"), scene.count("failed")
        left = scene.left(now)
        facts = [
            f"{done}/{total}" + (f", {failed} failed" if failed else ""),
            stopwatch(scene.elapsed(now)),
            scene.total.words(),
            f"about {duration(left / 60)} left" if left else "",
        ]
        words = "   ".join(each for each in facts if each)
        room = min(max(columns - width.columns(words) - 6, 0), BAR)
        full = room * done // total if total else 0
        filled, empty = self.signs["full"] * full, self.signs["empty"] * (room - full)
        return f" {filled}{empty}  {words}", f" {self._tint(filled, 'green')}{self._tint(empty, 'dim')}  {words}"

    def _plain(self, sign: str, text: str, columns: int, colour: str = "dim") -> Line:
        said = width.cut(harmless_line(text), columns - 5)
        return f" {self.signs[sign]} {said}", f" {self._tint(self.signs[sign], colour)} {self._tint(said, colour)}"

    def _tint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colours and text else text


def _number(scene: Scene, ident: str) -> str:
    known = scene.tasks.get(ident)
    return harmless_line((known.word("number") if known else "") or ident)


def _list(scene: Scene, needed: Sequence[str]) -> str:
    """`2 and 3 (failed)`: of what can come no more by itself one has to know why."""
    held = {ident: f" ({status})" for ident, status in scene.ended.items()}
    return " and ".join(_number(scene, each) + held.get(each, "") for each in needed[:4])
