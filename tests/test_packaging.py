"""What is installed runs: wheel and sdist are built, put into an empty environment and used.

Nothing is fetched: hatchling stands in the environment of the tests, and what the wheel needs without any
extra is linked from there. (`.ci/run` installs it from the registry.)
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import HANGS, ROOT
from tiny_graph_rag.version import __version__

pytestmark = pytest.mark.slow

BUILD = (sys.executable, "-m", "hatchling", "build")
SAMPLE = "conan-doyle-speckled-band"


def done(*call: object, folder: Path, home: Path | None = None) -> str:
    """What a process prints, run as somebody would whose home is `home` (None: as the tests are run). Fails
    where it does."""
    environment = {key: part for key, part in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    if home is not None:
        environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "LC_ALL": "C.UTF-8"}
    found = subprocess.run(
        [str(argument) for argument in call],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        encoding="utf-8",
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(wheel, sdist) of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    done(*BUILD, "-t", "sdist", "-t", "wheel", "-d", out, folder=ROOT, home=out)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def needed(package: str) -> set[str]:
    """What the package needs without any extra, and what that needs."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        for requirement in requires(waiting.pop()) or ():
            wanted = Requirement(requirement)
            if (wanted.marker is None or wanted.marker.evaluate({"extra": ""})) and wanted.name not in found:
                found.add(wanted.name)
                waiting.append(wanted.name)
    return found


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in an environment that holds nothing else."""
    home = tmp_path_factory.mktemp("installed")
    python = home / "env" / "bin" / "python"
    done("uv", "venv", "-q", "--python", sys.executable, home / "env", folder=ROOT)
    done("uv", "pip", "install", "-q", "--offline", "--no-deps", "--python", python, built[0], folder=ROOT)
    (library,) = (home / "env" / "lib").glob("python*/site-packages")
    for package in needed("tiny-graph-rag"):
        for top in {
            Path(item).parts[0] for item in distribution(package).files or () if ".." not in item.parts
        }:
            if not (library / top).exists():
                (library / top).symlink_to(Path(str(distribution(package).locate_file(top))))
    return home / "env" / "bin" / "tiny-graph-rag"


def test_the_installed_program_says_its_version(installed: Path, tmp_path: Path) -> None:
    said = done(installed, "--version", folder=tmp_path, home=tmp_path)
    assert said.startswith(f"tiny-graph-rag {__version__}")


def test_the_samples_come_along_and_evaluate(installed: Path, tmp_path: Path) -> None:
    done(installed, "init", "--example", folder=tmp_path, home=tmp_path)
    call = ("eval", "--dataset", f"{SAMPLE}-hardset.jsonl", "--skip-generation")
    done(installed, *call, "--report", "html,md,csv", "--lang", "ko", folder=tmp_path, home=tmp_path)
    page = (tmp_path / "data/results" / f"{SAMPLE}-hardset-results.html").read_text("utf-8")
    assert 'lang="ko"' in page
    written = json.loads((tmp_path / "data/results" / f"{SAMPLE}-hardset-results.json").read_text("utf-8"))
    ours = (ROOT / "data/eval" / f"{SAMPLE}-hardset.jsonl").read_text("utf-8").count("\n")
    assert written["summary"]["questions"] == ours
    for kind in ("kg", "eval"):
        brought = {path.name: path.read_bytes() for path in (tmp_path / "data" / kind).iterdir()}
        ours_too = {path.name: path.read_bytes() for path in (ROOT / "data" / kind).iterdir()}
        assert ours_too.items() <= brought.items()


def test_the_commands_that_init_prints_run(installed: Path, tmp_path: Path) -> None:
    said = done(installed, "init", folder=tmp_path, home=tmp_path)
    commands = [line.strip() for line in said.splitlines() if line.strip().startswith("tiny-graph-rag ")]
    assert len(commands) == 3
    for command in commands:
        done(installed, *shlex.split(command)[1:], folder=tmp_path, home=tmp_path)
    assert list((tmp_path / "data/results").glob("*.json"))


def test_a_wheel_made_from_the_sdist_holds_the_same_files(built: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(built[1]) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    done(*BUILD, "-t", "wheel", "-d", tmp_path / "again", folder=source, home=tmp_path)
    again = next((tmp_path / "again").glob("*.whl"))
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(built[0]).namelist())
