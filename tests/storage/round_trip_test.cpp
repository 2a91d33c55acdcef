// Written rows are read back unchanged: by recovery, and by the queries.
#include <catch2/catch.hpp>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

worker_record full_worker() {
  worker_record w;
  w.name = "w2";
  w.public_key = "Z85";
  w.enrolled_labels = {{"os", "linux"}};
  w.enrolled_at = at(1);
  w.labels = {{"gpu", "1"}, {"os", "linux"}};
  w.slots = 8;
  w.level = containment::cgroup_pidns;
  w.containment_limits = {"no ptrace guard"};
  w.version = "0.1.0";
  w.address = "10.0.0.5";
  w.boot_id = "boot";
  w.state_id = "state";
  w.incarnation = incarnation_id::fresh();
  w.joined_at = at(2);
  w.last_heard_at = at(3);
  w.lost = true;
  w.lease = milliseconds{60'000};
  w.drain = drain_state{at(4), "upgrade", at(5)};
  return w;
}

token_record full_token() {
  return {token_id::fresh(), "laptop", role::operator_, scope("team"), "abcd", {"alice", "Alice"}, at(1), at(2), at(3)};
}

cancel_record full_cancel(cancel_target target, std::uint64_t seq) {
  auto c = cancel_of(std::move(target), seq);
  c.cutoff = seq - 3;
  c.up_to_seq = seq - 3;
  c.outcome = cancel_outcome::joined;
  c.status = cancel_status::signalled;
  c.tighter = milliseconds{250};
  c.via_channel = "cli";
  c.via_token = "laptop";
  c.via_token_id = "01a1f869-3df9-7303-8207-dde70bee07dd";
  c.grace = milliseconds{0};
  c.durable = false;
  c.fingerprint = "f00d";
  c.report.operations = 37;
  c.report.workers = {"w1", "w2"};
  c.report.receipts = {4, 18, 2, 9, 1, 0, 0};
  c.report.proofs = {0, 20, 0, 0, 0, 9, 1, 4, 0, 0};
  c.report.fenced_ms = 0.412;
  c.report.settled_ms = 1e9;
  return c;
}

} // namespace

