// The gate of the core, on the real ledger and fleet: nothing uncommitted leaves, and what a full disk does to starts
// and cancels.
#include <catch2/catch.hpp>
#include <optional>

#include "controller/core.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

/// Records what the core does; the journal answers when the test says so.
class recording_edges final : public core_edges {
 public:
  std::uint64_t tickets = 0;
  std::vector<std::vector<storage::entry>> batches;
  std::vector<wire::message> sent;
  std::vector<std::string> published;
  std::optional<fault> failure;
  bool low = false;

  std::uint64_t submit(std::vector<storage::entry> batch) override {
    batches.push_back(std::move(batch));
    return ++tickets;
  }
  void send(const outgoing_frame& frame) override { sent.push_back(frame.frame.body); }
  void publish(const storage::event_record& event) override { published.push_back(event.type); }
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id&, const std::string&) override {}
  void output_closes(const operation_id&) override {}
  bool storage_low() const override { return low; }
  void ticked(moment) override {}
  void fail_stop(const fault& why) override { failure = why; }

  template <class Message>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(sent.begin(), sent.end(), [](const auto& m) { return std::holds_alternative<Message>(m); }));
  }
};

struct world {
  recording_edges edges;
  moment now{wall_time{1'800'000'000'000ms}, boot_time{1'000'000'000}};
  std::string key = std::string(40, 'a');
  session_id session = session_id::fresh();
  std::unique_ptr<core> c;
  std::uint64_t worker_number = 0;

  world() {
    storage::recovered_state empty;
    empty.cluster = cluster_id::fresh();
    empty.epoch = 1;
    storage::worker_record w;
    w.name = "w1";
    w.public_key = key;
    empty.workers.push_back(w);
    core_settings s;
    s.token_for = [](const operation_id&) { return std::string("qt_test"); };
    c = std::make_unique<core>(s, std::move(empty), edges, now);
    commit();
  }

  void commit() {
    // Releasing may submit more: until the journal has taken everything.
    for (std::uint64_t done = 0; done != edges.tickets;) {
      done = edges.tickets;
      c->committed({done, {}}, now);
      c->end_burst(now);
    }
  }
  void refuse(std::uint64_t ticket) { c->committed({ticket, fault{"disk_full", "no space left on device", {}}}, now); }

  void worker_joins() {
    wire::hello h;
    h.boot_id = "boot";
    h.state_id = "state";
    h.incarnation = incarnation_id::fresh();
    h.proposed = session;
    h.slots = 4;
    h.level = containment::cgroup_pidns;
    c->frame("route", key, {session, 0, 0, h}, now);
    c->end_burst(now);
  }
  std::optional<outcome<created>> create(const std::string& scope = "a") {
    auto answer = std::make_shared<std::optional<outcome<created>>>();
    create_order o;
    o.by.role = role::admin;
    o.scope = *scope_path::parse(scope);
    o.task.command = {"true"};
    c->create(
        o, operation_id::fresh(), [answer](outcome<created> a) { *answer = std::move(a); }, now);
    created_answer = answer;
    c->end_burst(now);
    return *answer;
  }
  /// What became of a slice of old rows: nullopt = it is on its way to the disk.
  std::optional<bool> drop_old(bool insist = false) {
    auto answer = std::make_shared<std::optional<bool>>();
    service::old_things what;
    what.operations = {operation_id::fresh()};
    what.insist = insist;
    c->drop_old(
        what, [answer](bool done) { *answer = done; }, now);
    drop_answer = answer;
    return *answer;
  }
  std::shared_ptr<std::optional<bool>> drop_answer;
  void cancel(const std::string& scope = "a") {
    auto answer = std::make_shared<std::optional<outcome<cancel_view>>>();
    cancel_order o;
    o.by_token.role = role::admin;
    o.target = storage::target_scope{*scope_path::parse(scope)};
    o.received = now.boot;
    c->cancel(
        o, cancel_id::fresh(), [answer](outcome<cancel_view> a) { *answer = std::move(a); }, now);
    cancel_answer = answer;
  }
  std::shared_ptr<std::optional<outcome<created>>> created_answer;
  std::shared_ptr<std::optional<outcome<cancel_view>>> cancel_answer;
};

} // namespace

TEST_CASE("nothing of a start leaves before its commit", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  REQUIRE(w.edges.count<wire::welcome>() == 1);
  CHECK_FALSE(w.create());
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 0);
  w.commit();
  REQUIRE(*w.created_answer);
  CHECK((*w.created_answer)->has_value());
  CHECK(w.edges.count<wire::start>() == 1);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 1);
}

