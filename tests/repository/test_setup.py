"""What sets up a clone: where Rust comes from, and what plain cargo needs."""

import os
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = "sh sed dirname mktemp rm mkdir chmod cat env cp true".split()  # noqa: SIM905

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are of a Unix shell")

# A Rust of version $1; with its components where $2 says so.
RUST = """#!/bin/sh
case "$(basename "$0") $*" in
"cargo --version") echo "cargo {version}" ;;
"rustc --version") echo "rustc {version} (of a test)" ;;
"cargo fmt --version" | "cargo clippy --version") exit {lacking} ;;
*) echo "$0 $*" ;;
esac
"""
# In the place of curl: what it "downloads" makes a Rust under CARGO_HOME.
CURL = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'END'
mkdir -p "$CARGO_HOME/bin" "$RUSTUP_HOME"
echo "$@" > "$RUSTUP_HOME/arguments"
cp "{new}/cargo" "{new}/rustc" "$CARGO_HOME/bin"
END
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def rust(folder, version, *, lacking=0):
    for name in ("cargo", "rustc"):
        program(folder / name, RUST.format(version=version, lacking=lacking))


@pytest.fixture
def clone(tmp_path):
    """A directory with the script, an empty home, and a PATH of little more than a shell."""
    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "ensure-rust.sh", clone / "scripts")
    shutil.copy(ROOT / "Cargo.toml", clone)
    (tmp_path / "home").mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in [*TOOLS, "basename"]:
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    program(tools / "cc", "#!/bin/sh\n")
    rust(tmp_path / "new", "1.99.0")
    program(tools / "curl", CURL.format(new=tmp_path / "new"))
    return clone


def ensure(clone, *command, path=()):
    """Runs a command by the script: what it printed, and what it said."""
    there = clone.parent
    places = [*path, there / "tools"]
    environment = {"HOME": str(there / "home"), "PATH": os.pathsep.join(map(str, places))}
    script = ["/bin/sh", str(clone / "scripts" / "ensure-rust.sh"), *command]
    return subprocess.run(
        script, env=environment, check=False, capture_output=True, text=True, cwd=there
    )


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_rust_is_fetched_into_the_clone_and_nothing_else_changes(clone):
    before = files(clone)
    done = ensure(clone, "cargo", "build")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{clone}/.rust/cargo/bin/cargo build"
    assert f"into {clone}/.rust" in done.stderr
    assert files(clone.parent / "home") == []
    assert {name.partition("/")[0] for name in set(files(clone)) - set(before)} == {".rust"}
    wanted = tomllib.loads((clone / "Cargo.toml").read_text("utf-8"))["package"]["rust-version"]
    arguments = (clone / ".rust" / "rustup" / "arguments").read_text("utf-8")
    assert f"--default-toolchain {wanted}" in arguments
    # It is used again, and not fetched again.
    done = ensure(clone, "cargo", "build")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_rust_that_will_do_is_used_as_it_is(clone):
    rust(clone.parent / "bin", "1.95.0")
    done = ensure(clone, "-c", "rustfmt clippy", "cargo", "fmt", path=[clone.parent / "bin"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"{clone.parent}/bin/cargo fmt"
    rust(clone.parent / "home" / ".cargo" / "bin", "1.95.0")
    done = ensure(clone, "cargo", "build")
    assert done.stdout.strip() == f"{clone.parent}/home/.cargo/bin/cargo build"
    assert not (clone / ".rust").exists()


@pytest.mark.parametrize(
    ("version", "lacking", "said"),
    [
        ("1.60.0", 0, "the one found is 1.60"),
        ("1.95.0", 1, "1.95, which is here, lacks some of: rustfmt clippy"),
    ],
)
def test_one_that_will_not_do_stays_as_it_is(clone, version, lacking, said):
    rust(clone.parent / "bin", version, lacking=lacking)
    before = files(clone.parent / "bin")
    done = ensure(clone, "-c", "rustfmt clippy", "cargo", "fmt", path=[clone.parent / "bin"])
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert done.stdout.strip() == f"{clone}/.rust/cargo/bin/cargo fmt"
    assert "-c rustfmt -c clippy" in (clone / ".rust" / "rustup" / "arguments").read_text()
    assert files(clone.parent / "bin") == before
    assert files(clone.parent / "home") == []


def test_without_a_network_the_ways_on_are_said(clone):
    program(clone.parent / "tools" / "curl", "#!/bin/sh\necho 'no network' >&2\nexit 6\n")
    done = ensure(clone, "cargo", "build")
    assert done.returncode == 1
    assert "no network" in done.stderr
    assert "Ways on:" in done.stderr
    assert done.stdout == ""
    assert files(clone.parent / "home") == []


def test_plain_cargo_needs_no_python_and_maturin_asks_for_it():
    features = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["features"]
    reached, todo = set(), ["default"]
    while todo:
        name = todo.pop()
        reached.add(name)
        todo += [other for other in features.get(name, []) if other not in reached]
    assert "linalg" in reached
    assert not {"python", "dep:pyo3", "dep:numpy"} & reached
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert maturin["features"] == ["python"]
    assert maturin["locked"] is True


def test_cargo_uses_the_lock_file_wherever_make_calls_it():
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    calls = [line for line in lines if "cargo " in line and line.startswith("\t")]
    resolving = [line for line in calls if "cargo fmt" not in line]
    assert resolving
    assert all("--locked" in line for line in resolving)
