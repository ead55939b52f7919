"""How long each task of a run should take, by its estimate and by history."""

from __future__ import annotations

from sow.domain.forecast import GUESSED, Forecast
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import past
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.runs import RunFolder


def minutes(folder: RunFolder) -> dict[str, float]:
    """Minutes by task; a mere guess would only look like knowledge, and of what cannot be read nothing is said."""
    home = folder.home
    try:
        tasks = desks.load_some(home, projects.load(home), folder.run["tasks"])
    except SowError:
        return {}
    forecast = Forecast(past.finished(home))
    found = {each["id"]: forecast.expected(each["assigned_agent"], each.get("estimated_minutes")) for each in tasks}
    return {ident: each.minutes for ident, each in found.items() if each.origin != GUESSED}
