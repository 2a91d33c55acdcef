// Sessions on a clock that the test sets: hello, welcome, refusal, beats, silence, gaps.
#include "worker/controller_session.hpp"

#include <catch2/catch.hpp>

using namespace quell;
using namespace quell::worker;
using namespace std::chrono_literals;
using phase = controller_session::phase;

namespace {

struct session_fixture {
  controller_session session;
  boot_time now{1'000'000'000'000};
  cluster_id cluster{{1}};
  session_id id;
  std::uint64_t number = 0;
  std::uint8_t sessions = 0;

  explicit session_fixture(membership m = {}) : session(std::move(m)) {}

  void hello() {
    REQUIRE(session.hello_due(now));
    wire::hello h;
    h.proposed.bytes[0] = ++sessions;
    id = h.proposed;
    number = 0;
    session.greet(std::move(h), now);
  }
  std::vector<wire::envelope> sends() {
    std::vector<wire::envelope> all;
    while (const auto* frame = session.next_frame()) {
      all.push_back(*frame);
      session.sent();
    }
    return all;
  }
  std::optional<wire::message> hears(wire::message body, bool numbered = true, std::uint64_t ack = 0) {
    return session.receive({id, numbered ? ++number : 0, ack, std::move(body)}, now);
  }
  void welcome(std::uint64_t epoch = 1) {
    wire::welcome w;
    w.cluster = cluster;
    w.epoch = epoch;
    w.worker = "w1";
    hears(w);
  }
  void joins() {
    hello();
    sends();
    welcome();
    REQUIRE(session.at() == phase::open);
    sends();
  }
  void pass(std::chrono::milliseconds time) {
    now = now + time;
    session.tick(now);
  }
};

wire::message a_start(std::uint64_t seq = 1) {
  wire::start s;
  s.seq = seq;
  return s;
}

} // namespace

TEST_CASE("a hello carries what the worker has seen, and a welcome opens the session", "[session]") {
  session_fixture f({cluster_id{{1}}, 4, 99});
  f.hello();
  const auto frames = f.sends();
  REQUIRE(frames.size() == 1);
  const auto& h = std::get<wire::hello>(frames[0].body);
  CHECK(frames[0].number == 0);
  CHECK(h.epoch_seen == 4);
  CHECK(h.seq_seen == 99);
  f.welcome(5);
  CHECK(f.session.at() == phase::open);
  CHECK(f.session.name() == "w1");
  CHECK(f.session.member().epoch == 5);
  CHECK(f.session.lease_changed());
  CHECK_FALSE(f.session.lease_changed());
}

TEST_CASE("the lease counts from the sending of the hello", "[session]") {
  session_fixture f;
  f.hello();
  const auto sent = f.now;
  f.now = f.now + 2s;
  f.welcome();
  CHECK(f.session.lease().base() == sent);
}

TEST_CASE("what is told before the welcome leaves right after it, in order", "[session]") {
  session_fixture f;
  f.hello();
  f.sends();
  f.session.tell(wire::farewell{"one"}, f.now);
  f.session.tell(wire::farewell{"two"}, f.now);
  CHECK(f.sends().empty());
  f.welcome();
  const auto frames = f.sends();
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].number == 1);
  CHECK(frames[1].number == 2);
  CHECK(frames[1].ack == 1);
}

TEST_CASE("no welcome within three seconds: the next hello, with a growing backoff", "[session]") {
  session_fixture f;
  std::vector<std::chrono::nanoseconds> waits;
  for (int i = 0; i < 7; ++i) {
    f.hello();
    f.pass(2999ms);
    CHECK(f.session.at() == phase::greeting);
    f.pass(1ms);
    CHECK(f.session.at() == phase::apart);
    waits.push_back(f.session.next_tick() - f.now);
    f.now = f.session.next_tick();
  }
  CHECK(waits.front() == 100ms);
  CHECK(waits.back() == 2s);
}

TEST_CASE("three heartbeats without an answer end the session; an answer keeps it", "[session]") {
  session_fixture f;
  f.joins();
  for (int i = 0; i < 5; ++i) {
    f.pass(1s);
    const auto frames = f.sends();
    REQUIRE(frames.size() == 1);
    f.hears(wire::lease_granted{std::get<wire::worker_heartbeat>(frames[0].body).beat, 10s}, false);
    CHECK(f.session.lease_changed());
  }
  CHECK(f.session.at() == phase::open);
  for (int i = 0; i < 4; ++i) f.pass(1s);
  CHECK(f.session.at() == phase::apart);
  CHECK(f.session.why_ended().find("heartbeats unanswered") != std::string::npos);
}

TEST_CASE("an answer to an old or unknown beat moves nothing", "[session]") {
  session_fixture f;
  f.joins();
  f.session.lease_changed();
  f.hears(wire::lease_granted{77, 10s}, false);
  CHECK_FALSE(f.session.lease_changed());
}

