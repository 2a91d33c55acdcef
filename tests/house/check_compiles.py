"""Nothing compiles inside a test: no test of ours calls a compiler, a bundler or a build tool, but for those listed here. exit 1 if one does.

What a test needs built is built beforehand, by a target of its own: the build knows when it is up to date and how many may run at once.

usage: check_compiles.py ROOT | --self-test
"""
import pathlib
import re
import sys

# File, the tool, and why it may be called there.
ALLOWED = {
    ("tests/house/check_build_graph.py", "ninja"): "asks for the inputs of a target (-t inputs) and builds nothing",
    ("tests/house/check_build_graph.py", "make"): "prints what it would do (-n) and does nothing",
    ("tests/model/spin.py", "gcc"): "the verifiers of the models: a step of the target `verifiers`; the tests run what it has made",
    ("tests/system/test_client_typescript.py", "tsc"): "that the client's declarations fit what is written is the test; nothing is made of it (--noEmit)",
}
TOOLS = r"(?:[\w-]+-linux-gnu-)?(?:g\+\+|gcc|c\+\+|cc|clang(?:\+\+)?|ld|cmake|ctest|ninja|make|meson|esbuild|tsc|rollup|webpack|vite|cargo|rustc|javac)(?:-\d+)?"
STRING = rf"""(?P<quote>["'`])(?:[\w./${{}}-]*/)?(?P<tool>{TOOLS})(?:(?P=quote)|\s+[-./\w])"""
# On a line that starts a program, or looks for one: any string that begins with a tool. Elsewhere such a word can be a text.
STARTS = re.compile(r"\b(?:subprocess|Popen|check_call|check_output|run|which|system|popen|spawn\w*|exec\w*|posix_spawnp?)\b[\w.]*\(|^\s*exec\s")
STARTED = re.compile(STRING)
# In any line: a list of words that begins with a tool, a path that ends with one, a module.
LISTED = re.compile(rf"(?:[\[{{]|^)\s*{STRING}")
PATH = re.compile(rf"""["'`][\w./${{}}-]*/(?P<tool>{TOOLS})["'`]""")
MODULE = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["'](?P<tool>esbuild|typescript|rollup|webpack|vite)["'/]""")
BY_PACKAGE = re.compile(r"""\bnpx\b["'`,\s]+(?:--?[\w-]+["'`,\s]+)*(?P<tool>esbuild|tsc|rollup|webpack|vite)\b""")
# A test of CMake is the command behind add_test; what builds is a target.
ADDED = re.compile(r"add_test\((?P<all>[^()]*(?:\([^()]*\)[^()]*)*)\)", re.DOTALL)
BUILDS = re.compile(r"\$\{(?P<variable>CMAKE_(?:C|CXX)_COMPILER|CMAKE_MAKE_PROGRAM|CMAKE_CTEST_COMMAND)\}|\$\{CMAKE_COMMAND\}\s+--(?P<build>build)")
COMMENT = {".py": "#", ".sh": "#", ".mjs": "//", ".ts": "//", ".cpp": "//", ".hpp": "//"}
TESTS = ("tests", "console/test", "console/test.mjs", "clients")
NOT_OURS = ("node_modules", "__pycache__", "tests/house/check_compiles.py")


def calls(path: str, text: str):
    """Line and tool of each call of a tool that builds."""
    if path.endswith("CMakeLists.txt") or path.endswith(".cmake"):
        for test in ADDED.finditer(text):
            for found in BUILDS.finditer(test["all"]):
                yield text.count("\n", 0, test.start()) + 1, found["variable"] or "cmake --build"
        return
    mark = COMMENT.get(pathlib.PurePath(path).suffix)
    for number, line in enumerate(text.splitlines(), 1):
        if mark is None or line.lstrip().startswith(mark):
            continue
        patterns = (MODULE, BY_PACKAGE) + (() if mark == "//" and path.endswith("pp") else (LISTED, PATH)) + ((STARTED,) if STARTS.search(line) else ())
        for tool in sorted({found["tool"] for pattern in patterns for found in pattern.finditer(line)}):
            yield number, tool


def of_tests(root: pathlib.Path):
    for place in TESTS:
        at = root / place
        for file in [at] if at.is_file() else sorted(p for p in at.rglob("*") if p.is_file()):
            path = file.relative_to(root).as_posix()
            if (file.suffix in COMMENT or file.name == "CMakeLists.txt") and not any(x in path for x in NOT_OURS):
                yield path, file.read_text(errors="replace")


def check(root: pathlib.Path):
    unused = set(ALLOWED)
    for path, text in of_tests(root):
        for line, tool in calls(path, text):
            if (path, tool) in ALLOWED:
                unused.discard((path, tool))
            else:
                yield f"{path}:{line}: a test calls {tool}\n    why: nothing compiles inside a test; let a target of the build make it beforehand, or list it in check_compiles.py with its reason"
    for path, tool in sorted(unused):
        yield f"check_compiles.py: {path} calls {tool} no longer: take it off the list"


BREAKS = [
    ("tests/system/test_x.py", 'subprocess.run(["g++", "-o", "x", "x.cpp"])', "g++"),
    ("tests/system/test_x.py", 'os.system("cmake --build build")', "cmake"),
    ("tests/system/test_x.py", 'run(["/usr/bin/clang++-16", f])', "clang++-16"),
    ("tests/system/test_x.py", 'run(["npx", "--yes", "tsc", "-p", "."])', "tsc"),
    ("tests/system/test_x.py", 'command = [\n    "clang", "-c", f]', "clang"),
    ("tests/system/test_x.py", 'tool = os.path.join(home, "bin/tsc")', "tsc"),
    ("tests/system/test_x.py", 'shutil.which("gcc")', "gcc"),
    ("console/test.mjs", "import { build } from 'esbuild';", "esbuild"),
    ("console/test/x.test.ts", "const ts = require('typescript');", "typescript"),
    ("tests/worker/x.cpp", 'std::system("make all");', "make"),
    ("tests/worker/x.cpp", '::execlp("g++", "g++", file, nullptr);', "g++"),
    ("tests/x.sh", 'exec "ninja" -C build', "ninja"),
    ("tests/x/CMakeLists.txt", "add_test(NAME x COMMAND ${CMAKE_CXX_COMPILER} x.cpp)", "CMAKE_CXX_COMPILER"),
    ("tests/x/CMakeLists.txt", "add_test(NAME x\n  COMMAND ${CMAKE_COMMAND} --build . --target y)", "cmake --build"),
]
KEEPS = [
    ("tests/system/test_x.py", '# run(["g++", "x.cpp"]) would compile'),
    ("tests/system/test_x.py", 'c.start("true", title="make it")  # cmake\nx = "ccache"; y = run("makes sense"); z = run("remake")'),
    ("tests/system/test_x.py", 'pytest.skip(f"{path} is not built (ninja mutants)")'),
    ("tests/system/test_x.py", '"""`make soak` runs it."""\nmcp.call("quell_run", command="make test")'),
    ("tests/cli/x.cpp", 'CHECK(parsed({"run", "--", "cc", "-c"}).command == strings{"cc", "-c"}); CHECK(text == "run make test");'),
    ("console/test/x.test.ts", "import { x } from '../src/typescript_x';"),
    ("tests/x/CMakeLists.txt", "add_custom_command(OUTPUT x COMMAND ${CMAKE_CXX_COMPILER} x.cpp)\nadd_test(NAME x COMMAND ${CMAKE_COMMAND} -E echo x)"),
]


def self_test():
    for path, text, tool in BREAKS:
        found = [t for _, t in calls(path, text)]
        if found != [tool]:
            yield f"{path}: {text!r} should be reported for {tool!r}; found {found}"
    for path, text in KEEPS:
        found = list(calls(path, text))
        if found:
            yield f"{path}: {text!r} should not be reported; found {found}"


def main() -> int:
    wrong = list(self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1])))
    print("\n".join(wrong) or "nothing compiles inside a test")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
