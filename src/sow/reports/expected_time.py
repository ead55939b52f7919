"""Estimates how long each task of a run takes, from its own estimate and from finished tasks."""

from __future__ import annotations

from sow.domain.runs.forecast import GUESSED, Forecast
from sow.errors import SowError
from sow.store.projects import past_tasks, task_folder
from sow.store.projects import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.runs.run_folder import RunFolder


def expected_minutes(folder: RunFolder) -> dict[str, float]:
    """Return minutes by task. Mere guesses and tasks that cannot be read are left out."""
    home = folder.home
    try:
        tasks = task_folder.load_readable_or_raise(home, projects.load(home), folder.run["tasks"])
    except SowError:
        return {}
    forecast = Forecast(past_tasks.finished_tasks(home))
    forecasts = {task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")) for task in tasks}
    return {task_id: expectation.minutes for task_id, expectation in forecasts.items() if expectation.origin != GUESSED}