TEST_CASE("frames of another session, repeats and gaps are not delivered; a gap asks for a resend", "[session]") {
  session_fixture f;
  f.joins();
  CHECK_FALSE(f.session.receive({session_id{{9}}, 2, 0, a_start()}, f.now));
  CHECK(f.hears(a_start()));
  f.session.applied();
  CHECK_FALSE(f.session.receive({f.id, 2, 0, a_start()}, f.now));
  CHECK_FALSE(f.session.receive({f.id, 5, 0, a_start()}, f.now));
  const auto frames = f.sends();
  REQUIRE(frames.size() == 1); // for the repeat and for the gap
  CHECK(std::get<wire::acknowledge>(frames[0].body).resend);
  CHECK(frames[0].ack == 2);
}

TEST_CASE("only what was applied is acknowledged, and only when nothing else carries it", "[session]") {
  session_fixture f;
  f.joins();
  f.session.acknowledge();
  f.sends();
  f.hears(a_start());
  f.session.acknowledge();
  CHECK(f.sends().empty());
  f.session.applied();
  f.session.acknowledge();
  const auto frames = f.sends();
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].ack == 2);
  f.session.acknowledge();
  CHECK(f.sends().empty());
}

TEST_CASE("the acknowledgement of a start waits 5 ms for a frame that carries it", "[session]") {
  session_fixture f;
  f.joins();
  f.session.acknowledge();
  f.sends();
  f.hears(a_start());
  f.session.applied();
  f.session.acknowledge();
  CHECK(f.session.due() == f.now + 5ms);
  SECTION("a report takes its place") {
    f.session.tell(wire::task_started{}, f.now);
    CHECK(f.session.due() <= f.now);
    const auto frames = f.sends();
    REQUIRE(frames.size() == 1);
    CHECK(std::holds_alternative<wire::task_started>(frames[0].body));
    CHECK(frames[0].ack == 2);
  }
  SECTION("a report that waits itself does not make it wait longer") {
    const auto before = f.now;
    f.now = f.now + 1ms;
    f.session.tell(wire::task_started{}, f.now); // the first one in a while
    f.sends();
    f.hears(wire::results_stored{});
    f.session.applied();
    f.session.acknowledge();
    f.now = f.now + 3ms;
    f.session.tell(wire::task_started{}, f.now);
    CHECK(f.session.due() == before + 6ms);
    CHECK(f.sends().size() == 1);
  }
  SECTION("that of a stop does not wait, and takes it along") {
    f.hears(wire::stop{});
    CHECK(f.session.due() <= f.now);
    f.session.applied();
    f.session.acknowledge();
    const auto frames = f.sends();
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].ack == 3);
  }
  f.session.acknowledge();
  CHECK_FALSE(f.session.due());
}

TEST_CASE("an unacknowledged frame is sent again, at once when the controller saw a gap", "[session]") {
  session_fixture f;
  f.joins();
  f.session.tell(wire::farewell{"x"}, f.now);
  CHECK(f.sends().size() == 1);
  f.hears(wire::acknowledge{true}, false);
  CHECK(f.sends().size() == 1);
  f.hears(wire::acknowledge{false}, false, 1);
  f.hears(wire::acknowledge{true}, false, 1);
  CHECK(f.sends().empty());
  CHECK(f.session.drained());
}

TEST_CASE("an acknowledgement of what was never sent ends the session", "[session]") {
  session_fixture f;
  f.joins();
  f.hears(wire::acknowledge{false}, false, 5);
  CHECK(f.session.at() == phase::apart);
}

TEST_CASE("another cluster is refused for good, a lower epoch until it rises", "[session]") {
  session_fixture other({cluster_id{{2}}, 1, 0});
  other.hello();
  other.welcome();
  CHECK(other.session.at() == phase::apart);
  REQUIRE(other.session.stuck());
  CHECK(other.session.stuck()->message.find("belongs to cluster") != std::string::npos);

  session_fixture lower({cluster_id{{1}}, 7, 0});
  lower.hello();
  lower.welcome(6);
  CHECK(lower.session.at() == phase::apart);
  CHECK_FALSE(lower.session.stuck());
  CHECK(lower.session.why_ended().find("quelld --restored") != std::string::npos);
}

TEST_CASE("a refusal with a time to come back is tried again, one without is final, an unknown key goes on trying",
          "[session]") {
  session_fixture f;
  f.hello();
  f.hears(wire::refuse{"lease_held", "another one holds the lease", 5s}, false);
  CHECK_FALSE(f.session.stuck());
  CHECK(f.session.next_tick() == f.now + 5s);
  f.now = f.session.next_tick();
  f.hello();
  f.hears(wire::refuse{"not_enrolled", "enrol it", 0s}, false);
  CHECK_FALSE(f.session.stuck());
  CHECK(f.session.next_tick() == f.now + 2s);
  f.now = f.session.next_tick();
  f.hello();
  f.hears(wire::refuse{"removed", "this worker was removed", 0s}, false);
  REQUIRE(f.session.stuck());
  CHECK(f.session.stuck()->message.find("removed") != std::string::npos);
}

