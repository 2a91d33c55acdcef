// The real quell-worker and its guardian against a controller that the test plays: run, output, stop, reconnect,
// results, leave.
#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/worker/fake_controller.hpp"

using namespace quell;
using namespace quell::test;
using namespace std::chrono_literals;

namespace {

struct cluster {
  scratch_directory state;
  fake_controller controller;
  std::unique_ptr<worker_process> worker;
  std::uint64_t seq = 0;

  /// With a short heartbeat a lost session is noticed soon; a long one tolerates a busy machine.
  explicit cluster(milliseconds heartbeat = 1000ms, milliseconds lease = 10s) {
    controller.lease(lease, heartbeat);
    start_worker();
  }
  void start_worker() {
    std::vector<std::string> arguments{"--join", controller.join_text(), "--state", state.path, "--slots",
                                       "8",      "--work-dir",           "/tmp"};
    const auto before = hellos();
    worker = std::make_unique<worker_process>(arguments);
    const bool came = controller.until([&] { return controller.hellos.size() > before; });
    INFO(worker->log());
    REQUIRE(came);
  }
  std::size_t hellos() {
    return controller.see([&] { return controller.hellos.size(); });
  }
  wire::start order(std::vector<std::string> command) {
    wire::start s;
    s.operation = s.root = operation_id::fresh();
    s.seq = s.as_of = ++seq;
    s.scope = *scope_path::parse("team/build");
    s.spec.command = std::move(command);
    s.token = "secret";
    return s;
  }
  operation_id send(wire::start s) {
    const auto id = s.operation;
    controller.tell(std::move(s));
    return id;
  }
  operation_id run(std::vector<std::string> command) { return send(order(std::move(command))); }
  void stop(const std::string& scope, std::optional<milliseconds> grace = std::nullopt) {
    wire::stop s;
    s.seq = s.cutoff = ++seq;
    s.cancel = cancel_id::fresh();
    s.scope = *scope_path::parse(scope);
    s.grace = grace;
    controller.tell(s);
  }
  /// A stream is complete at its end mark, or when it is as long as the task's result says: no mark follows then.
  std::string output(const operation_id& id, stream which = stream::out) {
    const bool ended = controller.until([&] {
      if (controller.output_ended[{id, which}]) return true;
      const auto* end = controller.find<wire::task_ended>(id);
      if (!end) return false;
      const auto due = which == stream::err ? end->output.stderr_bytes : end->output.stdout_bytes;
      return controller.output[{id, which}].size() >= due;
    });
    INFO(worker->log());
    REQUIRE(ended);
    return controller.see([&] { return controller.output[{id, which}]; });
  }
  bool runs(const operation_id& id) {
    return controller.until([&] { return controller.find<wire::task_started>(id) != nullptr; });
  }
};

} // namespace

TEST_CASE("a task runs, its output arrives on both streams and its end is told with proof", "[program]") {
  cluster c;
  const auto id = c.run({"sh", "-c", "echo out; echo err >&2; exit 3"});
  const auto end = c.controller.ended(id);
  INFO(end.error_message);
  CHECK(end.exit == exit_state{3, std::nullopt});
  CHECK(end.stop_seq == 0);
  CHECK_FALSE(end.how);
  CHECK(end.error_code.empty());
  CHECK(end.output == output_counts{4, 4, 0});
  CHECK(c.output(id) == "out\n");
  CHECK(c.output(id, stream::err) == "err\n");
  CHECK(c.runs(id));
}

TEST_CASE("a stopped sleep is terminated, and the stop is acknowledged before the report", "[program]") {
  cluster c;
  const auto id = c.run({"sleep", "1000"});
  REQUIRE(c.runs(id));
  c.stop("team", 600s);
  const auto end = c.controller.ended(id);
  CHECK(end.stop_seq == c.seq);
  CHECK(end.how == receipt::terminated);
  CHECK(end.exit == exit_state{std::nullopt, "TERM"});
  CHECK(end.evidence != proof::never_ran);
  // Frame 1 is the welcome, 2 the start, 3 the stop.
  const auto order = c.controller.see([&] { return c.controller.order; });
  const auto acknowledged = std::find(order.begin(), order.end(), "ack:3");
  const auto stopping = std::find(order.begin(), order.end(), "stopping");
  REQUIRE(acknowledged != order.end());
  CHECK(acknowledged < stopping);
}

