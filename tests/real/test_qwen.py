"""The real Qwen Code against the stub model."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from real.contract import ObedientContract
from real.hostile_repositories import RefusesSteering
from real.references import ReadsReferences

pytestmark = pytest.mark.real


class TestQwen(RefusesSteering, ReadsReferences, ObedientContract):
    name = "qwen"
    sessions = ".qwen/projects"
    write_tool = "write_file"
    read_tool = "read_file"
    overload = "529"
    words_file = "QWEN.md"
    steering: ClassVar[dict[str, str]] = {
        ".env": "STEERED=yes\n",
        ".qwen/settings.json": json.dumps(
            {
                "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ROOT/steered-1"}]}]},
                "mcpServers": {"x": {"command": "touch", "args": ["ROOT/steered-2"]}},
            }
        ),
    }
    patience = "25s"
