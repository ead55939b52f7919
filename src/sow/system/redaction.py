"""Secrets are struck out of what we keep: the values of secret variables, in the encodings in which they leak."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")
SHORTEST = 8
CHUNK = 1 << 20
FILLER = b"*"


def secrets(environment: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret."""
    found = {value for name, value in environment.items() if any(word in name.upper() for word in NAMES)}
    return sorted((value for value in found if len(value) >= SHORTEST and "/" not in value[:1]), key=len, reverse=True)


def forms(secret: str) -> set[bytes]:
    """A secret as it may stand in a file: plain, in JSON, in a URL, in hex, in base64 at any offset."""
    import base64
    import json
    from urllib.parse import quote

    raw = secret.encode("utf-8", "surrogateescape")
    found = {
        raw,
        json.dumps(secret)[1:-1].encode(),
        quote(secret, safe="").encode(),
        raw.hex().encode(),
        raw.hex().upper().encode(),
    }
    for offset in range(3):  # base64 turns three bytes into four letters: the inner letters depend on the offset only
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            coded = encode(b"\0" * offset + raw)
            start = (0, 2, 3)[offset]
            end = len(coded.rstrip(b"=")) - (1 if (len(raw) + offset) % 3 else 0)
            found.add(coded[start:end])
    return {form for form in found if len(form) >= SHORTEST}


def redact_file(path: str, values: Iterable[str]) -> int:
    """Strike the secrets out of a file in place, with as many stars as they were long; returns how many."""
    needles = sorted({form for value in values for form in forms(value)}, key=len, reverse=True)
    if not needles:
        return 0
    overlap = len(needles[0]) - 1
    struck = 0
    with open(path, "r+b") as file:
        position = 0
        size = os.fstat(file.fileno()).st_size
        while position < size:
            file.seek(position)
            data = file.read(CHUNK + overlap)
            clean, count = _strike(data, needles)
            if count:
                file.seek(position)
                file.write(clean)
                struck += count
            position += CHUNK
    return struck


def _strike(data: bytes, needles: list[bytes]) -> tuple[bytes, int]:
    count = 0
    for needle in needles:
        if needle in data:
            count += data.count(needle)
            data = data.replace(needle, FILLER * len(needle))
    return data, count


def redact_text(text: str, values: Iterable[str]) -> str:
    """The text without the secrets."""
    for value in values:
        text = text.replace(value, "*" * len(value))
    return text