TEST_CASE("a START whose operation is declared dead while it waits for the disk does not leave", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  const std::uint64_t creates = w.edges.tickets;
  std::size_t declared = 0;
  w.c->turn(
      [&](ledger& l, fleet&, moment now) -> std::function<void()> {
        declared = l.declare_worker_dead("w1", "it burnt down", now);
        return [] {};
      },
      w.now);
  w.c->end_turn(w.now);
  REQUIRE(declared == 1);
  REQUIRE(w.edges.tickets > creates);
  w.commit();
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(w.edges.count<wire::results_stored>() == 1); // its number, with nothing to do
  CHECK(w.edges.count<wire::stop>() == 1);
}

TEST_CASE("a welcome waits for the journal, a heartbeat's answer does not", "[core]") {
  world w;
  w.worker_joins();
  CHECK(w.edges.count<wire::welcome>() == 0);
  w.commit();
  CHECK(w.edges.count<wire::welcome>() == 1);
  w.create(); // uncommitted from here on
  w.c->frame("route", w.key, {w.session, 0, 1, wire::heartbeat{1, 1}}, w.now);
  CHECK(w.edges.count<wire::lease_granted>() == 1);
  CHECK(w.edges.count<wire::start>() == 0);
}

TEST_CASE("a cancel follows an uncommitted start on the same channel and is answered when fenced", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.cancel();
  CHECK_FALSE(*w.cancel_answer);
  w.commit();
  REQUIRE(*w.cancel_answer);
  CHECK((**w.cancel_answer)->record.durable);
  CHECK((**w.cancel_answer)->record.report.fenced_ms.has_value());
  REQUIRE(w.edges.count<wire::start>() == 1);
  REQUIRE(w.edges.count<wire::stop>() == 1);
  std::vector<std::string> order;
  for (const auto& m : w.edges.sent) {
    if (std::holds_alternative<wire::start>(m)) order.push_back("start");
    if (std::holds_alternative<wire::stop>(m)) order.push_back("stop");
  }
  CHECK(order == std::vector<std::string>{"start", "stop"});
}

TEST_CASE("a cancel that cannot be written is performed all the same and says so", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);
  w.cancel();
  w.refuse(w.edges.tickets);
  REQUIRE(*w.cancel_answer);
  CHECK_FALSE((**w.cancel_answer)->record.durable);
  CHECK(w.edges.count<wire::stop>() == 1);
  CHECK_FALSE(w.edges.failure);
  // When there is space again, what was refused is written.
  const auto before = w.edges.batches.size();
  w.c->tick(w.now);
  bool rewritten = false;
  for (std::size_t i = before; i < w.edges.batches.size(); ++i)
    for (const auto& e : w.edges.batches[i]) rewritten = rewritten || std::holds_alternative<storage::put_cutoff>(e);
  CHECK(rewritten);
}

TEST_CASE("a start that cannot be written is refused, never sent, and ends the process", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.refuse(w.edges.tickets);
  REQUIRE(*w.created_answer);
  REQUIRE_FALSE((*w.created_answer)->has_value());
  CHECK((*w.created_answer)->error().error.code == "storage_unavailable");
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(w.edges.failure.has_value());
}

TEST_CASE("with little space starts are refused and cancels are not", "[core]") {
  world w;
  w.edges.low = true;
  w.create();
  REQUIRE(*w.created_answer);
  CHECK_FALSE((*w.created_answer)->has_value());
  w.cancel();
  w.commit();
  REQUIRE(*w.cancel_answer);
  CHECK((*w.cancel_answer)->has_value());
}

TEST_CASE("old rows are dropped only while nothing waits for the disk, and never before a cancel") {
  world w;
  w.c->end_burst(w.now); // what was recovered is rolled out
  w.commit();
  REQUIRE(!w.drop_old());
  REQUIRE(std::holds_alternative<storage::drop_operation>(w.edges.batches.back().front()));
  w.commit();
  CHECK(*w.drop_answer == true);

  w.create();
  CHECK(w.drop_old() == false); // the create is on its way
  CHECK(!w.drop_old(true));     // a load without a pause must not keep them for ever
  w.commit();
  CHECK(*w.drop_answer == true);

  w.cancel();
  CHECK(w.drop_old() == false);
  CHECK(w.drop_old(true) == false);
  w.commit();
  CHECK(!w.drop_old());
}
