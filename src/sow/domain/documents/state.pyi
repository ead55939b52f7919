"""The types of the state files, for the type checker only. Written by `make generate` from the schemas."""

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

class Answered(TypedDict):
    number: int
    text: str
    asked_at: str
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
    host: NotRequired[str]
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

class Follows(TypedDict):
    findings: list[str]
    task: NotRequired[str]
    head: NotRequired[str]
    session: NotRequired[str]
    worktree: NotRequired[str]

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
    questions: list[Answered]
    created_at: str
    updated_at: str
    context: NotRequired[list[Chosen]]
    source: NotRequired[Source]
    files: NotRequired[list[str]]
    after: NotRequired[list[str]]
    checks: NotRequired[list[Check]]
    estimated_minutes: NotRequired[float]
    type: NotRequired[str]
    worktree_group: NotRequired[str]
    session_id: NotRequired[str]
    question: NotRequired[Question]
    approval: NotRequired[Approval]
    abandoned_reason: NotRequired[str]
    failed_reason: NotRequired[str]
    started_at: NotRequired[str]
    completed_at: NotRequired[str]
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
    follows: NotRequired[Follows]

class TaskState(TypedDict):
    schema_version: str
    revision: int
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

class ProjectState(TypedDict):
    schema_version: str
    revision: int
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

class RemoteTurn(TypedDict):
    token: str
    sent_at: str
    applied: int

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
    remote: NotRequired[RemoteTurn]

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
    host: NotRequired[str]
    total_cost_usd: NotRequired[float | None]
    total_input_tokens: NotRequired[int | None]
    total_output_tokens: NotRequired[int | None]

class SessionState(TypedDict):
    schema_version: str
    revision: int
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
    sandbox: NotRequired[str]
    baseline: NotRequired[str]
    on: NotRequired[str]
    cluster: NotRequired[str]

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

class NoChecksYet(TypedDict):
    head: str
    at: str

class HandledFinding(TypedDict):
    key: str
    outcome: str
    at: str
    tasks: NotRequired[list[str]]

class RunDelivery(TypedDict):
    remote: str
    owner: str
    branch: str
    base: str
    state: str
    fork: NotRequired[str]
    drafted: NotRequired[bool]
    number: NotRequired[int]
    url: NotRequired[str]
    source: NotRequired[str]
    head: NotRequired[str]
    merge_commit: NotRequired[str]
    merged_head: NotRequired[str]
    method: NotRequired[str]
    merged_at: NotRequired[str]
    waiting_since: NotRequired[NoChecksYet]
    writing: NotRequired[str]
    own_comments: NotRequired[list[str]]
    handled: NotRequired[list[HandledFinding]]

class Baseline(TypedDict):
    list: str
    tree: str
    passed: bool
    at: str
    command: NotRequired[str]
    exit: NotRequired[int | None]
    tests: NotRequired[TestCounts]

class FinalCheck(TypedDict):
    list: str
    tree: str
    passed: bool
    at: str
    tasks: NotRequired[list[str]]
    command: NotRequired[str]
    cause: NotRequired[str]

class Pool(TypedDict):
    executor: str
    until: int
    reason: str
    account: NotRequired[str]

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
    delivery: NotRequired[RunDelivery]

class RunState(TypedDict):
    schema_version: str
    revision: int
    run: Run

class VerificationResults(TypedDict):
    result: str
    missing_evidence: list[str]
    findings: list[Finding]
    round: int
    verifier: str
    at: str

class MemberOutput(TypedDict):
    path: str
    version: int
    digest: str
    at: str

class MemberQuestion(TypedDict):
    number: int
    text: str
    asked_at: str
    kind: str

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

class AnsweredMember(TypedDict):
    number: int
    member: str
    kind: str
    text: str
    asked_at: str
    answer: str
    answered_at: str
    answered_by: str

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

class DesignCheck(TypedDict):
    digest: str
    sections: dict[str, str]
    passed: bool
    at: str
    by: str

class PlanApproval(TypedDict):
    digest: str
    sections: dict[str, str]
    by: str
    at: str
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
    session_start: NotRequired[str]
    plan_digest: NotRequired[str]
    verified: NotRequired[DesignCheck]
    approval: NotRequired[PlanApproval]
    answers: NotRequired[list[AnsweredMember]]

class WorkflowState(TypedDict):
    schema_version: str
    revision: int
    workflow: Workflow

class StatusEntry(TypedDict):
    status: str
    completion_drive_notes_count: int
    last_update: str | None
    unresolved_notes: NotRequired[int]
    dependencies: NotRequired[list[str]]
    outputs: NotRequired[list[MemberOutput]]

class VerifierEntry(TypedDict):
    status: str
    assigned_agents: list[str]

class SharedStatus(TypedDict):
    task_id: str
    status: str
    agents: dict[str, StatusEntry]
    verification: dict[str, VerifierEntry]
    overall_completion_drive_gate: str
    session_start: NotRequired[str]

class Archive(TypedDict):
    agent: str
    task_id: str
    file: str
    session_start: int
    archived_at: str
    notes: int
    digest: str

class ArchiveIndex(TypedDict):
    archives: list[Archive]

class Cleanup(TypedDict):
    at: str
    agent: str
    action: str
    reason: str
    source: str
    file: NotRequired[str]
    error: NotRequired[str]

class CleanupLog(TypedDict):
    entries: list[Cleanup]

class Hint(TypedDict):
    path: str
    about: str

class SinkSource(TypedDict):
    url: str
    path: str
    ref: str

class Sink(TypedDict):
    name: str
    source: SinkSource
    summary: str
    when_to_use: str
    hints: list[Hint]
    tags: list[str]
    pin: NotRequired[str]
    digest: NotRequired[str]
    size: NotRequired[int]
    files: NotRequired[int]
    described_by: NotRequired[str]
    installed_at: NotRequired[str]
    updated_at: NotRequired[str]

class RepoSource(TypedDict):
    url: str
    ref: str

class Repo(TypedDict):
    name: str
    source: RepoSource
    mode: str
    purpose: str
    hints: list[Hint]
    tags: list[str]
    pin: NotRequired[str]
    digest: NotRequired[str]
    size: NotRequired[int]
    files: NotRequired[int]
    described_by: NotRequired[str]
    installed_at: NotRequired[str]
    updated_at: NotRequired[str]
