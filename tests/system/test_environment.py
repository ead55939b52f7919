"""Programs in another checkout of a repository use the tools and the code of that checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from sow.system.environment import checkout_environment, own_venv

LISTS = {
    "below the checkout": ("{repo}/node_modules/.bin:/usr/bin", "{slot}/node_modules/.bin:/usr/bin"),
    "the checkout itself": ("{repo}", "{slot}"),
    "elsewhere": ("/usr/bin:{repo}-other/bin", "/usr/bin:{repo}-other/bin"),
    "already in the folder": ("{slot}/bin", "{slot}/bin"),
    "relative": ("bin:.", "bin:."),
    "through a link": ("{link}/src", "{slot}/src"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "slot").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    return root


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "NODE_PATH"])
@pytest.mark.parametrize("what", LISTS)
def test_lists_of_folders_are_mapped(repo: Path, name: str, what: str) -> None:
    """A folder below the user's checkout becomes the same folder of the other checkout; others stay."""
    names = {"repo": repo, "slot": repo / "slot", "link": repo.parent / "link"}
    given, expected = (text.format(**names) for text in LISTS[what])
    assert checkout_environment({name: given}, str(repo), f"{repo}/slot")[name] == expected


def test_environments_of_the_users_checkout_are_replaced(repo: Path) -> None:
    """Missing paths are left out, and the folder's virtual environment replaces another."""
    names = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "npm_config_prefix")
    given = dict.fromkeys(names, f"{repo}/.venv")
    assert not set(checkout_environment(given, str(repo), f"{repo}/slot")) & set(names)
    elsewhere = {"VIRTUAL_ENV": "/envs/lib", "PATH": "/envs/lib/bin", "PYTHONHOME": "/envs/lib"}
    assert checkout_environment(elsewhere, str(repo), f"{repo}/slot").items() >= elsewhere.items()
    own = checkout_environment(elsewhere, str(repo), f"{repo}/slot", venv=".venv")
    assert own["VIRTUAL_ENV"] == f"{repo}/slot/.venv"
    assert own["PATH"] == f"{repo}/slot/.venv/bin:/envs/lib/bin"
    assert "PYTHONHOME" not in own


def test_the_users_own_folder_stays(repo: Path) -> None:
    """In the user's own checkout nothing changes."""
    given = {"PATH": f"{repo}/bin", "VIRTUAL_ENV": f"{repo}/.venv", "UV_PROJECT_ENVIRONMENT": "/e"}
    assert checkout_environment(given, str(repo), str(repo)) == given


def test_accepted_tools_stay(repo: Path) -> None:
    """With the user's acceptance the tools of their checkout stay, and the folder's code comes first for Python."""
    given = {"PATH": f"{repo}/.venv/bin", "VIRTUAL_ENV": f"{repo}/.venv", "PYTHONPATH": "/more"}
    result = checkout_environment(given, str(repo), f"{repo}/slot", sources=["src", ""])
    assert (result["PATH"], result["VIRTUAL_ENV"]) == (given["PATH"], given["VIRTUAL_ENV"])
    assert result["PYTHONPATH"] == f"{repo}/slot/src:{repo}/slot:/more"


def test_go_work_of_the_users_checkout_is_not_used(repo: Path) -> None:
    """A go.work that only the user's checkout has is not used, although go searches the folders above."""
    assert "GOWORK" not in checkout_environment({}, str(repo), f"{repo}/slot")
    (repo / "go.work").touch()
    assert checkout_environment({}, str(repo), f"{repo}/slot")["GOWORK"] == "off"
    assert "GOWORK" not in checkout_environment({}, str(repo), f"{repo}/slot", go_work=True)


def test_a_home_folder_that_is_a_repository(repo: Path) -> None:
    """Tools in the user's home stay on PATH, also if the home is the checkout."""
    given = {"HOME": str(repo), "PATH": f"{repo}/.local/bin:{repo}/scripts"}
    assert checkout_environment(given, str(repo), f"{repo}/slot")["PATH"] == f"{repo}/.local/bin:{repo}/slot/scripts"


def test_a_virtual_environment_has_pyvenv_cfg(repo: Path) -> None:
    """A folder is a virtual environment if it has pyvenv.cfg."""
    (repo / "env").mkdir()
    assert own_venv(str(repo)) == ""
    (repo / "env/pyvenv.cfg").touch()
    assert own_venv(str(repo)) == "env"