TEST_CASE("a task that ignores the signal is killed after the grace", "[program]") {
  cluster c;
  const auto id = c.run({"sh", "-c", "trap '' TERM; echo ready; while :; do read x < /dev/zero; done"});
  REQUIRE(c.controller.until([&] { return c.controller.output[{id, stream::out}] == "ready\n"; }));
  c.stop("team/build", 200ms);
  const auto end = c.controller.ended(id);
  CHECK(end.how == receipt::killed);
  CHECK(end.exit == exit_state{std::nullopt, "KILL"});
}

TEST_CASE("a start behind its stop never runs", "[program]") {
  cluster c;
  auto late = c.order({"touch", c.state.path + "/escaped"});
  c.stop("team");
  c.send(late);
  const auto end = c.controller.ended(late.operation);
  CHECK(end.how == receipt::never_started);
  CHECK(end.evidence == proof::never_ran);
  CHECK_FALSE(std::filesystem::exists(c.state.path + "/escaped"));
}

TEST_CASE("a command that is not there and a directory that is not there are told apart", "[program]") {
  cluster c;
  const auto missing = c.controller.ended(c.run({"no-such-command-here"}));
  CHECK(missing.error_code == "start_failed");
  CHECK(missing.exit == exit_state{127, std::nullopt});
  CHECK(missing.error_message.find("no-such-command-here") != std::string::npos);
  auto order = c.order({"true"});
  order.spec.cwd = "/no/such/directory";
  const auto nowhere = c.controller.ended(c.send(order));
  CHECK(nowhere.error_code == "start_failed");
  CHECK(nowhere.exit == exit_state{126, std::nullopt});
  CHECK(nowhere.error_message.find("/no/such/directory") != std::string::npos);
}

TEST_CASE("a task finds its environment", "[program]") {
  cluster c;
  auto order = c.order({"env"});
  order.spec.env["FLAVOUR"] = "plum";
  const auto id = c.send(order);
  c.controller.ended(id);
  const auto text = "\n" + c.output(id);
  for (const std::string& line :
       {std::string("FLAVOUR=plum"), "QUELL_OPERATION=" + id.text(), "QUELL_ROOT=" + id.text(),
        std::string("QUELL_SCOPE=team/build"), std::string("QUELL_WORKER=w1"), std::string("QUELL_GRACE_MS=2000"),
        std::string("QUELL_TOKEN=secret")}) {
    INFO(line);
    CHECK(text.find("\n" + line + "\n") != std::string::npos);
  }
  CHECK(text.find("\nQUELL_URL=http://127.0.0.1:") != std::string::npos);
  CHECK(text.find("QUELL_DEADLINE") == std::string::npos);
}

TEST_CASE("input reaches a task and its end closes stdin", "[program]") {
  cluster c;
  auto order = c.order({"cat"});
  order.spec.stdin_open = true;
  const auto id = c.send(order);
  REQUIRE(c.runs(id));
  REQUIRE(c.controller.until([&] { return c.controller.bulk_links > 0; }));
  c.controller.tell_bulk(wire::input{id, 0, "hello ", false});
  c.controller.tell_bulk(wire::input{id, 0, "hello ", false}); // a repeat
  c.controller.tell_bulk(wire::input{id, 6, "world", true});
  CHECK(c.controller.ended(id).exit == exit_state{0, std::nullopt});
  CHECK(c.output(id) == "hello world");
}

TEST_CASE("a terminal is a terminal, and closing it is the first signal", "[program]") {
  cluster c;
  auto order = c.order({"sh", "-c", "trap 'exit 7' HUP; trap '' TERM; tty; while :; do sleep 0.05; done"});
  order.spec.pty = true;
  const auto id = c.send(order);
  REQUIRE(c.controller.until([&] { return c.controller.output[{id, stream::out}].find("/dev/pts/") == 0; }));
  c.stop("team", 600s);
  const auto end = c.controller.ended(id);
  CHECK(end.how == receipt::cooperative);
  CHECK(end.exit == exit_state{7, std::nullopt});
}

