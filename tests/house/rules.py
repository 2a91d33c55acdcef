"""The rules of the house as data: the design of the rooms, one row per rule, each with its reason.

A path pattern is a regular expression that must match a file's path from its beginning.
"""
from typing import NamedTuple

# Room -> rooms whose headers it may include besides its own. Tests and benchmarks may include everything.
ROOM_MAY_INCLUDE = {
    "protocol": (),
    "controller": ("protocol",),
    "storage": ("protocol", "controller"),
    "integrations": ("protocol",),
    "actors": ("protocol", "controller", "integrations"),
    "gateway": ("protocol", "controller", "integrations"),
    "quelld": ("protocol", "controller", "storage", "integrations", "actors", "gateway"),
    "worker": ("protocol", "integrations"),
    "cli": ("protocol",),
    "console": ("protocol",),
}
ROOM_WHY = {
    "protocol": "protocol is what everybody agrees on; it depends on nobody",
    "controller": "the core decides from values alone: whoever stores, speaks or acts depends on it, never the other way",
    "storage": "storage keeps the core's records; rules and actors live elsewhere",
    "integrations": "what speaks somebody else's language must not depend on the state of the cluster",
    "actors": "actors act for the core; who stores and who serves HTTP is handed in as an interface",
    "gateway": "the gateway is a front: it knows the core's values and one header of the actors",
    "quelld": "quelld puts the rooms together; it has no business in the worker or the CLI",
    "worker": "a worker holds no store and no policy; it obeys what comes over the wire",
    "cli": "the CLI is a client of the HTTP API like any other; no back doors",
    "console": "the console is a client of the HTTP API like any other; no back doors",
}
# (room, other room) -> the part of the other room that it may include, where that is not all of it, and why.
ROOM_MAY_INCLUDE_PART = {
    ("worker", "integrations"): (r"integrations/host/", "a worker speaks to no foreign service; it shares the log and private files"),
    ("gateway", "integrations"): (r"integrations/(net|host)/|integrations/ca_file\.hpp|integrations/chat/(chat|web)\.hpp|integrations/chat/webhook/|"
                                  r"integrations/a2a/card\.hpp", "the gateway serves HTTP; models, tools and chats belong to the actors"),
}
# (file pattern, header): single headers allowed across rooms, with the reason beside them.
ROOM_EXCEPTIONS = (
    # The one header through which the gateway hands messages to the actors.
    (r"gateway/", "actors/turns/turn_scheduler.hpp"),
    # The store's readers are defined by the core, its rows by the records.
    (r"storage/", "controller/store_reader.hpp"),
    # `quell doctor` reports the containment that this machine supports for the calling user, without a running worker.
    (r"cli/", "worker/guardian/client.hpp"),
    # `quell talk` is a client of the voice gateway: its frames and its keys are pure code, which the gateway's tests use, too.
    (r"cli/talk/", "integrations/voice/client_side.hpp"),
    (r"cli/talk/", "integrations/voice/words.hpp"),
)


class Library(NamedTuple):
    include: str   # regular expression on the included name
    where: str     # path pattern of the files that may include it
    why: str


LIBRARIES = (
    Library(r"zmq\.", r"protocol/socket|benchmarks/|tests/", "ZeroMQ stays behind protocol/socket.hpp, so that its threads and edge-triggered"
            " descriptors are understood in one place"),
    Library(r"msgpack", r"protocol/codec|benchmarks/", "bytes from peers are read in one place, with limits; everybody else sees structs"),
    Library(r"caf/", r"actors/|quelld/|benchmarks/|tests/actors/", "only the controller's wiring and the actors know the actor"
            " library; the rest is plain C++"),
    Library(r"SQLiteCpp/|sqlite3\.h", r"storage/|benchmarks/|tests/(storage|simulation)/", "one room writes SQL, so that order and durability are decided in one"
            " place"),
    Library(r"boost/(beast|asio)", r"gateway/|cli/http/|worker/relay|integrations/(chat/|voice/|net/tls_files)|benchmarks/|tests/", "HTTP servers live in the gateway and the"
            " worker's relay, the CLI's client in cli/http, long-lived connections to chat services in their connectors; these headers cost 10 s a file"),
    Library(r"expat", r"integrations/chat/xmpp/|tests/", "XML is read in one place, with limits and without entities"),
    Library(r"nlohmann/", r"(?!protocol/|controller/|actors/(agent|turn)/|actors/\w+\.)", "inside the cluster there is no JSON: messages are structs"),
    Library(r"curl/", r"integrations/|worker/tools/|tests/", "outgoing HTTP is made by the integrations and the tool that fetches pages"),
    Library(r"pulse/", r"cli/talk/pulse_", "sound devices stay behind cli/talk/sound_device.hpp"),
    Library(r"re2/", r"worker/tools/|tests/", "patterns of a model are matched in one place"),
    Library(r"CLI/", r"cli/|(quelld|worker)/(command_line|\w+_main)|benchmarks/", "flags are parsed at the edge and handed in as values"),
    Library(r"(catch2/|rapidcheck)", r"tests/", "test libraries stay out of the product"),
    Library(r"benchmark/benchmark", r"benchmarks/", "measuring stays out of the product"),
)


