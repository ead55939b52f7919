"""A small crew whose run is killed at some point, and the checks after its end."""

from __future__ import annotations

import json
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import yaml
from conftest import Repo, Result, fresh_environment

from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.system.clock import CROSSINGS, VARIABLE
from support.plan_crash_scene import PlanCrashScene
from support.workflow_repo import WorkflowRepo

NEEDS = {"data": [], "page": [], "api": ["data", "page"]}
ARCHITECT = "solution_architect_agent"
AT_WORK = ("pending", "working", "completion_drive_review")
# How often the judges are asked without a kill: data asks the person and api the solution architect, each with a
# turn that sorts and one that validates, and api's first work is refused.
ASKED = {"workflow_architect": 4, "data_verifier": 1, "page_verifier": 1, "api_verifier": 2, "solution_verifier": 1}
SAME = {  # times, stamps, epochs and ids
    r"\d{4}-\d\d-\d\dT[0-9:.]+Z": "TIME",
    r"_\d{8}_\d{6}_": "_STAMP_",
    r"1\d{9}\b": "0",
    r"[0-9a-f]{8}-[0-9a-f-]{27}": "ID",
}

# Every agent reads its folder first, as its contract says, so a turn can be interrupted and repeated.
DOER = """\
#!/bin/sh
ledger={ledger}
folder=orchestration/agents/$SOW_TASK
notes=$folder/completion_drive/session_current.json
cp orchestration/state.yaml "$ledger/.$$"
mv "$ledger/.$$" "$ledger/start-$(date +%s%N)-$SOW_TASK"

noted() {
    grep -qs "$1" $notes && return
    sow note add --description "$1" --context "the work" --category $2 && echo "$SOW_TASK $1" >> $ledger/notes
}

ask() {
    noted "$1" $2
    grep -q '"open"' $notes && sow note escalate 1 --reason "not mine to decide"
    grep -q '"escalated"' $notes || return 0
    sow workflow set status blocked
    exit 0
}

text=one
case $SOW_TASK in
    data) ask "Which colour?" requirements ;;
    api) ask "Which hash?" security ;;
    page) noted "Names are short" detail; sow note resolve 1 --resolution "as everywhere" ;;
esac
test -e $folder/verification_results.json && text=two
mkdir -p $folder/task_output
case $SOW_TASK in
    solution_architect_agent) echo "Use the first." > $folder/task_output/decision.md ;;
    *) echo $text > $folder/task_output/$SOW_TASK.txt ;;
esac
sow workflow set status completion_drive_review
sow workflow set status ready_for_verification
"""


def scenario(folder: Path) -> dict[str, Any]:
    """Agents that read their folder, verifiers that check the work, and an architect that follows its prompt."""
    doer = [[{"run": ["sh", str(folder / "doer.sh")]}, {"say": "That is all."}]]
    messages = {"run": ["sh", "-c", f"echo $SOW_TASK >> {folder}/ledger/judges"]}
    passed, failed = {"say": "Verification: PASSED"}, {"say": "Verification: FAILED\n\nFeedback: it is too short"}
    holds = ["grep", "-q", "two", "orchestration/agents/api/task_output/api.txt"]
    return {
        **dict.fromkeys([*NEEDS, ARCHITECT], doer),
        **{f"{name}_verifier": [[messages, passed]] for name in ("data", "page", "solution")},
        "api_verifier": [[messages, {"if": {"run": holds, "then": [passed], "else": [failed]}}]],
        "workflow_architect": [[messages, _choice()]],
    }


def _choice() -> dict[str, Any]:
    """Returns the architect's decision: an answer is a resolution, data's question is the person's."""

    def ruling(**decision: str) -> list[dict[str, Any]]:
        output = {"decisions": [{"note": "note_001", **decision}], "plan_changed": False}
        return [{"say": json.dumps({"nonce": "{nonce}", **output})}]

    technical = ruling(route="solution_architect", question="Which hash?")
    sort = {"told": "Agent data", "then": ruling(route="user", question="Which colour?"), "else": technical}
    decided = {"told": "has decided", "then": ruling(route="answer", resolution="The first"), "else": [{"if": sort}]}
    person = {
        "told": "The person answers",
        "then": ruling(route="answer", resolution="Blue"),
        "else": [{"if": decided}],
    }
    return {"if": person}


