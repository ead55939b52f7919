"""How long something takes, in words."""

from __future__ import annotations


def duration(minutes: float) -> str:
    """`1h 15m`, `2d 3h`: two units at most, no seconds above a minute."""
    if minutes < 1:
        return f"{round(minutes * 60)}s" if minutes else "0m"
    whole = round(minutes)
    days, rest = divmod(whole, 1440)
    hours, left = divmod(rest, 60)
    parts = [f"{days}d"] * (days > 0) + [f"{hours}h"] * (hours > 0) + [f"{left}m"] * (left > 0)
    return " ".join(parts[:2])


def span(seconds: float) -> str:
    """What was measured: `4.2s`, `42s`, `2m 13s`, and above an hour as in `duration`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s" if seconds else "0s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole >= 3600:
        return duration(whole / 60)
    minutes, left = divmod(whole, 60)
    return f"{minutes}m {left}s" if left else f"{minutes}m"


def stopwatch(seconds: float) -> str:
    """`00:12`, `12:34`, `1:02:03`: whole seconds that have passed."""
    hours, rest = divmod(int(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes:02d}:{left:02d}"