TEST_CASE("after a lost session the worker comes back, its task lives, its results come again until they are stored",
          "[program]") {
  cluster c(200ms);
  c.controller.storing_results(false);
  const auto sleeper = c.run({"sleep", "1000"});
  const auto quick = c.run({"true"});
  REQUIRE(c.runs(sleeper));
  c.controller.ended(quick);
  const auto hellos = c.hellos();
  c.controller.answering_heartbeats(false);
  REQUIRE(c.controller.until([&] { return c.controller.hellos.size() > hellos; }));
  c.controller.answering_heartbeats(true);
  const auto [first, again] =
      c.controller.see([&] { return std::pair(c.controller.hellos.front(), c.controller.hellos.back()); });
  REQUIRE(again.results.size() == 1);
  CHECK(again.results[0].operation == quick);
  REQUIRE(again.inventory.size() == 1);
  CHECK(again.inventory[0].operation == sleeper);
  CHECK(again.inventory[0].phase == wire::task_phase::running);
  CHECK(again.incarnation == first.incarnation);
  c.controller.storing_results(true);
  c.stop("team", 0ms);
  CHECK(c.controller.ended(sleeper).how == receipt::killed);
  c.controller.tell(wire::results_stored{{quick}}); // else the worker correctly waits for it before it leaves
}

TEST_CASE("frames of another session are dropped unread", "[program]") {
  cluster c;
  auto ghost = c.order({"touch", c.state.path + "/ghost"});
  c.controller.tell_raw({session_id::fresh(), 2, 0, ghost});
  const auto id = c.run({"true"});
  c.controller.ended(id);
  CHECK(c.controller.see([&] { return c.controller.count<wire::task_ended>(ghost.operation); }) == 0);
  CHECK_FALSE(std::filesystem::exists(c.state.path + "/ghost"));
}

TEST_CASE("when the lease runs out the task is dead, and says so at the next hello", "[program]") {
  cluster c(200ms, 8000ms);
  const auto id = c.run({"sleep", "1000"});
  REQUIRE(c.runs(id));
  c.controller.welcoming(false);
  c.controller.answering_heartbeats(false);
  const auto reported = [&] {
    return std::any_of(c.controller.hellos.begin(), c.controller.hellos.end(),
                       [&](const auto& h) { return !h.results.empty(); });
  };
  REQUIRE(c.controller.until(reported));
  c.controller.welcoming(true);
  c.controller.answering_heartbeats(true);
  const auto end = c.controller.ended(id);
  CHECK(end.error_code == "worker_lost");
  CHECK(end.error_message.find("the lease ran out") == 0);
  CHECK(end.stop_seq == 0);
}

TEST_CASE("SIGTERM stops the tasks, tells their ends, says farewell and exits with 0", "[program]") {
  cluster c;
  const auto id = c.run({"sleep", "1000"});
  REQUIRE(c.runs(id));
  c.worker->signal(SIGTERM);
  CHECK(c.worker->wait() == 0);
  const auto end = c.controller.ended(id);
  CHECK(end.error_code == "worker_lost");
  CHECK(c.controller.until([&] { return c.controller.farewells == 1; }));
}

TEST_CASE("a second worker on the same state directory exits with 1 and names the first", "[program]") {
  cluster c;
  worker_process second({"--join", c.controller.join_text(), "--state", c.state.path});
  CHECK(second.wait() == 1);
  CHECK(second.log().find("pid " + std::to_string(c.worker->pid())) != std::string::npos);
}

TEST_CASE("a worker refuses a lower epoch than it has seen", "[program]") {
  scratch_directory state;
  fake_controller controller;
  controller.epoch(7);
  const std::vector<std::string> arguments{"--join", controller.join_text(), "--state", state.path};
  {
    worker_process first(arguments);
    REQUIRE(controller.until([&] { return controller.order.size() > 1; })); // it sends heartbeats, so it was welcomed
  }
  controller.epoch(6);
  const auto before = controller.see([&] { return controller.hellos.size(); });
  worker_process second(arguments);
  REQUIRE(controller.until([&] { return controller.hellos.size() >= before + 2; }));
  CHECK(controller.see([&] { return controller.hellos.back().epoch_seen; }) == 7);
  CHECK(second.log().find("epoch 6 is below 7") != std::string::npos);
}

