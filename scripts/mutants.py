"""Mutation testing: change the code in one place after another; the Rust tests have to notice.

    python scripts/mutants.py src/optim/powers.rs src/table

The changes are those that cargo-mutants lists. It compiles each by itself, which takes minutes.
So all changes of the given files are written into one copy of the tree, each behind a question
(``mutant::on(7)``), of which a variable of the environment chooses one. The copy is compiled once,
changes that do not compile are left out, each test says which changes it comes by, and only these
run it. What is compiled is kept in ``target/mutants``, and so are the lists of what was
missed and what was left out.

Limits: Rust tests alone judge; what only Python calls (``feature = "python"``) is shown as
unreached. Conditions with ``let`` and functions that return ``impl Trait`` are left out; changes of
``const fn`` do not compile. A test that takes over 10 s + 8 times its usual time counts as failed,
and the change as caught. That much of what is missed makes code faster and changes no result is a
reader's finding, not this script's.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
ENVIRONMENT = os.environ | {
    "CARGO_TARGET_DIR": os.environ.get("MUTANTS_TARGET", str(WORK / "target")),
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "CARGO_INCREMENTAL": "1",
}
KINDS = {
    "FnValue": "block",
    "BinaryOperator": "binary",
    "UnaryOperator": "unary",
    "MatchArm": "arm",
    "MatchArmGuard": "arm",
    "StructField": "field",
}
# Tests that are quicker run together, so that a process is started for many.
QUICK = 0.06
# Which change is on, and for MUTANTS_REACHED the numbers of those that were asked for.
MODULE = """
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
unsafe extern "C" { fn atexit(f: extern "C" fn()) -> i32; }
extern "C" fn tell() {
    let Ok(path) = std::env::var("MUTANTS_REACHED") else { return };
    let reached = (0..COUNT).filter(|&k| REACHED[k].load(Relaxed));
    let text: Vec<String> = reached.map(|k| k.to_string()).collect();
    let _ = std::fs::write(path, text.join(" "));
}
#[cold]
fn choose() -> u32 {
    let chosen = std::env::var("MUTANT").ok().and_then(|k| k.parse().ok());
    let chosen = chosen.unwrap_or(u32::MAX - 1);
    if std::env::var("MUTANTS_REACHED").is_ok() { unsafe { atexit(tell); } }
    CHOSEN.store(chosen, Relaxed);
    chosen
}
#[inline]
pub fn on(k: u32) -> bool {
    if !REACHED[k as usize].load(Relaxed) { REACHED[k as usize].store(true, Relaxed); }
    let chosen = CHOSEN.load(Relaxed);
    (if chosen == u32::MAX { choose() } else { chosen }) == k
}
"""

Mutant = dict[str, Any]


def output(*command: str, cwd: Path = ROOT, ok: bool = True) -> str:
    """What a command prints; ends this script if it fails."""
    run = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    if ok and run.returncode:
        sys.exit(f"mutants.py: {' '.join(command[:4])} failed:\n{run.stderr[-3000:]}")
    return run.stdout


def mutants(files: list[str]) -> list[Mutant]:
    """The changes that cargo-mutants has for these files, each with its place."""
    globs = [f"{file}/**/*.rs" if (ROOT / file).is_dir() else file for file in files]
    options = [option for glob in globs for option in ("--file", glob)]
    found = json.loads(output("cargo", "mutants", "--list", "--json", *options))
    names = sorted({m["file"] for m in found})
    manifest = str(ROOT / "scripts" / "spans" / "Cargo.toml")
    run = ("cargo", "run", "--locked", "--quiet", "--manifest-path", manifest, "--")
    places = json.loads(output(*run, *names)) if names else {}
    for number, m in enumerate(found):
        (start, end), kind = (m["span"]["start"], m["span"]["end"]), KINDS[m["genre"]]
        at = [start["line"], start["column"], end["line"], end["column"]]
        key = "guard_at" if m["genre"] == "MatchArmGuard" else "at"
        # cargo-mutants ends a field with its comma.
        length = 2 if kind == "field" else 4
        fits = (p for p in places[m["file"]] if p["kind"] == kind and p[key])
        m["number"], m["place"] = number, next(p for p in fits if p[key][:length] == at[:length])
    return found


def is_left_out(m: Mutant) -> bool:
    """Whether a change cannot be written as a question."""
    result = (m["function"] or {}).get("return_type") or ""
    return bool(m["place"].get("let")) or (m["genre"] == "FnValue" and "impl " in result)


def rewritten(source: bytes, changes: list[Mutant]) -> bytes:
    """The text of a file with its changes behind questions; marks say where each is."""
    sites: dict[tuple[int, int, str], list[Mutant]] = defaultdict(list)
    for m in changes:
        p = m["place"]
        if p["kind"] == "block":
            sites[p["start"], p["start"], "block"].append(m)
        elif p["kind"] != "arm":
            sites[p["start"], p["end"], "expression"].append(m)
        elif p["guard"]:
            sites[p["guard"][0], p["guard"][1], "guard"].append(m)
        else:
            sites[p["pattern"], p["pattern"], "arm"].append(m)
    order = sorted(sites.items(), key=lambda site: (site[0][0], -site[0][1], site[0][2] != "guard"))

    def variant(m: Mutant) -> bytes:
        p, new = m["place"], m["replacement"].encode()
        part = {k: source[slice(*p[k])] for k in ("left", "right") if k in p}
        match p["kind"]:
            case "binary":
                return b"(%b) %b (%b)" % (part["left"], new, part["right"])
            case "unary":
                return b"(%b)" % part["right"]
            case "field":
                rest = re.sub(rb"^\s*,", b"", source[p["field"][1] : p["end"]])
                return source[p["start"] : p["field"][0]] + rest
            case _:
                return new if m["genre"] == "MatchArmGuard" else b"false"

    def marked(m: Mutant, text: bytes) -> bytes:
        return b"/*M%d<*/%b/*>M%d*/" % (m["number"], text, m["number"])

    def rendered(start: int, end: int, k: int) -> tuple[bytes, int]:
        """The text from start to end with the sites from k on that lie in it."""
        out, at = [], start
        while k < len(order):
            (first, last, kind), here = order[k]
            if first >= end:
                break
            out.append(source[at:first])
            inner, k = rendered(first, last, k + 1) if last > first else (b"", k + 1)
            at = last
            question = b"crate::mutant::on(%d)"
            if kind == "block":
                text = b" if " + question + b" { return %b; }"
                out += [marked(m, text % (m["number"], m["replacement"].encode())) for m in here]
            elif kind == "arm":
                out.append(marked(here[0], b" if !" + question % here[0]["number"]))
            else:
                text = b"if " + question + b" { %b } else "
                asked = [marked(m, text % (m["number"], variant(m))) for m in here]
                site = here[0]["number"]
                out.append(b"/*S%d<*/(%b{ %b })/*>S%d*/" % (site, b"".join(asked), inner, site))
        return b"".join([*out, source[at:end]]), k

    text, _ = rendered(0, len(source), 0)
    return text


def write(path: Path, text: bytes) -> None:
    """Write a file if it changes, so that what is compiled stays."""
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def write_tree(all_: list[Mutant], out: dict[int, str]) -> None:
    """Write the copy of the tree, without the changes that are left out."""
    by_file = defaultdict(list)
    for m in all_:
        by_file[m["file"]].append(m)
    listed = output("git", "ls-files", "-co", "--exclude-standard").splitlines()
    for name in listed:
        if not (ROOT / name).is_file() or name.startswith("python/"):
            continue
        text = (ROOT / name).read_bytes()
        if name in by_file:
            text = rewritten(text, [m for m in by_file[name] if m["number"] not in out])
        if name == "src/lib.rs":
            first = text.index(b"\nmod ") if b"\nmod " in text else text.index(b"\npub mod ")
            head = b'#![allow(warnings)]\n#![recursion_limit = "512"]\n'
            text = head + text[:first] + b"\n#[doc(hidden)]\npub mod mutant;\n" + text[first:]
        write(TREE / name, text)
    module = "#![allow(warnings)]\n" + MODULE.replace("COUNT", str(len(all_)))
    write(TREE / "src" / "mutant.rs", module.encode())
    for old in (TREE / "src").rglob("*.rs"):
        name = str(old.relative_to(TREE))
        if name not in listed and name != "src/mutant.rs":
            old.unlink()


def refused(all_: list[Mutant]) -> dict[int, str]:
    """The changes that do not compile, with the message."""
    check = ("cargo", "check", "--locked", "--lib", "--message-format=json")
    bad: dict[int, str] = {}
    for line in output(*check, cwd=TREE, ok=False).splitlines():
        message = json.loads(line).get("message") if line.startswith("{") else None
        if not isinstance(message, dict) or message["level"] != "error":
            continue
        for span in sorted(message["spans"], key=lambda s: not s["is_primary"]):
            while span.get("expansion") and not (TREE / span["file_name"]).exists():
                span = span["expansion"]["span"]
            path, at = TREE / span["file_name"], span["byte_start"]
            if not path.exists():
                continue
            text = path.read_bytes()
            marks = re.finditer(rb"/\*M(\d+)<\*/.*?/\*>M\1\*/", text, re.S)
            hit = [int(m[1]) for m in marks if m.start() <= at < m.end()]
            if not hit:
                # Not the change but the question does not compile: all changes of the place go.
                sites = re.finditer(rb"/\*S(\d+)<\*/", text)
                around = [int(s[1]) for s in sites if s.start() <= at < text.index(b">S%b*" % s[1])]
                place = all_[around[-1]]["place"] if around else None
                hit = [m["number"] for m in all_ if place is not None and m["place"] is place]
            if hit:
                bad |= dict.fromkeys(hit, message["message"])
                break
    return bad


def binaries() -> list[str]:
    """The test programs of the copy."""
    tests = ("--lib", "--test", "rust", "--test", "io", "--test", "growth", "--test", "no_alloc")
    build = ("cargo", "test", "--locked", *tests, "--no-run", "--message-format=json")
    lines = map(json.loads, output(*build, cwd=TREE).splitlines())
    return [line["executable"] for line in lines if line.get("executable")]


def limit() -> None:
    """Keeps a test from all memory, and from the time of others."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    os.nice(10)


