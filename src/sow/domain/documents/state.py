"""The types of the state files, for the type checker: the stub `state.pyi` has their fields.

While sow runs, each name stands for an ordinary mapping: creating the real classes would cost every command some
milliseconds. Written by `make generate` from the schemas.
"""

Approval = dict
Question = dict
Answered = dict
Source = dict
Check = dict
Work = dict
TestCounts = dict
Evidence = dict
Refusal = dict
Waiver = dict
Concern = dict
Finding = dict
Review = dict
Follows = dict
Chosen = dict
Task = dict
TaskState = dict
Phase = dict
ImportedPlan = dict
ProjectState = dict
Note = dict
NoteSession = dict
LogEntry = dict
RemoteTurn = dict
SessionTurn = dict
Session = dict
SessionState = dict
RunPlan = dict
RunSettings = dict
RunMerge = dict
DroppedMerge = dict
NoChecksYet = dict
HandledFinding = dict
RunDelivery = dict
Baseline = dict
FinalCheck = dict
Pool = dict
BreakerState = dict
Run = dict
RunState = dict
VerificationResults = dict
MemberOutput = dict
MemberQuestion = dict
MemberState = dict
AnsweredMember = dict
Escalation = dict
DesignCheck = dict
PlanApproval = dict
Workflow = dict
WorkflowState = dict
StatusEntry = dict
VerifierEntry = dict
SharedStatus = dict
Archive = dict
ArchiveIndex = dict
Cleanup = dict
CleanupLog = dict
Hint = dict
SinkSource = dict
Sink = dict
RepoSource = dict
Repo = dict