TEST_CASE("every kind of entry comes back from a restart as it was written") {
  temp_directory directory;
  auto live = full_operation(100);
  live.hot.ended_seq = 0;
  live.hot.now = status::cancelling;
  const auto plain = operation(101, "default");
  auto huge = operation(102, "team");
  huge.task.env["BIG"] = std::string(100'000, 'x');
  const std::vector<cancel_record> cancels{full_cancel(target_operation{live.id}, 110),
                                           full_cancel(target_scope{scope("team/a")}, 111),
                                           full_cancel(target_owner{"alice", scope("team")}, 112),
                                           full_cancel(target_owner{"", std::nullopt}, 113),
                                           full_cancel(target_everything{scope("team")}, 114),
                                           cancel_of(target_everything{}, 115)};
  const cutoff_record cutoff{scope("team/a"), 111, cancels[1].id};
  const tombstone_record stone{operation_id::fresh(), cancels[0].id, at(9), "laptop", scope("team")};
  const tombstone_record bare_stone{operation_id::fresh(), cancels[0].id, at(9), "", std::nullopt};
  worker_record bare_worker;
  bare_worker.name = "w1";
  token_record bare_token;
  bare_token.id = token_id::fresh();
  cluster_id cluster;
  {
    store s(directory.path());
    cluster = s.recovered.cluster;
    CHECK(s.recovered.epoch == 1);
    CHECK(s.recovered.next_seq == 1);
    CHECK(s.recovered.next_event == 1);
    std::vector<entry> batch{put_operation{live}, put_operation{plain}, put_operation{huge}};
    for (const auto& c : cancels) batch.push_back(put_cancel{c});
    batch.insert(batch.end(), {put_cutoff{cutoff}, put_cutoff{{scope("gone"), 1, cancels[0].id}},
                               drop_cutoff{scope("gone")}, put_tombstone{stone}, put_tombstone{bare_stone},
                               put_worker{full_worker()}, put_worker{bare_worker}, put_token{full_token()},
                               put_token{bare_token}, put_event{event(7, "worker_joined")}, reserve_seq{5'000}});
    REQUIRE_FALSE(s.write(std::move(batch)));
    auto settled = cancels[5];
    settled.status = cancel_status::settled;
    REQUIRE_FALSE(s.write({put_cancel{settled}, reserve_seq{4'000}}));
  }
  store s(directory.path());
  const auto& r = s.recovered;
  CHECK(r.cluster == cluster);
  CHECK(r.epoch == 2);
  CHECK(r.next_seq == 5'000);
  CHECK(r.next_event == 8);
  REQUIRE(r.live.size() == 3);
  CHECK(r.live[0] == live);
  CHECK(r.live[1] == plain);
  CHECK(r.live[2] == huge);
  CHECK(r.open_cancels == std::vector<cancel_record>(cancels.begin(), cancels.end() - 1));
  CHECK(r.cutoffs == std::vector<recovered_cutoff>{{cutoff, cancels[1].via_token_id}});
  CHECK(r.tombstones.size() == 2);
  CHECK(std::count(r.tombstones.begin(), r.tombstones.end(), stone) == 1);
  CHECK(std::count(r.tombstones.begin(), r.tombstones.end(), bare_stone) == 1);
  REQUIRE(r.workers.size() == 2);
  CHECK(r.workers[0] == bare_worker);
  auto worker = full_worker();
  worker.incarnation = r.workers[1].incarnation;
  CHECK(r.workers[1].incarnation.has_value());
  CHECK(r.workers[1] == worker);
  REQUIRE(r.tokens.size() == 2);
  CHECK(std::count(r.tokens.begin(), r.tokens.end(), bare_token) == 1);
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("how an own end was known comes back, with and without a stop that came behind it") {
  for (const bool is_stopped : {false, true}) {
    CAPTURE(is_stopped);
    temp_directory directory;
    auto record = full_operation(100);
    record.hot.ended_seq = 0;
    record.hot.now = is_stopped ? status::cancelling : status::running;
    record.hot.ended_at.reset();
    record.hot.stop.reset();
    if (is_stopped) record.hot.stop = stop_state{stop_cause::cancel, 105, cancel_id::fresh(), at(4), at(5), {}, {}};
    record.hot.self_evidence = proof::none;
    {
      store s(directory.path());
      REQUIRE_FALSE(s.write({put_operation{record}}));
    }
    store again(directory.path());
    REQUIRE(again.recovered.live.size() == 1);
    CHECK(again.recovered.live[0].hot == record.hot);
  }
}

TEST_CASE("dropped rows are gone after a restart") {
  temp_directory directory;
  const auto token = full_token();
  const auto stone = operation_id::fresh();
  {
    store s(directory.path());
    REQUIRE_FALSE(
        s.write({put_worker{full_worker()}, put_token{token}, put_tombstone{{stone, cancel_id::fresh(), at(1), "", {}}},
                 put_cutoff{{scope("a"), 3, cancel_id::fresh()}}}));
    REQUIRE_FALSE(s.write({drop_worker{"w2"}, drop_token{token.id}, drop_tombstone{stone}, drop_cutoff{scope("a")}}));
  }
  store s(directory.path());
  CHECK(s.recovered.workers.empty());
  CHECK(s.recovered.tokens.empty());
  CHECK(s.recovered.tombstones.empty());
  CHECK(s.recovered.cutoffs.empty());
}

TEST_CASE("an update replaces the whole hot part, and a terminal operation is no longer recovered") {
  temp_directory directory;
  const auto full = full_operation(100);
  auto record = full;
  record.hot = {};
  store s(directory.path());
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  REQUIRE_FALSE(s.write({put_operation{record}}));
  CHECK((*reader)->operation(record.id).value() == record);
  auto live = full.hot;
  live.ended_seq = 0;
  REQUIRE_FALSE(s.write({update_operation{record.id, live}}));
  CHECK((*reader)->operation(record.id).value()->hot == live);
  REQUIRE_FALSE(s.write({update_operation{record.id, operation_hot{}}}));
  CHECK((*reader)->operation(record.id).value() == record);
  REQUIRE_FALSE(s.write({update_operation{record.id, full.hot}}));
  CHECK((*reader)->operation(record.id).value() == full);
  s.log->close();
  CHECK(store(directory.path()).recovered.live.empty());
}

TEST_CASE("a terminal operation cannot be made live again, nor an unknown one changed") {
  temp_directory directory;
  store s(directory.path());
  const auto record = operation(5, "a");
  REQUIRE_FALSE(s.write({put_operation{record}, ended(record, 6)}));
  CHECK(s.write({update_operation{record.id, operation_hot{}}})->code == "store_mismatch");
  CHECK(s.write({ended(record, 7, status::cancelled)})->code == "store_mismatch");
  auto late = ended(record, 6);
  late.hot.late = "\"seen again\"";
  CHECK_FALSE(s.write({late}));
  CHECK(s.write({update_operation{operation_id::fresh(), operation_hot{}}})->code == "store_mismatch");
  CHECK_FALSE(s.write({reserve_seq{9}}));
}

TEST_CASE("an event of a type that this version does not list keeps its text") {
  temp_directory directory;
  store s(directory.path());
  const auto strange = event(3, "of_another_version");
  REQUIRE(strange.type == event_type::unlisted);
  REQUIRE_FALSE(s.write({put_event{strange}, put_event{event(4, "audit")}}));
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  auto& q = **reader;
  CHECK(q.events({}).value() == std::vector{strange, event(4, "audit")});
  event_filter of_text;
  of_text.unlisted_types = {"of_another_version"};
  CHECK(q.events(of_text).value() == std::vector{strange});
  event_filter of_type;
  of_type.types = {event_type::audit};
  CHECK(q.events(of_type).value() == std::vector{event(4, "audit")});
}

TEST_CASE("every listed type comes back from the store as it was") {
  temp_directory directory;
  store s(directory.path());
  std::vector<entry> batch;
  std::vector<event_record> all;
  for (const auto& row : listed_event_types) {
    all.push_back(event(all.size() + 1, std::string(row.text)));
    CHECK(all.back().type == row.type);
    batch.push_back(put_event{all.back()});
  }
  REQUIRE_FALSE(s.write(std::move(batch)));
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  CHECK((*reader)->events({}).value() == all);
}

TEST_CASE("queries give single rows and nothing for unknown ids") {
  temp_directory directory;
  store s(directory.path());
  const auto record = full_operation(100);
  const auto c = full_cancel(target_scope{scope("team")}, 120);
  auto e = event(3, "operation_created");
  e.scope = scope("team");
  e.operation = record.id;
  e.root = record.root;
  e.cancel = c.id;
  e.worker = "w1";
  e.data = "{}";
  REQUIRE_FALSE(s.write({put_operation{record}, put_cancel{c}, put_event{e}, put_event{event(9, "audit")}}));
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  auto& q = **reader;
  CHECK(q.operation(record.id).value() == record);
  CHECK_FALSE(q.operation(operation_id::fresh()).value().has_value());
  CHECK(q.cancel(c.id).value() == c);
  CHECK_FALSE(q.cancel(cancel_id::fresh()).value().has_value());
  CHECK(q.events({}).value() == std::vector{e, event(9, "audit")});
  CHECK(q.oldest_event().value() == 3);
  CHECK(q.newest_event().value() == 9);
}

TEST_CASE("an empty store has no events, and its reader says so") {
  temp_directory directory;
  store s(directory.path());
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  CHECK_FALSE((*reader)->oldest_event().value().has_value());
  CHECK((*reader)->newest_event().value() == 0);
  CHECK((*reader)->operations({}).value().empty());
}

TEST_CASE("only the newest events are kept") {
  temp_directory directory;
  store s(journal::options{.directory = directory.path(), .keep_events = 100});
  std::uint64_t id = 0;
  for (int batch = 0; batch < 40; ++batch) {
    std::vector<entry> entries;
    for (int i = 0; i < 10; ++i) entries.push_back(put_event{event(++id, "audit")});
    REQUIRE_FALSE(s.write(std::move(entries)));
  }
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  const auto kept = (*reader)->events({}).value();
  CHECK(kept.size() >= 100);
  CHECK(kept.size() < 200);
  CHECK(kept.back().id == 400);
  CHECK((*reader)->oldest_event().value() == kept.front().id);
  CHECK(kept.size() == 400 - kept.front().id + 1);
}

TEST_CASE("evidence that comes after an end is kept once, and changes nothing else") {
  temp_directory directory;
  store s(directory.path());
  auto over = operation(5, "a"), other = operation(7, "a");
  auto end = ended(over, 6, status::cancelled);
  REQUIRE_FALSE(s.write({put_operation{over}, end, put_operation{other}}));
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  REQUIRE_FALSE(s.write({put_late{other.id, "\"lives\""}, put_late{operation_id::fresh(), "\"is gone\""},
                         put_late{over.id, "\"first\""}, put_late{over.id, "\"second\""}}));
  REQUIRE_FALSE(s.write({put_late{over.id, "\"third\""}}));
  over.hot = end.hot;
  over.hot.late = "\"first\"";
  CHECK((*reader)->operation(over.id).value() == over);
  CHECK((*reader)->operation(other.id).value() == other);
  REQUIRE_FALSE(s.write({records::drop_operation{over.id}}));
  CHECK_FALSE(s.write({put_late{over.id, "\"too late\""}}));
}
