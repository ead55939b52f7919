"""Asks an agent to describe a sink."""

from __future__ import annotations

from sow import config as configs
from sow.cli.agents.screen import Screen
from sow.engine.turns.describe import ROLE, DescriptionTurn
from sow.engine.turns.turn_settings import TurnSettings
from sow.errors import SowError
from sow.knowledge import descriptions
from sow.knowledge.descriptions import BY_AGENT, Description
from sow.system.process.generator_steps import run_to_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.context import Context
    from sow.domain.documents.index import Sink
    from sow.knowledge.sinks import Sinks

MOST_TEXT = 100_000


class Describer:
    """Describes sinks; it is created before a fetch, so that a bad executor fails early."""

    __slots__ = ("agent", "executor", "sinks")

    def __init__(self, context: Context, sinks: Sinks, executor: str) -> None:
        config = configs.load(context.environment)
        self.sinks = sinks
        self.executor = config.executor(executor or config.binding(ROLE)[0])
        settings = TurnSettings(sinks.home, config, context.environment, tell=Screen(quiet=True).show)
        self.agent = DescriptionTurn(settings, self.executor)

    def describe(self, name: str) -> Sink:
        """Asks the agent and writes its answer into the index."""
        documents = descriptions.excerpts(self.sinks.folder_of(name), MOST_TEXT)
        if not documents:
            raise SowError(f"the sink {name} has no text to describe", f"say it yourself: sow sinks describe {name}")
        answer = run_to_end(self.agent.ask(name, documents))
        description = Description(summary=answer.summary, when_to_use=answer.when_to_use, tags=answer.tags)
        return self.sinks.describe(name, description, f"{BY_AGENT}: {self.executor.name}")
