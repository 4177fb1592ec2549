"""What is handed out: the wheel with its command, the image for containers, and the notices of both."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import bentpipe as bp
import pytest

ROOT = Path(__file__).parents[3]


def test_the_command_is_of_the_version_of_the_package(command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert bp.__version__ == metadata.version("bentpipe")
    assert command("--version").stdout.split() == ["bentpipe", bp.__version__]


def test_the_wheel_is_for_every_python_and_typed() -> None:
    files = metadata.files("bentpipe") or []
    names = {str(file) for file in files}
    assert "bentpipe/py.typed" in names and "bentpipe/_native.pyi" in names
    assert any(name.endswith("_native.abi3.so") for name in names), names
    wheel = metadata.distribution("bentpipe").read_text("WHEEL") or ""
    assert "Tag: cp310-abi3-" in wheel


def test_what_the_package_needs_is_python_alone() -> None:
    needed = [need for need in metadata.requires("bentpipe") or [] if "extra ==" not in need]
    assert needed == []


@pytest.fixture
def wheel() -> Path:
    """The wheel that was built for these tests."""
    path = os.environ.get("BENTPIPE_WHEEL")
    if path is None:
        pytest.skip("BENTPIPE_WHEEL names no wheel: .ci/test-python does")
    return Path(path)


def test_pip_installs_the_wheel_and_the_first_notebook_of_a_user_works(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "new"], check=True)
    python = tmp_path / "new" / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", wheel]
    subprocess.run(install, check=True)
    program = "import bentpipe as bp; print(bp.scenario('geo').set('flows.file.size', '1 MB').compare(['bbr', 'cubic'], seeds=2))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "2 variants" in done.stdout, done.stderr
    demo = subprocess.run([python.with_name("bentpipe"), "demo", "--help"], capture_output=True, text=True)
    assert demo.returncode == 0


def test_uvx_runs_the_command_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    uvx = shutil.which("uvx", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uvx is None:
        pytest.skip("uv is not installed")
    options = ["--offline", "--no-config", "--python", sys.executable, "--cache-dir", tmp_path / "cache"]
    arguments = [uvx, *options, "--from", wheel, "bentpipe", "run", "handoff", "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scenario"] == "handoff"


def test_an_image_has_the_program_and_its_notices_and_is_the_same_twice(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("bentpipe", "LICENSE-APACHE", "LICENSE-MIT", "NOTICES"):
        (folder / name).write_text(name)
    images = [tmp_path / "one.tar", tmp_path / "two.tar"]
    for image in images:
        subprocess.run([sys.executable, ROOT / "packaging" / "oci.py", folder, "1.2.3", "aarch64", image], check=True)
    assert images[0].read_bytes() == images[1].read_bytes()
    with tarfile.open(images[0]) as archive:
        files = {entry.name: (archive.extractfile(entry) or open(os.devnull, "rb")).read() for entry in archive}
    for name, content in files.items():
        if name.startswith("blobs/sha256/"):
            assert hashlib.sha256(content).hexdigest() == name.rpartition("/")[2]
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["platform"] == {"architecture": "arm64", "os": "linux"}
    manifest = json.loads(files["blobs/" + entry["digest"].replace(":", "/")])
    config = json.loads(files["blobs/" + manifest["config"]["digest"].replace(":", "/")])
    assert config["config"]["Entrypoint"] == ["/bentpipe"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]


def test_the_notices_are_of_every_target_that_is_handed_out() -> None:
    triple = re.compile(r"\b(?:x86_64|aarch64)-\w+-\w+(?:-\w+)?")
    release = (ROOT / "packaging" / "release.sh").read_text()
    targets = triple.findall(release[release.index("set -- ") : release.index("python=")])
    assert targets and targets == triple.findall((ROOT / "packaging" / "about.toml").read_text())
