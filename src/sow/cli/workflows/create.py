"""Creates and archives the folder of a workflow (`sow workflow new`, `sow workflow archive`)."""

from __future__ import annotations

import os

from sow.agents import briefing
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain import inputs
from sow.errors import SowError
from sow.store.layout import create_missing
from sow.store.workflows import archive as workflows_archive
from sow.store.workflows import design_state
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import err, escape_line, out

FORM = "protocol/conversation-summary"
MOST = 1 << 20


def new(context: Context, *, name: str, summary: str, json: bool) -> int:
    context.require_non_worker("create a workflow")
    if not inputs.is_member(name):
        raise SowError(
            f"{name!r:.80} is not a workflow name",
            "use lower case letters, digits, _ and -, such as: sow workflow new user_management",
        )
    home = context.checkout()
    summary_text = _summary(context, name, summary)
    if create_missing(home):
        err(escape_line(f"created {home.sow}"))
    folder = design_state.create(home, name, summary_text)
    path = home.relative(folder.summary_path(name))
    if json:
        return emit({"workflow": name, "id": folder.workflow()["id"], "summary": path})
    out(f"created workflow {name} in {home.relative(folder.path)}/")
    verb = "check" if summary else "fill in"
    out(f"{verb} {path}, then: sow workflow design")
    return 0


def form(name: str) -> str:
    """Returns the empty summary form of a workflow."""
    return briefing.load_template(FORM).replace("[Task Name]", name)


def _summary(context: Context, name: str, given: str) -> str:
    """Returns the given summary, or the empty form."""
    if not given:
        return form(name)
    path = os.path.join(context.cwd, given)
    if given != "-" and not os.path.exists(path):
        raise SowError(
            f"--summary: there is no file {given!r:.200}", "give the path of a file, or - for standard input"
        )
    source = given if given == "-" else f"@{path}"
    return f"{context.checked_text(source, '--summary', MOST).strip()}\n"


def archive(context: Context, *, name: str, yes: bool) -> int:
    context.require_non_worker("archive a workflow")
    home = context.project_home()
    folder = WorkflowFolder(home)
    with home.claim("run", purpose="sow workflow archive"):
        archive_path = workflows_archive.finish_interrupted(home)
        workflow_name = os.path.basename(archive_path)
        if not archive_path or folder.exists():
            workflow_name = folder.workflow()["name"]
            if name and name != workflow_name:
                raise SowError(
                    f"the workflow here is {workflow_name}, not {name!r:.80}", f"sow workflow archive {workflow_name}"
                )
            archive_path = workflows_archive.archive(home, force=yes)
    out(f"workflow {workflow_name} is in {archive_path}/")
    return 0
