"""Every header compiles alone: one translation unit per header that includes nothing else.

Of a header whose own source includes it first (x.cpp, x.hpp) the build has shown that already; it is not compiled again.

usage: check_headers.py ROOT WORK_DIR COMPILER...   (COMPILER may begin with ccache, which makes a second run cheap)
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from source import ROOMS

FLAGS = ["-std=c++20", "-O0", "-w", "-DCAF_ENABLE_TYPE_ID_CHECKS", "-DBOOST_ASIO_NO_DEPRECATED", "-c"]


def compile_alone(root: pathlib.Path, work: pathlib.Path, compiler: list[str], header: str) -> str | None:
    unit = work / (header.replace("/", "_") + ".cpp")
    text = f'#include "{header}"\n'
    if not unit.exists() or unit.read_text() != text:  # an unchanged file keeps its time, which caches look at
        unit.write_text(text)
    command = [*compiler, *FLAGS, f"-I{root}", str(unit), "-o", str(unit.with_suffix(".o"))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return f"{header}:1: does not compile alone\n    why: whoever includes a header must not know what it needs\n{done.stderr[:2000]}"


def is_first_in_its_source(root: pathlib.Path, header: str) -> bool:
    source = (root / header).with_suffix(".cpp")
    if not source.exists():
        return False
    includes = (line.split()[1] for line in source.read_text().splitlines() if line.startswith("#include "))
    return next(includes, None) == f'"{header}"'


def main() -> int:
    root, work, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    work.mkdir(parents=True, exist_ok=True)
    headers = [h.relative_to(root).as_posix() for room in ROOMS for h in sorted((root / room).rglob("*.hpp"))]
    if len(headers) < 20:
        print(f"only {len(headers)} headers found below {root}: is that the root?")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        left = [h for h in headers if not is_first_in_its_source(root, h)]
        failures = [f for f in pool.map(lambda h: compile_alone(root, work, compiler, h), left) if f]
    print("\n".join(failures) if failures else f"{len(headers)} headers compile alone; {len(left)} were compiled to see it")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
