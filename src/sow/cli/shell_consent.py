"""Commands that only a shell understands are shown to a person, who agrees or not."""

from __future__ import annotations

from sow.errors import Waiting
from sow.system.terminal import confirm, err, harmless_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def ask(commands: Iterable[str], *, otherwise: str) -> None:
    """Go on with a person's word only; where nobody can be asked, say how to give it."""
    err("These commands need a shell:")
    for command in commands:
        err(f"  {harmless_line(command)}")
    if not is_interactive():
        raise Waiting("commands that need a shell need your word", "look at them, then add --yes")
    if not confirm("Run them?"):
        raise Waiting("nothing was started", otherwise)