class CrewCrashScene(PlanCrashScene):
    """One repository with a designed and approved workflow, and the ledgers in which its agents write."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger"
        self.log = folder / "said"
        self.kills = 1  # each may interrupt one turn of each agent
        self.ledger.mkdir(parents=True)
        shutil.copytree(template, folder / "repo", symlinks=True)
        self.repo = Repo(folder / "repo", fresh_environment(folder / "home"))
        (folder / "doer.sh").write_text(DOER.replace("{ledger}", str(self.ledger)))
        self.flow = WorkflowRepo(self.repo, folder).begin("user_management")
        self.flow.crew(NEEDS, groups=[["data", "page"], "api"]).scripted(scenario(folder))
        verified = self.repo.sow("workflow", "verify", "--executor", "simulated", "--yes")
        assert verified.code == 0, verified

    def run(self, kill_at: int = -1, **environment: str) -> Result:
        """Calls `sow workflow run`, which may be told to die at a boundary."""
        if kill_at >= 0:
            crossings = self.folder / "crossings"
            crossings.unlink(missing_ok=True)
            environment |= {VARIABLE: str(kill_at), CROSSINGS: str(crossings)}
        return self.repo.sow("workflow", "run", "--executor", "script", "--json", **environment)

    def states(self) -> dict[str, dict[str, Any]]:
        members: dict[str, dict[str, Any]] = self.flow.state["members"]
        return members

    def begun(self) -> list[tuple[str, dict[str, Any]]]:
        """Returns every start of an agent in order, with the state at that time."""
        paths = sorted(self.ledger.glob("start-*"))
        return [(path.name.split("-", 2)[2], yaml.safe_load(path.read_text())["workflow"]["members"]) for path in paths]

    def starts(self) -> dict[str, int]:
        names = [name for name, _ in self.begun()]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def still_to_start(self) -> dict[str, int]:
        """Returns how often each agent may still start, if only the work on disk is handed in; see Scene."""
        result = {}
        for name, state in self.states().items():
            turns = [turn for record in self.records() if record["task"] == name for turn in record["turns"]]
            last = turns[-1] if turns else {"ended_at": "", "status": ""}
            ended_well = last.get("outcome") == "done" and "status" not in last
            may = 0 if state["status"] not in AT_WORK or ended_well else 1
            result[name] = may + ("ended_at" not in last) - state["iteration"]
        return result

    def feedback(self) -> dict[str, list[str]]:
        return {}

    def documents(self) -> dict[str, Any]:
        """Returns every file below orchestration/, without times and ids."""
        folder = self.flow.orchestration
        result = {}
        for path in sorted(folder.rglob("*")):
            if stat.S_ISREG(path.lstat().st_mode):
                result[plain(str(path.relative_to(folder)))] = _document(path)
        return result

    def end(self) -> dict[str, Any]:
        documents = self.documents()
        return {
            "names": sorted(documents),
            **documents,
            "head": (self.repo.root / ".git/HEAD").read_text(),
            "files": {name: (self.repo.root / name).read_bytes() for name in ("other.txt", "untracked.txt")},
            "staged": self.repo.git("diff", "--cached", "--", ":(exclude).sow"),
            "status": self.repo.git("status", "--porcelain", "--", ":(exclude).sow"),
        }

    def sessions(self) -> list[tuple[str, dict[str, Any]]]:
        """Returns every session of notes with its agent, the current ones and those in an archive."""
        paths = sorted(self.flow.orchestration.rglob("completion_drive/session_*.json"))
        return [(path.parts[-3], json.loads(path.read_text())) for path in paths]

    def complaints(self) -> list[str]:
        wrong = super().complaints()
        wrong += [f"{name} started before {item} was verified" for name, state in self.begun()
                  for item in NEEDS.get(name, ()) if state[item]["status"] not in DONE_STATUSES]  # fmt: skip
        kept = [f"{name} {note['description']}" for name, session in self.sessions() for note in session["notes"]]
        wrong += [f"lost: {line}" for line in self.lines("notes") if line not in kept]
        judges = self.lines("judges")
        for name, state in self.states().items():
            passed = state["status"] not in DONE_STATUSES or state.get("result", {}).get("result") == "passed"
            if not passed or (state["status"] in DONE_STATUSES and state["verifier"] not in judges):
                wrong.append(f"{name} is {state['status']}, and no verifier passed it")
        wrong += [f"{name} was asked {judges.count(name)} times" for name, most in ASKED.items()
                  if judges.count(name) > most + self.kills]  # fmt: skip
        return wrong

    def lines(self, name: str) -> list[str]:
        path = self.ledger / name
        return path.read_text().splitlines() if path.exists() else []

    def lost(self) -> list[str]:
        """Returns no commits: an agent of a workflow has no branch of its own."""
        return []


def plain(text: str) -> str:
    """Returns a text with equal times and ids."""
    for pattern, word in SAME.items():
        text = re.sub(pattern, word, text)
    return text


def _document(path: Path) -> Any:
    """Returns a file in the form in which it is compared."""
    text = plain(path.read_text())
    if path.name == "state.yaml":
        return {**yaml.safe_load(text)["workflow"]}
    if path.name in ("cleanup_log.json", "archive_index.json"):
        entries = [entry for load in json.loads(text).values() for entry in load]
        return sorted(
            json.dumps({key: entry[key] for key in entry if key not in ("digest", "reason")}) for entry in entries
        )
    return text