class Words(NamedTuple):
    name: str
    where: str     # path pattern of the files to which the rule applies
    words: str     # regular expression on code without comments and literals
    why: str


CLOCKS = (r"\b(system_clock|steady_clock|high_resolution_clock)::now\b|\bclock_gettime\s*\(|\bgettimeofday\s*\("
          r"|(?<![\w.>:])(std)?(::)?time\s*\(\s*(nullptr|NULL|0)\s*\)")
THREADS = r"\bstd::(thread|jthread|async|mutex|shared_mutex|condition_variable\w*|counting_semaphore|barrier|latch)\b|\bpthread_\w+"
PROCESSES = (r"(?<![\w.>])(?:::)?(?:\bv?fork|\bexec(?:v|ve|vp|vpe|l|lp|le|veat)|\bposix_spawnp?|\bclone3?|\bkillpg?|\bkill|\bwaitpid|\bwaitid"
             r"|\bsystem|\bpopen|\bptrace|\btgkill|\bpidfd_send_signal)\s*\(")
RANDOM = r"\b(getrandom|random_device|mt19937(_64)?|fresh_uuid7)\b|::fresh\s*\("
FILES = r"\bstd::(if|of|f)stream\b|\bfopen\s*\(|(?<![\w.>])::(open|read|write|socket|connect|send|recv)\s*\("
PURE = r"controller/"
# Words that identifiers do not use, because none says what it stands for: `event_data`, `on_event`, `reply_text`, `requested`, `runtime`,
# `deadline` and others do (issue 11, point 7). Prose in comments, texts of the programs, JSON keys and columns may use them.
VAGUE = r"told|heard|said|asked|judge|judged|judgement|mishaps?|wish|wishes|manners|complaints?|books?|desk|swarm|errands?|heart|patience|went"
# Where a vague word stands in a name of the wire, the store or the tests' environment.
NAMED_OUTSIDE = r"(?:last_heard_at|model_asked)\b"

WORDS = (
    Words("no threads in protocol", r"protocol/(?!socket|fresh_id\.cpp)", THREADS, "protocol is pure but for its sockets; callers bring the threads"),
    Words("no clocks in protocol", r"protocol/(?!socket|fresh_id\.cpp|clock_now\.cpp)", CLOCKS, "time comes in as an argument, so that a whole cluster can be"
          " simulated from a seed"),
    # The ballast limits the rate of its checks of the free space; nothing of that is recorded.
    Words("no clocks in storage", r"storage/(?!ballast\.cpp)", CLOCKS, "rows carry the time at which something was decided; the store does not look at a clock"),
    Words("no processes in the controller", r"(controller|gateway|quelld)/", PROCESSES, "the controller never runs users' commands and signals nobody: only a"
          " guardian does"),
    Words("no processes in actors", r"actors/", PROCESSES, "actors decide and tell; processes belong to the worker's guardian"),
    Words("the core reads no clock", PURE, CLOCKS, "the core gets time as an argument, so that a run can be replayed"),
    Words("the core has no threads", PURE, THREADS, "the core belongs to one actor; locks would hide a second owner"),
    Words("the core draws no random numbers", PURE, RANDOM, "ids come in as arguments, so that a run can be replayed"),
    Words("the core does no I/O", PURE, FILES, "effects are values; who performs them is somebody else"),
    Words("no sleeps in tests", r"tests/|benchmarks/", r"\bsleep_(for|until)\b|(?<![\w.>])(::)?(sleep|usleep|nanosleep)\s*\(", "a sleep is a race"
          " that usually wins: wait for the condition, with a deadline that says what was waited for"),
    Words("properties are judged", r"tests/", r"^\s*rc::check\s*\(", "rapidcheck prints that a property is broken and returns false; a test that drops"
          " it cannot fail"),
    Words("plain names", r"", rf"\b(?!{NAMED_OUTSIDE})(?:[a-z0-9]+_)*(?:{VAGUE})(?:_[a-z0-9_]*)?\b|\b(?:call_line|mcp_line|own_end|parts_|write_again)\b",
          "a name says what it holds or does, in the words of the field: an event's data, a reply, a deadline, a runtime"),
    Words("no unfinished marks", r"", r"\b(TODO|FIXME|XXX)\b", "what is not done is not here"),
)

SQL = r'^R?"[^"]*?\b(SELECT\s+.+\s+FROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX)|PRAGMA\s+\w+)\b'
SQL_WHERE = r"(?!storage/|tests/|benchmarks/)"
SQL_WHY = "SQL text lives in storage, beside the schema that it must fit"

MAX_LINES = 400

# A bool parameter of a header states a fact; a flag that changes what a function does is an enum, so that its call can be read. A fact says
# so by its first word, or is one of these words; so is the name of a plain value.
BOOL_FACT = r"(is|was|were|are|has|had|did|may|can|needs|wants|sees|uses|owns?|comes|begins|by|mentions|tasks)_\w+"
BOOL_FACTS = frozenset("ok value otherwise".split())
BOOL_WHY = "`find(path, true)` does not say what it does: write an enum, or, if the parameter states a fact, begin its name with is_, was_, has_, may_ or can_"

INTERFACE_WHY = "an interface has no default bodies: an implementation that forgets a function must not compile"