TEST_CASE("the guardian's death ends its tasks as lost, and the worker goes on with a new one", "[program]") {
  cluster c;
  const auto id = c.run({"sleep", "1000"});
  REQUIRE(c.runs(id));
  pid_t guardian = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(c.worker->pid()) + "/task")) {
    std::ifstream children(entry.path() / "children");
    for (pid_t pid; children >> pid;) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
      if (name.rfind("quell-guardian", 0) == 0) guardian = pid;
    }
  }
  REQUIRE(guardian > 0);
  ::kill(guardian, SIGKILL);
  const auto end = c.controller.ended(id);
  CHECK(end.error_code == "worker_lost");
  REQUIRE(c.controller.until([&] { return c.controller.hellos.size() >= 2; }));
  const auto next = c.run({"echo", "alive"});
  CHECK(c.controller.ended(next).exit == exit_state{0, std::nullopt});
}

TEST_CASE("a connection to the relay travels to the controller and back", "[program]") {
  cluster c;
  const auto id = c.run({"sh", "-c", "echo $QUELL_URL; exec sleep 1000"});
  std::string url;
  REQUIRE(c.controller.until([&] {
    url = c.controller.output[{id, stream::out}];
    return url.find('\n') != std::string::npos;
  }));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n";
  REQUIRE(::send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()));
  std::uint64_t connection = 0;
  REQUIRE(c.controller.until([&] {
    for (const auto& m : c.controller.bulk)
      if (const auto* d = std::get_if<wire::relay_data>(&m); d && d->bytes == request) connection = d->connection;
    return connection != 0;
  }));
  c.controller.tell_bulk(wire::relay_data{connection, "200"});
  c.controller.tell_bulk(wire::relay_close{connection, false});
  std::string answer(16, '\0');
  CHECK(::recv(fd, answer.data(), 3, MSG_WAITALL) == 3);
  CHECK(answer.substr(0, 3) == "200");
  CHECK(::recv(fd, answer.data(), 1, 0) == 0);
  ::close(fd);
}

TEST_CASE("ten megabytes arrive whole although the session is lost on the way", "[program]") {
  cluster c(200ms);
  const auto id = c.run({"sh", "-c", "seq 1 1400000"});
  REQUIRE(c.controller.until([&] { return c.controller.output[{id, stream::out}].size() > 100'000; }));
  const auto hellos = c.hellos();
  c.controller.answering_heartbeats(false);
  REQUIRE(c.controller.until([&] { return c.controller.hellos.size() > hellos; }));
  c.controller.answering_heartbeats(true);
  const auto end = c.controller.ended(id);
  const auto text = c.output(id);
  CHECK(end.output.dropped_bytes == 0);
  CHECK(text.size() == end.output.stdout_bytes);
  std::string wanted;
  for (int i = 1; i <= 1400000; ++i) wanted += std::to_string(i) + "\n";
  CHECK((text == wanted));
}

TEST_CASE("a task whose output nobody stores is not blocked for ever, and what is dropped is said", "[program]") {
  cluster c;
  c.controller.see([&] { return c.controller.acknowledging_output = false; });
  const auto id = c.run({"head", "-c", "5000000", "/dev/zero"});
  const auto end = c.controller.ended(id);
  CHECK(end.exit == exit_state{0, std::nullopt});
  CHECK(end.output.stdout_bytes == 5'000'000);
  CHECK(end.output.dropped_bytes > 3'000'000);
  CHECK(end.output.dropped_bytes < 4'500'000);
}

TEST_CASE("a thousand starts racing a stop: each ends once, none lives on, and the stop is not held up", "[program]") {
  cluster c;
  std::vector<operation_id> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(c.run({"sleep", "1000"}));
    if (i == 500) c.stop("team", 100ms);
  }
  c.stop("team", 100ms);
  for (const auto& id : all) {
    const auto end = c.controller.ended(id);
    REQUIRE(end.stop_seq != 0);
  }
  for (const auto& id : all) CHECK(c.controller.see([&] { return c.controller.count<wire::task_ended>(id); }) == 1);
}
