"""A picture of a checkout with a bug that a test switches on and off."""

from __future__ import annotations

from sow.dashboard.data.checkout_view import CheckoutView, ViewChange

BUG = "a bug of the test"


class Stumbling(CheckoutView):
    """Fails before it looks, or halfway: when the tasks are read, and what changed is not told yet."""

    broken = False
    breaks_off = False
    failures = 0

    def look(self, *, whole: bool) -> ViewChange:
        if self.broken:
            self.failures += 1
            raise ValueError(BUG)
        return super().look(whole=whole)

    def _look_run(self, change: ViewChange) -> None:
        if self.breaks_off:
            raise KeyError(BUG)
        super()._look_run(change)
