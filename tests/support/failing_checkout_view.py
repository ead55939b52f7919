"""A view of a checkout with a bug that a test turns on and off."""

from __future__ import annotations

from sow.dashboard.data.checkout_view import CheckoutView, ViewChange

BUG = "a bug of the test"


class FailingView(CheckoutView):
    """Fails before its read, or after the tasks were read and before the changes are sent."""

    broken = False
    breaks_off = False
    failures = 0

    def refresh(self, *, whole: bool) -> ViewChange:
        if self.broken:
            self.failures += 1
            raise ValueError(BUG)
        return super().refresh(whole=whole)

    def _refresh_run(self, change: ViewChange) -> None:
        if self.breaks_off:
            raise KeyError(BUG)
        super()._refresh_run(change)
