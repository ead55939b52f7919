"""Formats durations for people."""

from __future__ import annotations


def duration(minutes: float) -> str:
    """Return minutes as `1h 15m` or `2d 3h`: two units at most, no seconds above a minute."""
    if minutes < 1:
        return f"{round(minutes * 60)}s" if minutes else "0m"
    whole = round(minutes)
    days, minutes_of_day = divmod(whole, 1440)
    hours, minutes_left = divmod(minutes_of_day, 60)
    parts = [f"{days}d"] * (days > 0) + [f"{hours}h"] * (hours > 0) + [f"{minutes_left}m"] * (minutes_left > 0)
    return " ".join(parts[:2])


def span(seconds: float) -> str:
    """Return measured seconds as `4.2s`, `42s` or `2m 13s`, and above an hour as `duration` does."""
    if seconds < 9.95:
        return f"{seconds:.1f}s" if seconds else "0s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole >= 3600:
        return duration(whole / 60)
    minutes, seconds_left = divmod(whole, 60)
    return f"{minutes}m {seconds_left}s" if seconds_left else f"{minutes}m"


def stopwatch(seconds: float) -> str:
    """Return elapsed whole seconds as `00:12`, `12:34` or `1:02:03`."""
    hours, seconds_of_hour = divmod(int(seconds), 3600)
    minutes, seconds_left = divmod(seconds_of_hour, 60)
    return f"{hours}:{minutes:02d}:{seconds_left:02d}" if hours else f"{minutes:02d}:{seconds_left:02d}"
