"""Runs one verification round: checks that the outputs exist, then lets the verifier judge outputs and notes."""

from __future__ import annotations

import os

from sow.domain.reviews import similar_notes, verification
from sow.domain.workflows.crew_plan import shared_output_paths
from sow.domain.workflows.member import MISSING_DIGEST
from sow.engine.workflows import judge, outputs, prompts
from sow.engine.workflows.judge import JudgeQuestion
from sow.store.runs import sessions
from sow.store.workflows import members
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import VerificationResults
    from sow.domain.reviews.verification import Verification
    from sow.engine.runs.run_context import JobEnd
    from sow.engine.workflows.crew_context import CrewContext
    from sow.engine.workflows.member_job import MemberJob
    from sow.system.process.generator_steps import Steps


def verify(job: MemberJob) -> Steps[JobEnd | None]:
    """Run a round; if an output is missing, it fails without a verifier's turn."""
    crew, name = job.crew, job.id
    members.record_outputs(crew.home, name, outputs.digests(crew, name))
    missing = outputs.missing(crew, name)
    if missing:
        _write(job, verification.missing_outputs(missing), "workflow_executor")
        return None
    verifier, _ = crew.verifier(name)
    crew.context.progress(name, f"{verifier} verifies")
    reply = yield from judge.ask_judge(crew, _question(crew, name))
    if reply.ended is not None:
        return reply.ended
    changed = outputs.changed_since_verified(crew, name)
    if isinstance(reply.answer, verification.Verification) and not (reply.answer.passes and changed):
        _write(job, reply.answer, verifier)
        return None
    reason = f"outputs changed while they were verified: {', '.join(changed)}" if changed else reply.failure
    job.tell_question(members.record_verifier_failure(crew.home, name, reason).member)
    return None


def _question(crew: CrewContext, name: str) -> JudgeQuestion:
    verifier, agent = crew.verifier(name)
    return JudgeQuestion(
        name,
        crew.agent_folder(verifier),
        agent,
        ask=lambda nonce: _prompt(crew, name, nonce),
        form=lambda nonce: prompts.VERIFICATION.format(nonce=nonce),
        read=verification.parse,
    )


def _prompt(crew: CrewContext, name: str, nonce: str) -> str:
    verifier, agent = crew.verifier(name)
    planned, folder = crew.plan.member(name), crew.agent_folder(name)
    instructions = crew.agent_folder(verifier).instructions_path
    paths = shared_output_paths(planned) if planned is not None else []
    versions = {
        output["path"]: output["version"]
        for output in crew.member(name)["outputs"]
        if output["digest"] != MISSING_DIGEST
    }
    paths = list(dict.fromkeys([*paths, *versions]))
    return prompts.verifier_prompt(
        agent,
        verifier=verifier,
        name=name,
        folder=folder.folder,
        outputs=[f"{path} (version {versions[path]})" if path in versions else path for path in paths],
        criteria=planned.criteria if planned is not None else [],
        notes=crew.notes(name),
        related_notes="\n\n".join(group.text() for group in similar_notes.groups(_folders(crew), of=name)),
        last_text=_final_text(crew, name),
        form=prompts.VERIFICATION.format(nonce=nonce),
        instructions=instructions if os.path.isfile(instructions) else "",
    )


def _folders(crew: CrewContext) -> list[similar_notes.WorkerNotes]:
    """Return every agent's outputs and notes."""
    return [
        (name, [output["path"] for output in member["outputs"]], crew.notes(name))
        for name, member in crew.workflow()["members"].items()
    ]


def _final_text(crew: CrewContext, name: str) -> str:
    folder, state = crew.agent_folder(name), crew.member(name)
    record = sessions.current(folder, state.get("session_id", ""))
    return sessions.final_text_of(record) if record is not None else ""


def _write(job: MemberJob, judgement: Verification, verifier: str) -> None:
    """Record the round, and move the agent on or back."""
    crew, name = job.crew, job.id
    number = crew.member(name).get("result", {}).get("round", 0) + 1
    result = judgement.results(number=number, verifier=verifier, at=clock.now())
    if judgement.passes:
        members.record_verified(crew.home, name, result)
    else:
        job.tell_question(members.record_refused(crew.home, name, result, feedback=feedback(result)).member)
    facts = {"round": number, "result": result["result"], "by": verifier, "findings": len(result["findings"])}
    crew.context.journal("verification", task=name, **facts)


def feedback(result: VerificationResults) -> str:
    """Return the feedback of a failed round to the agent."""
    lines = [f"{result['verifier']} did not pass your work (round {result['round']})."]
    lines += [f"- missing evidence: {evidence}" for evidence in result["missing_evidence"]]
    for finding in result["findings"]:
        location = " ".join(finding[key] for key in ("file", "symbol") if key in finding)
        lines.append(f"- {finding['severity']}: {location + ': ' if location else ''}{finding['text']}")
    return "\n".join(lines)
