"""For each rule, a file that breaks it is reported and a file that keeps it is not."""
import sys

from check_rules import check, mutual_folders, undrawn_commands
from source import parse

BREAKS = [
    ("tests/controller/x.cpp", 'rc::check([] {});', "properties are judged"),
    ("protocol/x.cpp", '#include <zmq.hpp>', "zmq.hpp"),
    ("worker/x.cpp", '#include <zmq.hpp>', "zmq.hpp"),
    ("protocol/x.cpp", '#include "storage/journal.hpp"', "protocol may include only"),
    ("protocol/x.cpp", '#include <caf/all.hpp>', "caf/all.hpp"),
    ("protocol/x.cpp", '#include <sqlite3.h>', "sqlite3.h"),
    ("protocol/x.cpp", '#include <nlohmann/json.hpp>', "nlohmann"),
    ("controller/ledger/x.cpp", '#include <nlohmann/json.hpp>', "nlohmann"),
    ("protocol/x.cpp", 'std::jthread t;', "no threads in protocol"),
    ("protocol/x.cpp", 'auto n = std::chrono::steady_clock::now();', "no clocks in protocol"),
    ("storage/x.cpp", '#include <caf/all.hpp>', "caf/all.hpp"),
    ("storage/x.cpp", '#include "actors/turns/turn_scheduler.hpp"', "storage may include only"),
    ("controller/x.cpp", '#include "storage/journal.hpp"', "controller may include only"),
    ("controller/x.cpp", '#include <caf/all.hpp>', "caf/all.hpp"),
    ("actors/x.cpp", '#include "gateway/server.hpp"', "actors may include only"),
    ("gateway/x.cpp", '#include "storage/journal.hpp"', "gateway may include only"),
    ("gateway/x.cpp", '#include "actors/turns/registry.hpp"', "gateway may include only"),
    ("storage/x.cpp", 'clock_gettime(CLOCK_REALTIME, &t);', "no clocks in storage"),
    ("controller/x.cpp", 'int r = ::kill(pid, 9);', "no processes in the controller"),
    ("controller/x.cpp", 'if (fork() == 0) {}', "no processes in the controller"),
    ("controller/x.cpp", 'execve(a, b, c);', "no processes in the controller"),
    ("controller/x.cpp", 'std::system(command);', "no processes in the controller"),
    ("controller/x.cpp", 'run("SELECT id FROM operations");', "no SQL text"),
    ("controller/x.cpp", '#include <msgpack.hpp>', "msgpack"),
    ("controller/ledger/x.cpp", 'auto id = operation_id::fresh();', "draws no random numbers"),
    ("controller/fleet/x.cpp", 'auto n = std::chrono::system_clock::now();', "the core reads no clock"),
    ("controller/ledger.hpp", '#pragma once\nstd::mutex m;', "the core has no threads"),
    ("worker/x.cpp", '#include "storage/journal.hpp"', "worker may include only"),
    ("worker/x.cpp", '#include "controller/fleet.hpp"', "worker may include only"),
    ("worker/x.cpp", '#include <boost/beast/http.hpp>', "boost/beast"),
    ("worker/x.cpp", '#include "integrations/models/model.hpp"', "worker may include only"),
    ("gateway/x.cpp", '#include "integrations/mcp/mcp.hpp"', "gateway may include only"),
    ("cli/x.cpp", '#include "controller/fleet.hpp"', "cli may include only"),
    ("cli/x.cpp", '#include "worker/task_table.hpp"', "cli may include only"),
    ("tests/worker/x.cpp", 'std::this_thread::sleep' '_for(1s);', "no sleeps in tests"),
    ("worker/x.cpp", 'int a; // TO' 'DO later', "no unfinished marks"),
    ("actors/x.cpp", 'std::string told;', "plain names: told"),
    ("gateway/x.cpp", 'auto x = e.heard_at_;', "plain names: heard_at_"),
    ("tests/worker/x.cpp", 'const int most_told = 1;', "plain names: most_told"),
    ("cli/x.cpp", 'constexpr int stop_patience{5};', "plain names: stop_patience"),
    ("controller/x.cpp", 'struct books {};', "plain names: books"),
    ("actors/x.hpp", '#pragma once\nstruct call_line;', "plain names: call_line"),
    ("storage/x.hpp", '#pragma once\nvoid write(const std::string& text, bool quietly);', "a flag as a bool parameter: quietly"),
    ("cli/x.hpp", '#pragma once\nvoid start(\n    bool gently = false, int more = 0);', "a flag as a bool parameter: gently"),
    ("gateway/x.hpp", '#pragma once\nstruct x { virtual int size(set of = {}) { return 0; } };', "a virtual function with a body: virtual int size"),
    ("storage/x.hpp", '#pragma once\nstruct x { virtual void run(\n    int how) const; };', "a virtual function with a body: virtual void run"),
    ("integrations/x.hpp", '#pragma once\nvoid answer(const std::string& text, bool for_all);', "a flag as a bool parameter: for_all"),
    ("worker/x.hpp", 'int a;', "no #pragma once"),
    ("worker/x.cpp", "\n" * 401, "lines"),
]
KEEPS = [
    ("protocol/socket_x.cpp", '#include <zmq.hpp>\nstd::mutex m;'),
    ("protocol/fresh_id.cpp", 'std::mutex m; auto n = std::chrono::system_clock::now();'),
    ("protocol/x.cpp", 'std::chrono::steady_clock::time_point t;  // std::thread, clock_gettime('),
    ("storage/x.cpp", '#include <SQLiteCpp/Database.h>\nrun("SELECT id FROM operations");'),
    ("controller/x.cpp", 'record.kill(now); fleet->system(1); const char* s = "kill(1)"; next_kill(a); task_kill (b);'),
    ("controller/x.cpp", "auto n = 1'000'000; say(\"select one of them from the list\");"),
    ("gateway/x.cpp", '#include <boost/beast/http.hpp>'),
    ("quelld/x.cpp", '#include "storage/journal.hpp"\n#include <caf/all.hpp>'),
    ("worker/x.cpp", '::kill(pid, 9); auto s = R"sql(SELECT)sql";'),
    ("cli/doctor.cpp", '#include "worker/guardian/client.hpp"'),
    ("cli/x.cpp", '// It was told and asked, and said so.\nauto t = row["told"]; const char* key = "heard";'),
    ("controller/x.cpp", 'auto at = record.last_heard_at; patient p; int bookmark = 0, wished = 1, asks = 2;'),
    ("storage/x.hpp", '#pragma once\nbool quietly = true; void ended(bool was_cut, bool ok); std::function<void(bool)> f; void take(flags, bool(int));'),
    ("storage/x.cpp", 'static void write(const std::string& text, bool quietly) {}'),
    ("storage/x.hpp", '#pragma once\nstruct x { virtual ~x() = default; virtual void a(set of = {}, std::function<void()> f = {}) = 0; };'),
    ("tests/x.cpp", '#include "tests/patience.hpp"\nint unsaid = QUELL_TEST_PATIENCE;'),
]