def test(program: str, names: list[str], seconds: float, **variables: str) -> bool:
    """Whether tests pass in this time."""
    command = [program, *names, "--exact", "--test-threads=1"]
    environment = ENVIRONMENT | variables | {"RUST_BACKTRACE": "0"}
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "stdin": subprocess.DEVNULL,
    }
    try:
        run = subprocess.run(
            command, cwd=TREE, env=environment, timeout=seconds, preexec_fn=limit, **quiet
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def reach(program: str, name: str) -> tuple[float, str, str, list[int]]:
    """The time of a test, the test, and the changes that it comes by."""
    path = WORK / f"reached-{Path(program).name}-{name.replace(':', '-')}"
    start = time.monotonic()
    if not test(program, [name], 300, MUTANTS_REACHED=str(path)):
        sys.exit(f"mutants.py: {name} fails without any change")
    seconds = time.monotonic() - start
    numbers = [int(k) for k in path.read_text().split()] if path.exists() else []
    path.unlink(missing_ok=True)
    return seconds, program, name, numbers


def verdict(number: int, tests: list[tuple[float, str, str]]) -> str:
    """What the tests that come by a change say of it."""
    if not tests:
        return "unreached"
    quick = defaultdict(list)
    for seconds, program, name in tests:
        if seconds < QUICK:
            quick[program].append(name)
    runs = [(program, names, 10 + 8 * QUICK * len(names)) for program, names in quick.items()]
    slow = sorted(t for t in tests if t[0] >= QUICK)
    runs += [(program, [name], 10 + 8 * seconds) for seconds, program, name in slow]
    passed = all(test(p, names, seconds, MUTANT=str(number)) for p, names, seconds in runs)
    return "missed" if passed else "caught"


def main(files: list[str]) -> None:
    """Judge the changes of files, and print what was missed and the score."""
    if not files:
        sys.exit("mutants.py: name files or folders: make mutants FILE=src/optim/powers.rs")
    if shutil.which("cargo-mutants") is None:
        sys.exit("mutants.py needs cargo-mutants: cargo install --locked cargo-mutants")
    all_ = mutants(files)
    out = {m["number"]: "left out" for m in all_ if is_left_out(m)}
    left = len(out)
    while True:
        write_tree(all_, out)
        bad = refused(all_)
        if not bad:
            break
        out |= bad
    print(f"{len(all_)} changes, {len(out) - left} do not compile, {left} left out", flush=True)
    workers = ThreadPoolExecutor(os.cpu_count())
    jobs = []
    for program in binaries():
        names = output(program, "--list", "--format=terse", cwd=TREE).splitlines()
        jobs += [(program, n.removesuffix(": test")) for n in names if n.endswith(": test")]
    by_number = defaultdict(list)
    for seconds, program, name, numbers in workers.map(lambda job: reach(*job), jobs):
        for number in numbers:
            by_number[number].append((seconds, program, name))
    judged = [m["number"] for m in all_ if m["number"] not in out]
    found = dict(zip(judged, workers.map(lambda k: verdict(k, by_number[k]), judged), strict=True))
    lines = [f"{what}: {all_[k]['name']}" for k, what in found.items() if what != "caught"]
    (WORK / "missed.txt").write_text("".join(line + "\n" for line in lines))
    (WORK / "left-out.txt").write_text("".join(f"{all_[k]['name']}: {w}\n" for k, w in out.items()))
    print(*lines, sep="\n")
    count = Counter(found.values())
    print(
        f"{count['caught']} of {len(found)} changes caught"
        f" ({100 * count['caught'] / max(1, len(found)):.0f} %), {count['missed']} missed,"
        f" {count['unreached']} that no Rust test reaches"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
