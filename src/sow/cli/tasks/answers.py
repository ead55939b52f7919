"""Lists and deletes the saved answers of this repository (`sow answers`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command
from sow.cli.context import Context
from sow.cli.output import emit
from sow.errors import SowError
from sow.store.user.standing_answers import StandingAnswers
from sow.system.terminal import escape_line, out, paint


def list_answers(context: Context, *, json: bool) -> int:
    answers = StandingAnswers(context.checkout(), context.environment).listed()
    if json:
        fields = ("question", "answer", "since")
        return emit(
            {"answers": [{"number": n, **{f: getattr(a, f) for f in fields}} for n, a in enumerate(answers, 1)]}
        )
    for number, answer in enumerate(answers, 1):
        out(f"{paint(f'{number}.', 'bold')} {escape_line(answer.question)}")
        out(f"   {escape_line(answer.answer)} {paint(f'(since {escape_line(answer.since[:10])})', 'dim')}")
    if not answers:
        out('no answer stands here; give one: sow answer 3 "…" --always')
    return 0


def forget(context: Context, *, number: str) -> int:
    context.require_person("forget a standing answer")
    if not (number.isascii() and number.isdigit() and len(number) < 6):
        raise SowError(f"{number!r:.40} is no number of a standing answer", "see 'sow answers'")
    deleted = StandingAnswers(context.checkout(), context.environment).forget(int(number))
    out(escape_line(f"forgotten: {deleted.question}"))
    return 0


COMMANDS = (
    Command(
        "answers",
        list_answers,
        "List the standing answers of this repository",
        json=True,
        details="A standing answer is one that was given with 'sow answer 3 \"…\" --always'. Who asks the same\n"
        "in a run gets it at once. They are in answers.yaml beside your config, and nowhere else.",
    ),
    Command(
        "answers forget",
        forget,
        "Forget a standing answer: the next such question waits for you again",
        arguments=(Argument("number", "Its number in 'sow answers'"),),
    ),
)
