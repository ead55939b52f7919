"""Q2: a line is broken in a copy of the package, and a named test must fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import FULL
from support.paths import ROOT
from support.quick_cases import all_of

SOURCE = ROOT / "src" / "sow"
QUICK = 2


class Sabotage(NamedTuple):
    """One line of one file, its replacement, and the test that must fail."""

    file: str
    old: str
    new: str
    test: str


SABOTAGES = {
    "a worker that takes off its marks is a person": Sabotage(
        "system/caller.py",
        "    for pid, process in _ancestors(proc):\n",
        "    for pid, process in _ancestors(proc)[:0]:\n",
        "guarantees/verdicts/test_worker.py::test_a_worker_cannot[approve 020-without_marks]",
    ),
    "the names in a folder are not synced": Sabotage(
        "store/files/disk.py",
        "            sync_folder(disk, os.path.dirname(path))\n    except OSError as error:\n        remove_quietly",
        "            pass\n    except OSError as error:\n        remove_quietly",
        "guarantees/state_files/test_power_loss.py::test_the_order_of_calls[start]",
    ),
    "the lock is dropped where a status is set": Sabotage(
        "store/projects/tasks.py",
        "    with home.lock():\n        return move(home, task, to, actor=actor, reason=reason, action=action)\n",
        "    if True:\n        return move(home, task, to, actor=actor, reason=reason, action=action)\n",
        "cli/tasks/test_task.py::test_a_second_writer_waits[task set --id 010 status failed]",
    ),
    "the last of two equal keys wins": Sabotage(
        "store/formats/yaml_text.py",
        "        return isinstance(data, dict) and dump(data) == text\n",
        "        return isinstance(data, dict)\n",
        "guarantees/errors/test_errors.py::test_bad_files[a key twice]",
    ),
    "open notes do not gate the review": Sabotage(
        "domain/task.py",
        '    if event in ("submit", "approve") and (',
        '    if event == "approve" and (',
        "cli/tasks/test_note.py::test_an_open_note_blocks_the_hand_in[nothing]",
    ),
    "anybody may judge": Sabotage(
        "system/caller.py",
        "    if caller.is_worker:\n",
        "    if not caller.name:\n",
        "guarantees/verdicts/test_worker.py::test_a_worker_cannot[phase advance-openly]",
    ),
    "a worker may approve, by the table": Sabotage(
        "domain/task.py",
        'WORKER_MOVES = frozenset({"start", "submit", "ask", "fail"})\n',
        'WORKER_MOVES = frozenset({"start", "submit", "ask", "fail", "approve"})\n',
        "guarantees/statuses/test_statuses.py::test_a_task_moves_only_as_its_table_and_its_actor_allow",
    ),
    "a completed task keeps its session": Sabotage(
        "domain/task.py",
        '        changed.pop("session_id", None)\n',
        "        pass\n",
        "cli/tasks/test_task.py::test_the_session_ends_with_the_task[completed-False]",
    ),
    "unknown keys are accepted": Sabotage(
        "store/formats/validation.py",
        "        if seen != len(data):\n",
        "        if seen > len(data):\n",
        "guarantees/errors/test_errors.py::test_bad_files[an unknown key]",
    ),
    "a project may live on main": Sabotage(
        "store/files/checkout_home.py",
        'FORBIDDEN_BRANCHES = ("main", "master")\n',
        'FORBIDDEN_BRANCHES = ("master",)\n',
        "cli/project/test_init.py::test_no_project_on_the_main_branch[main]",
    ),
    "the branch need not match": Sabotage(
        "store/projects/project.py",
        "    if current != branch:\n",
        "    if not branch:\n",
        "cli/test_promised_commands.py::test_a_branch_mismatch_is_refused",
    ),
    "a second project replaces the first": Sabotage(
        "store/projects/project.py",
        "    refuse_pulled_delivery(home)\n    if exists(home):\n",
        "    refuse_pulled_delivery(home)\n    if not home:\n",
        "cli/project/test_init.py::test_one_project_per_branch",
    ),
    "an answer is no new iteration": Sabotage(
        "domain/task.py",
        'NEW_ITERATION = frozenset({"send_back", "answer", "retry", "reopen"})\n',
        'NEW_ITERATION = frozenset({"send_back", "retry", "reopen"})\n',
        "cli/test_promised_commands.py::test_the_paused_pattern",
    ),
    "a phase with open tasks can be left": Sabotage(
        "domain/task.py",
        "    for phase in phases[: current_index + 1]:\n",
        "    for phase in phases[:current_index]:\n",
        "cli/project/test_phase.py::test_an_open_task_stops_the_advance[needs_review]",
    ),
    "a task can start in a phase to come": Sabotage(
        "domain/task.py",
        '    if _status(phases, name) == "pending":\n',
        '    if _status(phases, name) == "waiting":\n',
        "cli/project/test_phase.py::test_no_phase_can_be_skipped",
    ),
    "a worker settles matters of security": Sabotage(
        "domain/task.py",
        '("technology", "architecture", "security", "requirements", "conflict")\n',
        '("technology", "architecture", "requirements", "conflict", "secrets")\n',
        "cli/tasks/test_note.py::test_a_worker_may_not_resolve_a_security_note",
    ),
    "an agent speaks for another one": Sabotage(
        "system/caller.py",
        '    return task if name == supervisor_name(task) else ""\n',
        "    return task\n",
        "cli/workflows/test_inbox.py::test_a_changed_environment_names_no_other_agent",
    ),
    "instructions are no part of an approval": Sabotage(
        "plans/workflow_plan.py",
        "        texts = [_instruction_lines(instructions, name) for name in (member.name, member.verifier)]\n",
        "        texts: list[list[str]] = []\n",
        "engine/workflows/test_changes_during_run.py::test_changed_instructions_wait_for_approval",
    ),
    "who comes late is heard first": Sabotage(
        "domain/workflows/escalation.py",
        '    return sorted(blocked, key=lambda name: members[name]["last_update"] or "")\n',
        "    return blocked\n",
        "engine/workflows/test_run_rules.py::test_the_agent_that_was_blocked_first_is_served_first[3]",
    ),
    "an agent answers its own question by hand": Sabotage(
        "store/projects/notes.py",
        "        if session and (before is None or is_legal_change(before, session, actor, answers)):\n",
        "        if session:\n",
        "store/workflows/test_workflow_folder.py::test_an_agent_cannot_answer_its_own_question_by_hand",
    ),
    "anybody writes in any task folder": Sabotage(
        "store/note_updates.py",
        "    if actor.is_worker and actor.task != ident:\n",
        "    if actor.is_worker and not ident:\n",
        "guarantees/errors/test_errors.py::test_a_bad_environment",
    ),
    "a clean-up ignores the branch": Sabotage(
        "store/projects/removal.py",
        "        if not any_branch:\n",
        "        if not any_branch and not force:\n",
        "cli/project/test_cleanup.py::test_cleanup_leaves_the_project_of_another_branch_alone[words1]",
    ),
    "a bad call exits with 1": Sabotage(
        "errors.py",
        "    exit_code = 2\n",
        "    exit_code = 1\n",
        "guarantees/errors/test_errors.py::test_bad_arguments[nonsense]",
    ),
    "an error that nobody reads is a traceback": Sabotage(
        "cli/main.py",
        "    _write_or_discard(sys.stdout)\n    _write_or_discard(sys.stderr",
        "    sys.stdout.flush()\n    _write_or_discard(sys.stderr",
        "cli/test_output.py::test_an_error_is_printed_after_stdout_is_closed",
    ),
    "NO_COLOR is not heard": Sabotage(
        "system/terminal.py",
        'not os.environ.get("NO_COLOR") and ',
        "",
        "cli/test_output.py::test_no_color_and_dumb_terminals_get_plain_text",
    ),
    "an option may be given twice": Sabotage(
        "cli/command.py",
        "    elif option.name in values:\n",
        "    elif not option.name:\n",
        "cli/test_command.py::test_common_mistakes_are_refused_with_a_hint",
    ),
    "an unknown option is a place": Sabotage(
        "cli/command.py",
        '        elif word[:1] == "-" and word[1:2].isalpha() and " " not in word:\n',
        '        elif word[:1] == "-" and len(word) == 2 and word[1:2].isalpha():\n',
        "cli/test_command.py::test_both_parsers_refuse_the_same_lines",
    ),
    "a hot verb loads the json module": Sabotage(
        "cli/project/log.py",
        "from sow.cli.context import Context\n",
        "import json as _json\n\nfrom sow.cli.context import Context\n",
        "test_hot_imports.py::test_no_heavy_module_is_loaded[log --task 010 done]",
    ),
    "a log entry's text can forge another entry": Sabotage(
        "store/projects/log.py",
        '    return f"\\\\{line}" if _needs_escape(line, first) else line\n',
        "    return line\n",
        "cli/project/test_log.py::test_no_text_can_imitate_an_entry",
    ),
    "a dry run migrates": Sabotage(
        "cli/project/migrate.py",
        "    if dry_run:\n",
        "    if dry_run and not yes and not steps:\n",
        "cli/setup/test_schema.py::test_a_dry_run_changes_nothing",
    ),
    "a task starts while its pool is paused": Sabotage(
        "domain/runs/scheduler.py",
        "for pool in self._queues if self._pauses.get(pool, -NEVER) <= now}",
        "for pool in self._queues}",
        "guarantees/scheduling/test_scheduling.py::test_every_run_follows_the_model_and_ends[0]",
    ),
    "a block counts whatever its nonce is": Sabotage(
        "domain/reviews/verdict.py",
        'block.get("nonce") != nonce',
        'not block.get("nonce")',
        "guarantees/verdicts/test_verdicts.py::test_a_spoof_is_never_green[a block with the nonce in a list]",
    ),
    "a review of another commit counts": Sabotage(
        "domain/runs/stages.py",
        'review.get("commit") == work["commit"]',
        'work["commit"]',
        "guarantees/reviews/test_reviews.py::test_no_verdict_is_no_pass[1]",
    ),
    "what a worker committed beside its branch is not pinned": Sabotage(
        "gitwork/collect.py",
        "commits = [commit for commit in commits_in(self.worktree, self.branch) if commit not in excluding]\n",
        "commits: list[str] = []\n",
        "gitwork/test_collect.py::test_all_work_is_collected[reset_hard]",
    ),
    "a worker's state is collected": Sabotage(
        "gitwork/collect.py",
        "        paths = (*STATE_PATHS, *setup_paths(self.worktree))\n",
        "        paths = tuple(setup_paths(self.worktree))\n",
        "gitwork/test_collect.py::test_state_files_are_not_collected[commit_state]",
    ),
    "ignored files are overwritten": Sabotage(
        "gitwork/integration_branch.py",
        "(_overlapping(list(dirty), paths) + _blocking_files(repository, old, paths))",
        "(_overlapping(list(dirty), paths))",
        "gitwork/test_fast_forward.py::test_files_of_the_user_are_in_the_way[have_it_ignored]",
    ),
    "a worktree counts as filled before it is": Sabotage(
        "gitwork/worktree.py",
        "        return bool(self.git_dir) and os.path.exists(self.index) and os.path.isdir(self.path)\n",
        "        return bool(self.git_dir) and os.path.isdir(self.path)\n",
        "gitwork/test_worktrees.py::test_a_half_made_worktree_is_filled",
    ),
    "what a failed check said is kept after its evidence": Sabotage(
        "engine/runs/task_job.py",
        "        if not result.interrupted:\n            for command in",
        "        task_updates.add_evidence(self.folder, self.project, result.evidence)\n"
        "        if not result.interrupted:\n            for command in",
        "guarantees/crash_recovery/test_plan_run.py::test_killed_while_check_output_is_stored",
    ),
    "a list that a task broke is not checked again": Sabotage(
        "domain/runs/stages.py",
        "    for checks, owners in broke:\n",
        "    for checks, owners in ():\n",
        "guarantees/final_tree/test_final_tree.py::test_a_broken_list_is_checked_before_the_next_merge",
    ),
    "a slot believes size and time": Sabotage(
        "gitwork/slots.py",
        '"core.trustctime=true"',
        '"core.trustctime=false"',
        "gitwork/test_slot.py::test_size_and_time_are_not_trusted[same process]",
    ),
    "a slot keeps what an earlier list built": Sabotage(
        "gitwork/slots.py",
        '        self.clean(spare=spare, index=index, options="-ffdx")\n',
        "",
        "guarantees/evidence/test_evidence.py::test_a_build_of_one_list_is_gone_for_the_next",
    ),
    "a check rewrites files for the next": Sabotage(
        "engine/checks/check_list.py",
        "            if number and check_folder.slot is not None:\n",
        "            if not number and check_folder.slot is not None:\n",
        "guarantees/evidence/test_evidence.py::test_a_check_cannot_rewrite_the_files_of_the_next",
    ),
    "a missing program is the worker's fault": Sabotage(
        "engine/checks/check_list.py",
        '    if program:\n        code = ran.evidence["exit"]\n',
        '    if program and not command:\n        code = ran.evidence["exit"]\n',
        "guarantees/evidence/test_evidence.py::test_a_missing_program_is_a_question[no-such-program --check]",
    ),
    "an answer that was cut off is said twice": Sabotage(
        "store/projects/log.py",
        "    return (head, body) == (fields, text)\n",
        "    return (head, body) != (fields, text)\n",
        "guarantees/crash_recovery/test_commands.py::test_killed_answer_is_given_once",
    ),
    "git lets go of the lock when we are killed": Sabotage(
        "system/git.py",
        "            pass_fds=(hold,) if hold >= 0 else (),\n",
        "",
        "gitwork/test_worktrees.py::test_a_git_that_outlives_sow_is_waited_for",
    ),
    "unknown keys of a plan are dropped": Sabotage(
        "plans/yaml_plan.py",
        "    task.context.update(entry.warn_unknown_keys(HINT))\n",
        "    entry.known_keys.update(entry.node.value)\n",
        "plans/test_nothing_lost.py::test_no_word_of_a_task_is_lost",
    ),
    "two tasks may write one file at once": Sabotage(
        "plans/reader.py",
        "            waits[second.id][first.id] = None\n",
        "            waits[second.id].clear()\n",
        "plans/test_checks.py::test_the_order_of_files_never_makes_a_cycle",
    ),
    "a fence that never ends hides tasks in silence": Sabotage(
        "plans/markdown/reader.py",
        "    if page.unclosed:\n",
        "    if page.unclosed and not rest:\n",
        "plans/test_fixtures.py::test_a_plan_is_read_as_the_table_says[fences and comments are text]",
    ),
    "a knot hides the one before it": Sabotage(
        "domain/plans/graph.py",
        "    return [component for root in reversed(finished) if (component := _post_order(after, root, seen))]\n",
        "    return [component for root in reversed(finished[:-1]) if (component := _post_order(after, root, seen))]\n",
        "domain/plans/test_graph.py::test_a_circle_behind_another_is_found",
    ),
    "an index that came with a repository is fetched from": Sabotage(
        "knowledge/updates.py",
        "    if not has_source(user_entries, source):\n",
        "    if False:\n",
        "guarantees/trust/test_knowledge.py::test_a_committed_index_fetches_nothing",
    ),
    "git may use any protocol": Sabotage(
        "system/remote_git.py",
        '    "GIT_ALLOW_PROTOCOL": ALLOWED,\n',
        "",
        "system/test_remote_git.py::test_other_protocols_are_refused",
    ),
    "a link may lead out of a sink": Sabotage(
        "knowledge/tree_listing.py",
        "            if not parts:\n                raise _outside_error(path, target)\n            parts.pop()\n",
        "            parts = parts[:-1]\n",
        "knowledge/test_fetcher.py::test_a_link_out_of_the_folder_is_refused",
    ),
    "filters of a clone are run": Sabotage(
        "knowledge/fetcher.py",
        'NO_FILTERS = "* -filter ',
        'NO_FILTERS = "* ',
        "knowledge/test_repos.py::test_links_and_filters_of_a_hostile_repository",
    ),
    "an index that cannot be written leaves new files": Sabotage(
        "store/knowledge/install_folder.py",
        "        if kind is not None and not self.stays:\n",
        "        if False:\n",
        "guarantees/disk_faults/test_knowledge.py::test_an_installation_that_fails_leaves_nothing",
    ),
    "any name of this machine may be asked for": Sabotage(
        "dashboard/server/guard.py",
        "    if not _is_local(host):\n",
        "    if not host:\n",
        "guarantees/dashboard_access/test_dashboard_access.py::test_only_local_hosts_are_accepted[GET /api/state]",
    ),
    "any page may send a request": Sabotage(
        "dashboard/server/guard.py",
        '    if origin is not None and origin != f"http://{host}":\n',
        '    if origin == "null":\n',
        "guarantees/dashboard_access/test_dashboard_access.py::test_foreign_origins_are_refused[POST /api/session]",
    ),
    "any site may send a request": Sabotage(
        "dashboard/server/guard.py",
        '    if site != "same-origin" and not (',
        '    if site == "cross-site" and not (',
        "guarantees/dashboard_access/test_dashboard_access.py::test_cross_site_requests_are_refused[GET /api/runs]",
    ),
    "a form of another page looks like ours": Sabotage(
        "dashboard/server/guard.py",
        "    check_post_headers(headers)\n",
        "",
        "guarantees/dashboard_access/test_dashboard_access.py::test_foreign_forms[POST /api/session-no mark]",
    ),
    "a viewer needs no cookie": Sabotage(
        "dashboard/server/guard.py",
        "    if route.guard in (VIEWER, ACTOR) and not",
        "    if route.guard == ACTOR and not",
        "guarantees/dashboard_access/test_dashboard_access.py::test_every_route_has_its_guard[GET /api/state]",
    ),
    "an address has the wrong guard": Sabotage(
        "dashboard/server/routes.py",
        'Route("GET", "/api/cost", VIEWER,',
        'Route("GET", "/api/cost", OPEN,',
        "guarantees/dashboard_access/test_dashboard_access.py::test_every_route_has_its_guard[GET /api/cost]",
    ),
    "an agent approves in the dashboard": Sabotage(
        "dashboard/server/guard.py",
        "    check_person(*ends)\n",
        "",
        "guarantees/dashboard_access/test_dashboard_access.py::test_an_agent_with_the_token_cannot_act[openly-act]",
    ),
    "a command runs without consent": Sabotage(
        "engine/checks/check_list.py",
        "        require(context.agreed, command)\n",
        "",
        "engine/test_consent.py::test_a_command_without_consent_does_not_run",
    ),
    "an agent that hides approves in the dashboard": Sabotage(
        "system/caller.py",
        "    ancestors = _ancestors(proc, pid)\n    return not ancestors or any(\n        process.name",
        "    ancestors = _ancestors(proc, pid)[:1]\n    return not ancestors or any(\n        process.name",
        "guarantees/dashboard_access/test_dashboard_access.py"
        "::test_an_agent_with_the_token_cannot_act[without its marks-session]",
    ),
    "a dashboard for looking acts": Sabotage(
        "dashboard/server/guard.py",
        "    if route.guard == ACTOR and read_only:\n",
        "    if not route:\n",
        "guarantees/dashboard_access/test_dashboard_access.py::test_read_only[POST /api/acts/{name}]",
    ),
    "a token opens twice": Sabotage(
        "dashboard/server/access.py",
        "            self._renew()\n            return True\n",
        "            return True\n",
        "guarantees/dashboard_access/test_dashboard_access.py::test_a_token_works_once",
    ),
    "a cookie need not be signed": Sabotage(
        "dashboard/server/access.py",
        "        return signed and int(expires) > time.time()\n",
        "        return int(expires) > time.time()\n",
        "guarantees/dashboard_access/test_dashboard_access.py::test_foreign_cookies_are_refused[GET /api/state]",
    ),
    "the dashboard listens to everybody": Sabotage(
        "dashboard/server/server.py",
        'ADDRESS = "127.0.0.1"\n',
        'ADDRESS = "0.0.0.0"\n',
        "guarantees/dashboard_access/test_dashboard_access.py::test_the_server_listens_on_loopback_only",
    ),
    "an answer has no policy": Sabotage(
        "dashboard/server/reply.py",
        "        lines = [*self.headers, *ALWAYS,",
        "        lines = [*self.headers,",
        "guarantees/dashboard_access/test_dashboard_access.py::test_security_headers[GET /api/state]",
    ),
    "control bytes reach a browser": Sabotage(
        "dashboard/server/reply.py",
        "    return RAW.sub(_shown, ESCAPED.sub(_shown, written))\n",
        "    return RAW.sub(_shown, written)\n",
        "guarantees/control_bytes/test_dashboard.py::test_a_split_sequence_is_harmless[colour]",
    ),
    "a notification command fails the run": Sabotage(
        "engine/runs/loop.py",
        "        output = escape_line(answer.text)[:200]\n",
        '        raise SowError(answer.text, "")\n',
        "engine/runs/test_notify.py::test_a_failure_at_the_end_is_a_note",
    ),
    "texts are tags in the report": Sabotage(
        "reports/html_elements.py",
        '    return Html("" if children is None else escape(escape_control(str(children))))\n',
        '    return Html("" if children is None else escape_control(str(children)))\n',
        "reports/test_html_page.py::test_hostile_texts_are_shown_as_text['<img src=x onerror=x>']",
    ),
    "values end their attribute in the report": Sabotage(
        "reports/html_elements.py",
        '    return escape(escape_control(f"{value:g}" if isinstance(value, float) else str(value)))\n',
        '    return escape_control(f"{value:g}" if isinstance(value, float) else str(value))\n',
        "reports/test_html_page.py::test_only_listed_tags_are_written",
    ),
    "a run that was killed lives while another does": Sabotage(
        "store/runs/run_folder.py",
        "    return claimant is not None and claimant.run == folder.id\n",
        "    return claimant is not None\n",
        "cli/runs/test_runs.py::test_another_holder_of_the_claim_makes_no_run_live",
    ),
    "a report is kept though its facts are others": Sabotage(
        "dashboard/server/single_flight.py",
        "            return cached[1] if cached is not None and cached[0] == mark else None\n",
        "            return cached[1] if cached is not None else None\n",
        "dashboard/server/test_server.py::test_a_report_is_cached_until_a_change",
    ),
    "planted git settings are used": Sabotage(
        "system/git.py",
        "    return seal.variables(cwd, options)\n",
        "    return {}\n",
        "guarantees/planted_git/test_planted_git.py"
        "::test_no_git_call_runs_planted_programs[a clean and a smudge filter]",
    ),
    "edited sealed settings are used": Sabotage(
        "system/git.py",
        "        if self.current_stamps() != self.stamps:\n",
        "        if not self.stamps:\n",
        "guarantees/planted_git/test_planted_git.py::test_edited_seals_are_written_again",
    ),
    "objects of another repository are used": Sabotage(
        "system/git.py",
        "    seal.check_redirects()\n",
        "",
        "guarantees/planted_git/test_planted_git.py::test_an_alternate_stops_the_run",
    ),
    "replaced objects are believed": Sabotage(
        "system/git.py",
        '    "GIT_NO_REPLACE_OBJECTS": "1",\n',
        "",
        "guarantees/planted_git/test_planted_git.py::test_replace_refs_are_ignored",
    ),
    "git looks into submodules": Sabotage(
        "gitwork/repository.py",
        '"--ignore-submodules=dirty", "--"]\n',
        '"--"]\n',
        "guarantees/planted_git/test_planted_git.py::"
        "test_no_git_call_runs_planted_programs[a submodule with settings of its own]",
    ),
    "the seal of a killed run is not used": Sabotage(
        "store/git_watch.py",
        "    seal = git.load_seal(checkout)\n    if seal is None:\n",
        "    seal = None\n    if seal is None:\n",
        "guarantees/planted_git/test_planted_git.py::test_plants_of_a_killed_run_are_ignored",
    ),
    "state outside of a sparse checkout stays out": Sabotage(
        "gitwork/integration_branch.py",
        '"add", "--all", "--sparse", "--"',
        '"add", "--all", "--"',
        "engine/runs/test_sparse_checkout.py::test_a_run_in_a_sparse_checkout",
    ),
    "a result without changes is no concern": Sabotage(
        "engine/runs/task_job.py",
        '        if not collected.paths and not task.get("allow_empty"):',
        '        if not collected.paths and task.get("allow_empty"):',
        "guarantees/honest_work/test_no_work.py::test_no_changes_without_a_review_are_yellow[only its status]",
    ),
    "a refused command is no concern": Sabotage(
        "engine/turns/task_turn.py",
        "        if agent_turn.refusals and not agent_turn.read_only:\n",
        "        if agent_turn.refusals and agent_turn.read_only:\n",
        "guarantees/honest_work/test_no_work.py::test_work_after_a_refusal_is_yellow",
    ),
    "the final tree is not checked": Sabotage(
        "engine/checks/final_checks.py",
        '    if context.isolation is None or context.settings.get("final_checks", "on") == "off":\n',
        "    if True:\n",
        "guarantees/final_tree/test_final_tree.py::test_a_task_that_breaks_another_check_is_sent_back[a file appears]",
    ),
    "the last merge is always blamed": Sabotage(
        "engine/checks/final_checks.py",
        "        low, high = (middle, high) if tried.passed else (low, middle)\n",
        "        low = middle\n",
        "guarantees/final_tree/test_final_tree.py::test_the_breaking_task_is_found",
    ),
    "a flaky check is somebody's fault": Sabotage(
        "engine/checks/final_checks.py",
        "    if again.passed:\n",
        "    if False:\n",
        "guarantees/final_tree/test_final_tree.py::test_a_flaky_check_is_a_question",
    ),
    "a moved integration branch stays moved": Sabotage(
        "gitwork/integration_branch.py",
        "            if current == head:\n",
        "            if current:\n",
        "gitwork/test_integration_branch.py::test_a_foreign_commit_does_not_count[at once]",
    ),
    "a merge counts without its reviews": Sabotage(
        "domain/runs/stages.py",
        "    if is_approved(task):\n",
        "    if is_approved(task) or is_merged:\n",
        "domain/runs/test_stages.py::test_each_state_has_one_next_stage[merged, and not reviewed]",
    ),
    "work with a failed check is reviewed": Sabotage(
        "domain/runs/stages.py",
        "    if failed:\n        return _rejected(task, reviews, retries",
        "    if failed and len(reviews) >= reviewers:\n        return _rejected(task, reviews, retries",
        "engine/checks/test_checks.py::test_work_with_a_failed_test_is_not_reviewed",
    ),
    "a rule reads a state file": Sabotage(
        "domain/inputs.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nfrom sow.store.files import disk\n",
        "test_architecture.py::test_imports_point_one_way",
    ),
    "a table of commands names a lower part": Sabotage(
        "cli/tasks/task.py",
        "from __future__ import annotations\n",
        'from __future__ import annotations\n\nTARGET = "runs.recheck:verify"\n',
        "test_architecture.py::test_imports_point_one_way",
    ),
    "the proxy of a box connects to every host": Sabotage(
        "system/process/network_proxy.py",
        '        if scheme not in ("http", "https") or not self.hosts.allows(host, port):\n',
        '        if scheme not in ("http", "https"):\n',
        "system/test_network_proxy.py::test_everything_else_is_refused",
    ),
}
CHOSEN = list(SABOTAGES) if FULL else list(SABOTAGES)[:QUICK]


def copy(folder: Path) -> Path:
    """Returns the package in a folder of its own, to be imported from there."""
    shutil.copytree(SOURCE, folder / "sow", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(package: Path, folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Runs tests with this copy of the package."""
    hidden = ("PYTEST_", "SOW_TEST_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    named = [str(ROOT / "tests" / test) for test in tests]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-x", "-m", "not full", f"--basetemp={folder}", *named],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=600,
    )


