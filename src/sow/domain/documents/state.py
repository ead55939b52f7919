"""The types of the state files. Only the type checker needs them, so they are in the stub `state.pyi`.

`make generate` writes the stub from the schemas. While sow runs, each name stands for an ordinary mapping: creating the
real classes would cost every command some milliseconds.
"""

from __future__ import annotations


def __getattr__(name: str) -> type[dict[str, object]]:
    if name.startswith("__"):
        raise AttributeError(name)
    return dict
