"""Installs the distribution's Chromium with its package manager if it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FETCH = (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"])
PATIENCE = 900


class Missing(Exception):
    """No browser can be installed; the text says why and what to do."""


def program() -> str:
    """Returns the path of the installed browser, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), "")


def ensure() -> str:
    """Returns the path of the browser, and installs it first if that is possible."""
    result = program()
    if result:
        return result
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing("there is no chromium: install it ('apt-get install chromium' as root on Debian)")
    for item in FETCH:
        _run(item)
    result = program()
    if not result:
        raise Missing("missing download: apt-get installed chromium, but there is no such program")
    return result


def _run(words: list[str]) -> None:
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        result = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Missing(f"missing download: apt-get could not fetch chromium within {PATIENCE} s") from None
    if result.returncode:
        raise Missing(f"missing download: apt-get could not fetch chromium: {result.stderr.strip()[-2000:]}")


def main() -> int:
    """Installs the browser before any test runs, and reports once what is missing."""
    try:
        ensure()
    except Missing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
