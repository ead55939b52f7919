"""The types of the indexes of sinks and linked repositories.

Import this under TYPE_CHECKING, like `state`.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class IndexEntry(TypedDict):
    name: str
    tags: list[str]
    pin: NotRequired[str]
    digest: NotRequired[str]
    size: NotRequired[int]
    files: NotRequired[int]
    described_by: NotRequired[str]
    installed_at: NotRequired[str]
    updated_at: NotRequired[str]


class Hint(TypedDict):
    path: str
    about: str


class SinkSource(TypedDict):
    url: str
    path: str
    ref: str


class Sink(IndexEntry):
    source: SinkSource
    summary: str
    when_to_use: str
    hints: list[Hint]


class SinkIndex(TypedDict):
    schema_version: str
    sinks: list[Sink]


class RepoSource(TypedDict):
    url: str
    ref: str


class Repo(IndexEntry):
    source: RepoSource
    mode: str
    purpose: str
    hints: list[Hint]


class RepoIndex(TypedDict):
    schema_version: str
    repos: list[Repo]
