"""sow: a system of work for AI coding agents."""

__version__ = "1.0.0"


def version_text() -> str:
    """Returns the version and the commit that it was built from, such as `1.0.0 (3f2a91c0d4e8)`."""
    import os

    package = os.path.dirname(os.path.abspath(__file__))
    commit = _read(os.path.join(package, "commit.txt"))  # written by hatch_build.py into wheel and sdist
    if not commit and package.endswith(os.path.join("src", "sow")):
        commit = _checkout_commit(os.path.join(os.path.dirname(os.path.dirname(package)), ".git"))
    return f"{__version__} ({commit})" if commit else __version__


def _checkout_commit(git: str) -> str:
    """Returns the commit of HEAD from git's files; to start git would double the time of `sow --version`."""
    head = _read(f"{git}/HEAD")
    if head.startswith("ref: "):
        ref = head[5:]
        packed = (line.split(" ") for line in _read(f"{git}/packed-refs").splitlines())
        head = _read(f"{git}/{ref}") or next((words[0] for words in packed if words[1:] == [ref]), "")
    return head[:12]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
