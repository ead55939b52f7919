"""The mark in a file that `sow install` wrote: its version, and a digest that tells whether somebody changed it."""

from __future__ import annotations

from hashlib import sha256

VERSION = "sow-version"
DIGEST = "sow-digest"
END = "<!-- sow: end -->"
SIGNS = ' \t\r\n"#<!->,'  # what stands around a mark in one of the formats
FRONTMATTER, PAGE, HASHES, JSON = "frontmatter", "page", "hashes", "json"
LINES = {
    FRONTMATTER: "{key}: {value}\n",
    PAGE: "<!-- {key}: {value} -->\n",
    HASHES: "# {key}: {value}\n",
    JSON: '  "{key}": "{value}",\n',
}


class Mark:
    """What a file says about itself."""

    __slots__ = ("intact", "version")

    def __init__(self, *, version: str, intact: bool) -> None:
        self.version = version
        self.intact = intact


def stamp(text: str, version: str, style: str) -> str:
    """The text with its mark: in the frontmatter, in JSON behind the first bracket, else above or below everything."""
    at = {
        FRONTMATTER: text.find("\n---\n", 3) + 1,
        PAGE: len(text),
        HASHES: 0,
        JSON: 2,
    }[style]
    line = LINES[style]
    head, tail = text[:at] + line.format(key=VERSION, value=version), text[at:]
    return head + line.format(key=DIGEST, value=digest(head + tail)) + tail


def read(text: str) -> Mark | None:
    """The mark of a text; None where there is none, or not all of it."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number in range(1, len(lines)):
        version, said = _value(lines[number - 1], VERSION), _value(lines[number], DIGEST)
        if version and said:
            rest = "\n".join(lines[:number] + lines[number + 1 :])
            return Mark(version=version, intact=digest(rest) == said)
    return None


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _value(line: str, key: str) -> str:
    """What a line says about a key: `key: value`, whatever its format puts around both."""
    name, colon, value = line.partition(":")
    return value.strip(SIGNS) if colon and name.strip(SIGNS) == key else ""


def block(text: str, version: str) -> str:
    """A part of somebody's page that is ours: a mark, the text, and its end."""
    inside = f"{text.strip()}\n"
    head = LINES[PAGE]
    return head.format(key=VERSION, value=version) + head.format(key=DIGEST, value=digest(inside)) + inside + END + "\n"


def cut(page: str) -> tuple[str, str, str]:
    """A page as what is before our block, the block, and what is after it; a page without one is all before."""
    lines = page.splitlines(keepends=True)
    for start in range(len(lines) - 1):
        if _value(lines[start], VERSION) and _value(lines[start + 1], DIGEST):
            for end in range(start + 2, len(lines)):
                if lines[end].strip() == END:
                    return "".join(lines[:start]), "".join(lines[start : end + 1]), "".join(lines[end + 1 :])
    return page, "", ""


def put(page: str, ours: str) -> str:
    """A page with this block in the place of the old one, or at its end; without a block it is taken out."""
    before, old, after = cut(page)
    if old:
        return before + ours + after if ours else _joined(before.rstrip("\n"), after.lstrip("\n"))
    return _joined(before.rstrip("\n"), ours) if ours else page


def _joined(before: str, after: str) -> str:
    """Two parts of a page with an empty line between them."""
    return f"{before}\n\n{after}" if before and after else f"{before}\n" if before else after


def block_is_intact(text: str) -> bool:
    """Whether nobody changed the words of our block."""
    lines = text.replace("\r\n", "\n").splitlines(keepends=True)
    return digest("".join(lines[2:-1])) == _value(lines[1], DIGEST)
