"""The types of the state files, for the type checker only. A test compares them with the schemas.

Import this under TYPE_CHECKING, because importing `typing` doubles the start-up time of hot verbs.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Approval(TypedDict):
    by: str
    at: str
    iteration: int
    reason: NotRequired[str]


class Question(TypedDict):
    number: int
    text: str
    asked_at: str


class Answered(Question):
    answer: str
    answered_at: str
    answered_by: str


class Source(TypedDict):
    plan: str
    id: str
    digest: str


class Check(TypedDict):
    kind: str
    command: str
    expected: NotRequired[str]
    criterion: NotRequired[str]


class Work(TypedDict):
    iteration: int
    base: str
    commit: str
    tree: str


class TestCounts(TypedDict):
    ran: int
    failed: NotRequired[int]
    skipped: NotRequired[int]
    base: NotRequired[int]


class Evidence(TypedDict):
    kind: str
    command: str
    exit: int | None
    seconds: float
    output: str
    at: str
    iteration: int
    passed: bool
    tree: NotRequired[str]
    list: NotRequired[str]
    setup: NotRequired[str]
    environment: NotRequired[str]
    scope: NotRequired[str]
    tests: NotRequired[TestCounts]


class Refusal(TypedDict):
    iteration: int
    tool: str
    reason: str
    count: int
    at: str
    command: NotRequired[str]
    executor: NotRequired[str]


class Waiver(TypedDict):
    command: str
    by: str
    at: str
    reason: NotRequired[str]


class Concern(TypedDict):
    iteration: int
    kind: str
    text: str
    merged: NotRequired[bool]


class Finding(TypedDict):
    id: str
    severity: str
    text: str
    rule: NotRequired[str]
    file: NotRequired[str]
    symbol: NotRequired[str]
    evidence: NotRequired[str]


class Review(TypedDict):
    iteration: int
    verdict: str
    by: str
    at: str
    findings: list[Finding]
    commit: NotRequired[str]


class Chosen(TypedDict):
    path: str
    kind: str
    reason: str
    size: int
    lines: NotRequired[str]


class Task(TypedDict):
    id: str
    name: str
    status: str
    assigned_agent: str
    iteration: int
    priority: str
    depends_on: list[str]
    criteria: list[str]
    references: list[str]
    context: NotRequired[list[Chosen]]
    questions: list[Answered]
    created_at: str
    updated_at: str
    session_id: NotRequired[str]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]
    approval: NotRequired[Approval]
    abandoned_reason: NotRequired[str]
    failed_reason: NotRequired[str]
    question: NotRequired[Question]
    source: NotRequired[Source]
    files: NotRequired[list[str]]
    after: NotRequired[list[str]]
    checks: NotRequired[list[Check]]
    estimated_minutes: NotRequired[float]
    type: NotRequired[str]
    worktree_group: NotRequired[str]
    work: NotRequired[Work]
    evidence: NotRequired[list[Evidence]]
    reviews: NotRequired[list[Review]]
    result: NotRequired[str]
    retry_count: NotRequired[int]
    review_feedback: NotRequired[str]
    duration: NotRequired[float]
    protected: NotRequired[list[str]]
    allow_empty: NotRequired[bool]
    refusals: NotRequired[list[Refusal]]
    waivers: NotRequired[list[Waiver]]
    concerns: NotRequired[list[Concern]]


class StateFile(TypedDict):
    schema_version: str
    revision: int


class TaskState(StateFile):
    task: Task


class Phase(TypedDict):
    name: str
    status: str
    created_at: str
    reason: NotRequired[str]
    question: NotRequired[int]


class ImportedPlan(TypedDict):
    path: str
    digest: str
    imported_at: str


class ProjectState(StateFile):
    project_id: str
    name: str
    description: str
    branch: str
    phases: list[Phase]
    questions: int
    created_at: str
    updated_at: str
    plans: NotRequired[list[ImportedPlan]]


class Note(TypedDict):
    note_id: str
    timestamp: int
    description: str
    context: str
    status: str
    category: NotRequired[str]
    resolution: NotRequired[str | None]
    resolved_by: NotRequired[str | None]
    resolution_timestamp: NotRequired[int | None]
    escalation_reason: NotRequired[str | None]


class NoteSession(TypedDict):
    task_id: str
    session_start: int
    notes: list[Note]


class LogEntry(TypedDict):
    timestamp: str
    agent: str
    action: str
    result: str
    files: list[str]
    text: str


class SessionTurn(TypedDict):
    number: int
    kind: str
    started_at: str
    reason: str
    inferred: bool
    redacted: int
    iteration: NotRequired[int]
    ended_at: NotRequired[str]
    exit: NotRequired[int | None]
    outcome: NotRequired[str]
    status: NotRequired[str]
    tools: NotRequired[int | None]
    cost_usd: NotRequired[float | None]
    input_tokens: NotRequired[int | None]
    output_tokens: NotRequired[int | None]
    agent_turns: NotRequired[int | None]
    seconds: NotRequired[float | None]
    unstruck: NotRequired[list[str]]


class Session(TypedDict):
    number: int
    key: str
    task: str
    role: str
    executor: str
    type: str
    model: str
    cwd: str
    mark: str
    started_at: str
    turns: list[SessionTurn]
    session_id: NotRequired[str]
    project_id: NotRequired[str]
    total_cost_usd: NotRequired[float | None]
    total_input_tokens: NotRequired[int | None]
    total_output_tokens: NotRequired[int | None]


class SessionState(StateFile):
    session: Session


class RunPlan(TypedDict):
    path: str
    digest: str


class RunSettings(TypedDict):
    max_concurrency: int
    schedule: str
    isolation: str
    review: str
    retries: int
    executor: NotRequired[str]
    agent: NotRequired[str]
    timeout: NotRequired[float]
    max_cost: NotRequired[float]
    max_wait: NotRequired[float]
    final_checks: NotRequired[str]
    history: NotRequired[str]
    network: NotRequired[str]
    baseline: NotRequired[str]


class RunMerge(TypedDict):
    task: str
    iteration: int
    work: str
    commit: str
    parent: str
    tree: str
    at: str


class DroppedMerge(TypedDict):
    task: str
    head: str
    parent: str
    at: str


class TreeCheck(TypedDict):
    list: str
    tree: str
    passed: bool
    at: str
    command: NotRequired[str]


class Baseline(TreeCheck):
    exit: NotRequired[int | None]
    tests: NotRequired[TestCounts]


class FinalCheck(TreeCheck):
    tasks: NotRequired[list[str]]
    cause: NotRequired[str]


class Pool(TypedDict):
    executor: str
    until: int
    reason: str


class BreakerState(TypedDict):
    failures: int
    opened: int
    until: int


class Run(TypedDict):
    id: str
    project_id: str
    name: str
    branch: str
    base: str
    status: str
    started_at: str
    plans: list[RunPlan]
    tasks: list[str]
    settings: RunSettings
    ended_at: NotRequired[str]
    exit: NotRequired[int]
    pools: NotRequired[list[Pool]]
    breaker: NotRequired[BreakerState]
    spawns: NotRequired[int]
    head: NotRequired[str]
    merges: NotRequired[list[RunMerge]]
    dropped: NotRequired[list[DroppedMerge]]
    baselines: NotRequired[list[Baseline]]
    final: NotRequired[list[FinalCheck]]
    accepted: NotRequired[list[str]]


class RunState(StateFile):
    run: Run


class MemberOutput(TypedDict):
    path: str
    version: int
    digest: str
    at: str


class MemberQuestion(Question):
    kind: str


class VerificationResults(TypedDict):
    result: str
    missing_evidence: list[str]
    findings: list[Finding]
    round: int
    verifier: str
    at: str


class MemberState(TypedDict):
    status: str
    task_id: str
    kind: str
    agent: str
    verifier: str
    dependencies: list[str]
    iteration: int
    tries: int
    rounds: int
    last_update: str | None
    outputs: list[MemberOutput]
    read: dict[str, int]
    verifier_tries: NotRequired[int]
    session_id: NotRequired[str]
    session_start: NotRequired[int]
    result: NotRequired[VerificationResults]
    question: NotRequired[MemberQuestion]
    feedback: NotRequired[str]
    inferred: NotRequired[bool]
    requested_by: NotRequired[list[str]]
    pending_answer: NotRequired[str]


class AnsweredMember(Answered):
    member: str
    kind: str


class Escalation(TypedDict):
    member: str
    task_id: str
    note_id: str
    description: str
    at: str
    route: NotRequired[str]
    question: NotRequired[str]
    resolution: NotRequired[str]
    resolved_at: NotRequired[str]


class DesignJudgement(TypedDict):
    digest: str
    sections: dict[str, str]
    by: str
    at: str


class DesignCheck(DesignJudgement):
    passed: bool


class PlanApproval(DesignJudgement):
    how: str


class Workflow(TypedDict):
    id: str
    name: str
    task_id: str
    status: str
    created_at: str
    updated_at: str
    question_number: int
    members: dict[str, MemberState]
    escalations: list[Escalation]
    branch: NotRequired[str]
    answers: NotRequired[list[AnsweredMember]]
    session_start: NotRequired[str]
    plan_digest: NotRequired[str]
    verified: NotRequired[DesignCheck]
    approval: NotRequired[PlanApproval]


class WorkflowState(StateFile):
    workflow: Workflow
