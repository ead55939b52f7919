"""Runs one verification round: checks that the outputs exist, then lets the verifier judge outputs and notes."""

from __future__ import annotations

import os

from sow.domain import side_by_side, verification
from sow.domain.crew_plan import written
from sow.domain.member import GONE
from sow.store import sessions, workflow_acts
from sow.system import clock
from sow.workflows import judge_turn, outputs, words
from sow.workflows.judge_turn import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import VerificationResults
    from sow.domain.verification import Verification
    from sow.engine.ended import Ended
    from sow.engine.steps import Steps
    from sow.workflows.deck import Deck
    from sow.workflows.member_job import MemberJob


def verify(job: MemberJob) -> Steps[Ended | None]:
    """Run a round; if an output is missing, it fails without a verifier's turn."""
    deck, name = job.deck, job.id
    workflow_acts.record_outputs(deck.home, name, outputs.digests(deck, name))
    missing = outputs.missing(deck, name)
    if missing:
        _write(job, verification.missing_outputs(missing), "workflow_executor")
        return None
    verifier, _ = deck.verifier(name)
    deck.ship.step(name, f"{verifier} verifies")
    reply = yield from judge_turn.hear(deck, _question(deck, name))
    if reply.ended is not None:
        return reply.ended
    changed = outputs.unlike_verified(deck, name)
    if isinstance(reply.answer, verification.Verification) and not (reply.answer.passes and changed):
        _write(job, reply.answer, verifier)
        return None
    reason = f"outputs changed while they were verified: {', '.join(changed)}" if changed else reply.failure
    state = workflow_acts.verifier_failed(deck.home, name, reason).member
    job.tell_question(state)
    return None


def _question(deck: Deck, name: str) -> Question:
    verifier, agent = deck.verifier(name)
    return Question(
        name,
        deck.desk(verifier),
        agent,
        ask=lambda nonce: _prompt(deck, name, nonce),
        form=lambda nonce: words.VERIFICATION.format(nonce=nonce),
        read=verification.parse,
    )


def _prompt(deck: Deck, name: str, nonce: str) -> str:
    verifier, agent = deck.verifier(name)
    planned, desk = deck.plan.member(name), deck.desk(name)
    instructions = deck.desk(verifier).instructions_path
    paths = written(planned) if planned is not None else []
    versions = {
        output["path"]: output["version"] for output in deck.member(name)["outputs"] if output["digest"] != GONE
    }
    paths = list(dict.fromkeys([*paths, *versions]))
    return words.verifier_prompt(
        agent,
        verifier=verifier,
        name=name,
        folder=desk.folder,
        outputs=[f"{path} (version {versions[path]})" if path in versions else path for path in paths],
        criteria=planned.criteria if planned is not None else [],
        notes=deck.notes(name),
        related_notes="\n\n".join(group.text() for group in side_by_side.groups(_desks(deck), of=name)),
        last_text=_last_words(deck, name),
        form=words.VERIFICATION.format(nonce=nonce),
        instructions=instructions if os.path.isfile(instructions) else "",
    )


def _desks(deck: Deck) -> list[side_by_side.Desk]:
    """Return every agent's outputs and notes."""
    return [
        (name, [output["path"] for output in member["outputs"]], deck.notes(name))
        for name, member in deck.workflow()["members"].items()
    ]


def _last_words(deck: Deck, name: str) -> str:
    desk, state = deck.desk(name), deck.member(name)
    record = sessions.current(desk, state.get("session_id", ""))
    return sessions.last_words(record) if record is not None else ""


def _write(job: MemberJob, judgement: Verification, verifier: str) -> None:
    """Record the round, and move the agent on or back."""
    deck, name = job.deck, job.id
    number = deck.member(name).get("result", {}).get("round", 0) + 1
    result = judgement.results(number=number, verifier=verifier, at=clock.now())
    if judgement.passes:
        workflow_acts.verified(deck.home, name, result)
    else:
        state = workflow_acts.failed_round(deck.home, name, result, feedback=feedback(result)).member
        job.tell_question(state)
    facts = {"round": number, "result": result["result"], "by": verifier, "findings": len(result["findings"])}
    deck.ship.tell("verification", task=name, **facts)


def feedback(result: VerificationResults) -> str:
    """Return the feedback of a failed round to the agent."""
    lines = [f"{result['verifier']} did not pass your work (round {result['round']})."]
    lines += [f"- missing evidence: {evidence}" for evidence in result["missing_evidence"]]
    for finding in result["findings"]:
        location = " ".join(finding[key] for key in ("file", "symbol") if key in finding)
        lines.append(f"- {finding['severity']}: {location + ': ' if location else ''}{finding['text']}")
    return "\n".join(lines)
