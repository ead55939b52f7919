"""Asks an agent to describe a sink."""

from __future__ import annotations

from sow import config as configs
from sow.cli.agent_screen import Screen
from sow.engine.crew import Crew
from sow.engine.describing import ROLE, Describing
from sow.engine.steps import drive
from sow.errors import SowError
from sow.knowledge import describing
from sow.knowledge.describing import BY_AGENT, Description

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.context import Context
    from sow.domain.index_shapes import Sink
    from sow.knowledge.sinks import Sinks

MOST_TEXT = 100_000


class Describer:
    """Describes sinks; it is created before a fetch, so that a bad executor fails early."""

    __slots__ = ("executor", "sinks", "who")

    def __init__(self, context: Context, sinks: Sinks, executor: str) -> None:
        config = configs.load(context.environment)
        self.sinks = sinks
        self.executor = config.executor(executor or config.binding(ROLE)[0])
        crew = Crew(sinks.home, config, context.environment, tell=Screen(quiet=True).show)
        self.who = Describing(crew, self.executor)

    def describe(self, name: str) -> Sink:
        """Asks the agent and writes its answer into the index."""
        documents = describing.excerpts(self.sinks.place(name), MOST_TEXT)
        if not documents:
            raise SowError(f"the sink {name} has no text to describe", f"say it yourself: sow sinks describe {name}")
        answer = drive(self.who.ask(name, documents))
        description = Description(summary=answer.summary, when_to_use=answer.when_to_use, tags=answer.tags)
        return self.sinks.describe(name, description, f"{BY_AGENT}: {self.executor.name}")