def main() -> int:
    wrong = []
    for path, text, expected in BREAKS:
        said = list(check(parse(path, "// What it does.\n" + text + "\n"), None))
        if not any(expected in s and "why: " in s and s.startswith(path + ":") for s in said):
            wrong.append(f"{path}: {text.strip()[:60]!r} should be reported with {expected!r}; said {said}")
    for path, text in KEEPS:
        said = list(check(parse(path, "// What it does.\n" + text + "\n"), None))
        if said:
            wrong.append(f"{path}: {text!r} should be left alone; said {said}")
    if not list(check(parse("worker/x.cpp", "int a;\n"), None)):
        wrong.append("a file without a first comment should be reported")
    below = parse("gateway/x.cpp", '// One.\n#include "gateway/deep/y.hpp"\n')
    if list(mutual_folders([below])):
        wrong.append("a folder that includes the one below it should be left alone")
    if not list(mutual_folders([below, parse("gateway/deep/y.cpp", '// Two.\n#include "gateway/z.hpp"\n')])):
        wrong.append("two folders that include each other should be reported")
    variant = parse("controller/commands/command.hpp", "using command_variant = std::variant<commands::one,\n    commands::other>;\n")
    draws = [parse("tests/controller/commands/command_player.hpp", text) for text in ("give(commands::one{}); // commands::other", "commands::other what;")]
    if [list(undrawn_commands(variant, draws)), len(list(undrawn_commands(variant, draws[:1])))] != [[], 1]:
        wrong.append("a command that no test draws should be reported, and no other")
    print("\n".join(wrong) if wrong else f"{len(BREAKS)} broken and {len(KEEPS)} good examples judged rightly")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
