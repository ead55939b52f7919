"""The types of the indexes of sinks and linked repositories.

Import this under TYPE_CHECKING, like shapes.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class SinkSource(TypedDict):
    url: str
    path: str
    ref: str


class Sink(TypedDict):
    name: str
    source: SinkSource
    summary: str
    when_to_use: str
    tags: list[str]
    pin: NotRequired[str]
    digest: NotRequired[str]
    size: NotRequired[int]
    files: NotRequired[int]
    described_by: NotRequired[str]
    installed_at: NotRequired[str]
    updated_at: NotRequired[str]


class SinkIndex(TypedDict):
    schema_version: str
    sinks: list[Sink]


class RepoSource(TypedDict):
    url: str
    ref: str


class RepoHint(TypedDict):
    path: str
    about: str


class Repo(TypedDict):
    name: str
    source: RepoSource
    mode: str
    purpose: str
    hints: list[RepoHint]
    tags: list[str]
    pin: NotRequired[str]
    digest: NotRequired[str]
    size: NotRequired[int]
    files: NotRequired[int]
    described_by: NotRequired[str]
    installed_at: NotRequired[str]
    updated_at: NotRequired[str]


class RepoIndex(TypedDict):
    schema_version: str
    repos: list[Repo]
