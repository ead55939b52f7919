"""Refuses commands of a plan, of stored state and of setup that the user has not agreed to."""

from __future__ import annotations

from sow.errors import Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.config import Config
    from sow.domain.checks.consent import Consent
    from sow.store.files.checkout_home import Home


class NotAgreed(Waiting):
    """A command that the user has not agreed to was about to run."""


def load_consents(home: Home, config: Config, environment: Mapping[str, str]) -> Consent:
    """Return what the user agreed to for this repository; setup commands of the user's config need no question."""
    from sow.store.user import consents

    return consents.load(
        environment, home.checkout.common, allow=config.setting("checks", "allow"), own=setup_commands(config)
    )


def setup_commands(config: Config) -> list[str]:
    """Return the setup commands of the user's config, as the text that is run."""
    import shlex

    return [shlex.join(map(str, arguments)) for arguments in config.setting("worktree", "setup")]


def require(agreed: Consent, command: str) -> None:
    """Refuse a command that the user has not agreed to."""
    if not agreed.reason(command):
        raise NotAgreed(
            f"you have not agreed to this command: {command}", "run 'sow run PLAN' again: it shows the command and asks"
        )
