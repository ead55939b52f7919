"""Defines the type of work that runs step by step as a generator, for modules that do not need to start quickly."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[Any, str, Result]  # yields CONTINUE or None, and receives the request to stop
