"""Every command line of the documentation runs for real: as part of a page, or in a script of `site_commands`.

Each script is a session of a shell in a repository of its own. It has the lines of the pages, word for word, and
between them what they need. `exits N` before a line says with which code it ends; `&` starts it beside the others.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.docs_commands import calls
from support.paths import ROOT
from support.quick_cases import few_of

from sow.system.sandbox import sandbox_state

SCRIPTS = {path.stem: path.read_text() for path in sorted((ROOT / "tests/site_commands").glob("*.sh"))}
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md") for path in ROOT.glob(pattern) if "CHANGELOG" not in path.name
)
RUN_AS_PAGES = {  # pages, and the tests that run all their blocks of this language
    "README.md": ("sh", "tests/test_readme.py"),
    "docs/tutorial.md": ("sh", "tests/test_readme.py"),
    "docs/how-to/custom-role.md": ("sh", "tests/test_how_to.py"),
    "docs/how-to/knowledge.md": ("console", "tests/knowledge/test_docs.py"),
}
# A run starts these on its hosts, with ids of its own: the tests in tests/cluster run them so.
NOT_RUN = re.compile(r"sow turn (start|stop|run) ")
PROBLEM = sandbox_state("bwrap", os.environ).problem
PREAMBLE = """\
set -euo pipefail
exits() {
    local wanted=$1 code=0
    shift
    "$@" || code=$?
    [ "$code" = "$wanted" ] || { echo "exit $code instead of $wanted: $*" >&2; exit 1; }
}
ended() {  # ends a command in the background, however far it is
    kill "$1"
    wait "$1" || true
}
until_is() {  # until a command succeeds
    for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done
    echo "in vain: $*" >&2
    exit 1
}
with() {  # puts a value of this session in the place of one that the page invented
    local from=${1%%=*} to=${1#*=}
    shift
    "${@//$from/$to}"
}
typed() {  # types a line on the terminal of a command
    local line=$1
    shift
    printf '%s\\n' "$line" | python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"
}
set -v
"""


def words(line: str) -> str:
    """Returns a command line as words, without its comment, redirections and what the scripts add."""
    line = re.sub(r"^((exits \d+|typed \S*|with \S+|box|[A-Z_]+=\S+) )+", "", line.strip())
    line = re.sub(r"( [<>] ?\S+)+$| *&$", "", line)
    return shlex.join(shlex.split(line, comments=True))


def run_script(script: str, folder: Path, environment: dict[str, str]) -> None:
    """Runs a script in a new repository, with a network, a /tmp and a /srv of its own."""
    for name in ("shop", "srv", "bin"):
        (folder / name).mkdir()
    Path(environment["HOME"], ".config/sow").mkdir(parents=True)
    environment = {**environment, "PATH": f"{folder}/bin:{environment['PATH']}", "SITE": str(ROOT)}
    box = ["bwrap", "--unshare-net", "--unshare-pid", "--die-with-parent"]
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            box += ["--symlink", os.readlink(path), str(path)]
        elif path.name not in ("proc", "run", "srv", "sys", "tmp"):
            box += ["--dev-bind", str(path), str(path)]
    box += ["--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(folder / "srv"), "/srv"]
    for path in (str(folder), str(ROOT), sys.prefix):
        box += ["--bind", path, path]
    git = "git init -q -b main && git commit -q --allow-empty -m 'First commit'"
    result = subprocess.run(
        [*box, "bash", "-c", f"{git}\n{PREAMBLE}{script}"],
        cwd=folder / "shop",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(bool(PROBLEM) or not shutil.which("bwrap"), reason=PROBLEM or "bubblewrap is not installed")
@few_of("name", list(SCRIPTS), 0, always=("project", "plans"))
def test_a_session_works_as_printed(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """Each line of the script ends with the code that it names, or with 0."""
    run_script(SCRIPTS[name], tmp_path, environment)


def test_every_command_line_of_the_site_is_run() -> None:
    """Each line in a block of a page is a line of a script, or of a page that a test runs."""
    lines = {words(line) for script in SCRIPTS.values() for line in script.splitlines() if re.search(r"\bsow ", line)}
    missing = []
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        text = page.read_text()
        language, test = RUN_AS_PAGES.get(name, ("", ""))
        if test:
            assert name.rpartition("/")[2].removesuffix(".md").lower() in (ROOT / test).read_text().lower()
            text = re.sub(rf"^```{language}\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        for line in calls(text)[0]:
            if words(line) not in lines and "…" not in line and not NOT_RUN.match(line):
                missing.append(f"{name}: {line}")
    assert not missing, "\n".join(missing)
