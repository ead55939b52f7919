"""The types of files beside a workflow's state: shared_status.json, and the archivist's files.

Import this under TYPE_CHECKING, like `state`.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from sow.domain.documents.state import MemberOutput


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