TEST_CASE("a handover keeps the lease without answers", "[session]") {
  session_fixture f;
  f.joins();
  f.hears(wire::handover{60s});
  f.session.applied();
  f.now = f.now + 50s;
  CHECK_FALSE(f.session.lease().over(f.now));
}

TEST_CASE("a worker that was frozen past its lease ends the session before it reads an old frame", "[session]") {
  session_fixture f;
  f.joins();
  f.pass(60s);
  CHECK(f.session.at() == phase::apart);
  CHECK(f.session.why_ended() == "the lease is over");
  CHECK_FALSE(f.hears(a_start()));
}

TEST_CASE("the highest seq of starts and stops is remembered", "[session]") {
  session_fixture f;
  f.joins();
  f.hears(a_start(41));
  wire::stop s;
  s.seq = 43;
  f.hears(s);
  f.hears(a_start(42));
  CHECK(f.session.member().seq_seen == 43);
}

TEST_CASE("the report that a stop was applied waits a little for the task's end, or for any other frame", "[session]") {
  session_fixture f;
  f.joins();
  f.pass(1s);
  f.sends(); // a heartbeat
  f.session.tell(wire::task_stopping{}, f.now);
  REQUIRE(f.session.due());
  const auto due = *f.session.due();
  CHECK(due > f.now);
  CHECK(due <= f.now + 50ms);
  f.pass(1ms);
  f.session.tell(wire::task_stopping{}, f.now);
  CHECK(*f.session.due() == due);

  SECTION("an end takes the reports along, in order") {
    f.session.tell(wire::task_ended{}, f.now);
    CHECK(*f.session.due() <= f.now);
    const auto frames = f.sends();
    REQUIRE(frames.size() == 3);
    CHECK(std::holds_alternative<wire::task_stopping>(frames[0].body));
    CHECK(std::holds_alternative<wire::task_ended>(frames[2].body));
  }
  SECTION("the report of a task that has a grace does not wait") {
    f.session.tell(wire::task_stopping{{}, 0, {}, wall_time{} + 10s}, f.now);
    CHECK(*f.session.due() <= f.now);
  }
  SECTION("the acknowledgement of the stop does not wait") {
    f.hears(wire::stop{});
    f.session.applied();
    f.session.acknowledge();
    CHECK(*f.session.due() <= f.now);
    CHECK(f.sends().front().ack == 2);
  }
}

TEST_CASE("a start right after another message waits a few milliseconds for company; nothing waits behind it",
          "[session]") {
  session_fixture f;
  f.joins();
  CHECK_FALSE(f.session.due());

  f.pass(1s);
  f.sends(); // a heartbeat
  f.session.tell(wire::task_started{}, f.now);
  REQUIRE(f.session.due());
  CHECK(*f.session.due() <= f.now); // alone: at once
  f.sends();

  f.pass(1ms);
  f.session.tell(wire::task_started{}, f.now);
  REQUIRE(f.session.due());
  const auto first_due = *f.session.due();
  CHECK(first_due > f.now);
  CHECK(first_due <= f.now + 5ms);
  f.pass(1ms);
  f.session.tell(wire::task_started{}, f.now);
  CHECK(*f.session.due() == first_due); // a later start does not prolong the wait

  SECTION("an end takes the starts along, in order") {
    f.session.tell(wire::task_ended{}, f.now);
    CHECK(*f.session.due() <= f.now);
    const auto frames = f.sends();
    REQUIRE(frames.size() == 3);
    CHECK(std::holds_alternative<wire::task_started>(frames[0].body));
    CHECK(std::holds_alternative<wire::task_started>(frames[1].body));
    CHECK(std::holds_alternative<wire::task_ended>(frames[2].body));
    CHECK_FALSE(f.session.due());
  }
  SECTION("the acknowledgement of a stop leaves at once, with the starts") {
    REQUIRE(f.hears(wire::stop{}));
    CHECK(*f.session.due() == first_due); // not applied yet
    f.session.applied();
    f.session.acknowledge();
    CHECK(*f.session.due() <= f.now);
    const auto frames = f.sends();
    REQUIRE_FALSE(frames.empty());
    CHECK(frames[0].ack == f.number);
  }
  SECTION("a heartbeat does not wait") {
    f.pass(1s);
    CHECK(*f.session.due() < first_due);
    const auto frames = f.sends();
    REQUIRE(frames.size() >= 3);
    CHECK(std::holds_alternative<wire::worker_heartbeat>(frames[2].body));
  }
  SECTION("without company they leave when the wait is over") {
    f.now = first_due;
    CHECK(*f.session.due() <= f.now);
    CHECK(f.sends().size() == 2);
  }
}