@all_of("name", SABOTAGES)
def test_every_sabotage_matches_one_place(name: str):
    """Every sabotage fits exactly one place of the package as it is today."""
    sabotage = SABOTAGES[name]
    assert (SOURCE / sabotage.file).read_text().count(sabotage.old) == 1
    assert sabotage.new != sabotage.old


@pytest.mark.parametrize("name", CHOSEN)
def test_a_sabotage_is_noticed(tmp_path: Path, name: str):
    """With the line broken, the named test fails."""
    sabotage = SABOTAGES[name]
    package = copy(tmp_path / "package")
    path = package / "sow" / sabotage.file
    path.write_text(path.read_text().replace(sabotage.old, sabotage.new))
    result = run(package, tmp_path / "inner", sabotage.test)
    assert result.returncode == 1, result.stdout
    assert "1 failed" in result.stdout, result.stdout


def test_without_sabotage_all_tests_pass(tmp_path: Path):
    """With the same copy, unbroken, every named test passes, so that the broken line was the reason."""
    package = copy(tmp_path / "package")
    result = run(package, tmp_path / "inner", *dict.fromkeys(SABOTAGES[name].test for name in CHOSEN))
    assert result.returncode == 0, result.stdout


def test_the_copy_is_tested(tmp_path: Path):
    """The copy of the package goes before the installed one, for the tests and for the commands that they call."""
    package = copy(tmp_path / "package")
    init = package / "sow" / "__init__.py"
    init.write_text(init.read_text().replace('__version__ = "', '__version__ = "0.sabotage.'))
    result = run(package, tmp_path / "inner", "cli/setup/test_schema.py::test_the_versions_are_printed")
    assert result.returncode == 0, result.stdout
    command = [Path(sys.executable).parent / "sow", "--version"]
    shown = subprocess.run(command, env={"PYTHONPATH": str(package)}, capture_output=True, text=True).stdout
    assert "0.sabotage." in shown
