"""One search of a model: builds its verifier with SPIN and gcc, runs it, reads its report. A search that was cut short is a failure, never a pass."""
import hashlib
import pathlib
import re
import resource
import shutil
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
MOST_MEGABYTES = 4000


class Outcome(NamedTuple):
    errors: int
    what: str           # the first violation, with the property that its line names
    states: int
    depth: int
    seconds: float
    megabytes: float
    trouble: str        # the reason why the search is inconclusive, or ""
    covered: frozenset  # (line, statement) that were executed
    all_code: frozenset


def fail(text: str) -> None:
    print(f"model: {text}", flush=True)
    sys.exit(1)


def run(command: list[str], folder: pathlib.Path, limit_s: float = 3600) -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit_s)
    if done.returncode != 0 and "pan" not in command[0]:
        fail(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def tools() -> None:
    for tool in ("spin", "gcc"):
        if not shutil.which(tool):
            fail(f"{tool} is not installed; run `make deps` (Debian package {'spin' if tool == 'spin' else 'build-essential'})")


class Search(NamedTuple):
    """One model at one size, with what is wanted of it. Its verifier is a program of its own."""
    model: str
    defines: tuple[str, ...]
    breadth_first: bool = False
    liveness: bool = False
    coverage: bool = False
    hash_bits: int = 22
    most_depth: int = 100_000

    def spin_defines(self) -> list[str]:
        return [f"-D{d}" for d in (*self.defines, *(["d_step=atomic"] if self.coverage else []))]

    def gcc_flags(self) -> list[str]:
        kind = ["-DNFAIR=4"] if self.liveness else ["-DSAFETY"]
        level = "-O0" if self.breadth_first or self.coverage else "-O1"
        return [level, "-DCOLLAPSE", *kind, *(["-DBFS"] if self.breadth_first else [])]

    def flags(self) -> list[str]:
        return [f"-m{self.most_depth}", f"-w{self.hash_bits}", *(["-a", "-f", "-n"] if self.liveness else [])]

    def place(self, work: pathlib.Path) -> pathlib.Path:
        """The folder of its verifier: one for each program, whatever else is wanted of it. Another model has another one."""
        texts = [model.read_text(encoding="utf-8") for model in sorted(HERE.glob("*.pml"))]
        words = "|".join([self.model, *self.spin_defines(), *self.gcc_flags(), *texts])
        return work / f"{pathlib.Path(self.model).stem}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def build(what: Search, work: pathlib.Path) -> None:
    folder = what.place(work)
    folder.mkdir(parents=True, exist_ok=True)
    run(["spin", *what.spin_defines(), "-a", str(HERE / what.model)], folder)
    run(["gcc", "-w", "-DVECTORSZ=2048", f"-DMEMLIM={MOST_MEGABYTES}", *what.gcc_flags(), "-o", "pan", "pan.c"], folder)


def statements(folder: pathlib.Path) -> dict[tuple[str, int], tuple[str, str]]:
    """(process, state) -> (line, statement). SPIN copies inlines; indices are removed so that the copies are equal."""
    found: dict[tuple[str, int], tuple[str, str]] = {}
    process = ""
    for line in run(["./pan", "-d"], folder).splitlines():
        if line.startswith("proctype "):
            process = line.split()[1]
        elif line.startswith("init"):
            process = ":init:"
        state = re.match(r"\s+state\s+(\d+) -\(tr.*\] \S*?:(\d+) => (.*)$", line)
        if state:
            statement = re.sub(r"\[[^]]*\]|\d+|\W", "", state[3])
            found[(process, int(state[1]))] = (state[2], statement)
    return found


def search(what: Search, work: pathlib.Path) -> Outcome:
    """Needs its verifier (build)."""
    folder = what.place(work)
    if not (folder / "pan").exists():
        fail(f"there is no verifier for {what.model} in {folder}; build it with: run_model.py build {work}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    text = run(["./pan", *what.flags()], folder)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def number(pattern: str) -> float:
        match = re.search(pattern, text)
        return float(match[1]) if match else -1

    violation = re.search(r"^pan:\d+: (.*?) \(at depth", text, re.MULTILINE)
    errors = int(number(r"errors: (\d+)"))
    cut_short = ("max search depth too small", "out of memory", "reached -DMEMLIM", "Search not completed", "aborted", "pan: error", "VECTORSZ")
    trouble = next((words for words in cut_short if words in text and not (errors > 0 and words == "Search not completed")), "")
    if errors < 0:
        trouble = trouble or "no report:\n" + text[-2000:]
    covered: set = set()
    everything: set = set()
    if what.coverage:
        known = statements(folder)
        everything = set(known.values())
        unreached: set = set()
        process = ""
        for line in text[text.find("unreached in"):].splitlines():
            header = re.match(r"unreached in (?:proctype (\S+)|init)", line)
            if header:
                process = header[1] or ":init:"
            state = re.match(r"\s+\S+:\d+, state (\d+),", line)
            if state:
                unreached.add((process, int(state[1])))
        covered = {key for place, key in known.items() if place not in unreached}
    broken = violation[1] if violation else ""
    if errors > 0:
        broken = named(folder, what) or broken
    return Outcome(errors, broken, int(number(r"([\d.e+]+) states, stored")), int(number(r"depth reached (\d+)")), seconds,
                   number(r"([\d.]+)\s+total actual memory usage"), trouble, frozenset(covered), frozenset(everything))


def named(folder: pathlib.Path, what: Search) -> str:
    """Replays the counterexample and names the property on the violated line."""
    trail = folder / f"{what.model}.trail"
    if not trail.exists():
        return ""
    text = run(["spin", *what.spin_defines(), "-t", "-k", str(trail), str(HERE / what.model)], folder)
    place = re.search(r"(\S+\.pml):(\d+), Error: assertion violated", text)
    if not place:
        return ""
    line = pathlib.Path(place[1]).read_text(encoding="utf-8").splitlines()[int(place[2]) - 1]
    said = re.search(r"/\* (P .*?) \*/", line)
    return f"{said[1] if said else line.strip()[:80]} ({pathlib.Path(place[1]).name}:{place[2]})"
