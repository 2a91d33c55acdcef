// A store in a temporary directory, records that are easy to make, and waiting for commits.
#include "tests/storage/fixture.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>

#include "tests/patience.hpp"

namespace quell::storage::test {

temp_directory::temp_directory() : temp_directory(std::filesystem::temp_directory_path().string()) {}

temp_directory::temp_directory(const std::string& where) {
  const auto base =
      std::filesystem::is_directory(where) ? std::filesystem::path(where) : std::filesystem::temp_directory_path();
  auto pattern = (base / "quell-storage-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

temp_directory::~temp_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

struct notices::state {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<journal::commit_notice> all;
};

notices::notices(journal& of) : state_(std::make_shared<state>()) {
  of.on_commit([state = state_](const journal::commit_notice& notice) {
    const std::lock_guard guard(state->mutex);
    state->all.push_back(notice);
    state->came.notify_all();
  });
}

std::optional<fault> notices::outcome(std::uint64_t ticket) {
  std::unique_lock guard(state_->mutex);
  const auto known = [&] { return !state_->all.empty() && state_->all.back().ticket >= ticket; };
  if (!state_->came.wait_for(guard, testing::patient(std::chrono::seconds(60)), known))
    throw std::runtime_error("waited in vain for the commit of ticket " + std::to_string(ticket));
  for (const auto& notice : state_->all)
    if (notice.ticket == ticket) return notice.failure;
  return std::nullopt; // covered by a later one
}

std::vector<journal::commit_notice> notices::all() {
  const std::lock_guard guard(state_->mutex);
  return state_->all;
}

namespace {
std::unique_ptr<journal> opened(journal::options o) {
  auto log = journal::open(std::move(o));
  if (!log) throw std::runtime_error("the journal does not open: " + log.error().code + ": " + log.error().detail);
  return std::move(*log);
}
} // namespace

store::store(journal::options o) : log(opened(std::move(o))), log_notices(*log), recovered(log->take_recovered()) {
  if (!recovered.more_live) return;
  for (auto some = recovered.more_live(); !some.empty(); some = recovered.more_live())
    recovered.live.insert(recovered.live.end(), some.begin(), some.end());
  recovered.more_live = nullptr;
}

scope_path scope(const std::string& text) {
  auto parsed = scope_path::parse(text);
  if (!parsed) throw std::runtime_error(parsed.error().detail);
  return *parsed;
}

wall_time at(std::int64_t ms) { return wall_time{milliseconds{ms}}; }

operation_record operation(std::uint64_t seq, const std::string& where, const operation_record* parent) {
  operation_record record;
  record.id = operation_id::fresh();
  record.seq = record.as_of = seq;
  record.name = "true";
  record.scope = scope(where);
  record.root = parent ? parent->root : record.id;
  if (parent) record.parent = parent->id;
  record.owner = {"alice", "Alice"};
  record.created_at = at(1'700'000'000'000 + static_cast<std::int64_t>(seq));
  record.task.command = {"true"};
  return record;
}

operation_record full_operation(std::uint64_t seq) {
  auto record = operation(seq, "team/a.b/c");
  record.as_of = seq - 1;
  record.kind = kind::task;
  record.title = std::string("with a NUL \0 and bad UTF-8 \xff", 28);
  record.parent = operation_id::fresh();
  record.root = operation_id::fresh();
  record.detached = true;
  record.via_token_id = "01a1f869-3df9-7303-8207-dde70bee07dd";
  record.labels = {{"pr", "4711"}, {"", "empty key"}, {"quote\"d", ""}};
  record.supersede = "key";
  record.timeout = milliseconds{12'345};
  record.grace = milliseconds{0};
  record.on_parent_end = on_parent_end::wait;
  record.fingerprint = "f00d";
  auto& task = record.task;
  task.command = {"sh", "-c", ""};
  task.cwd = "/srv";
  task.env = {{"CI", "1"}, {"B", "\xfe"}};
  task.pty = task.stdin_open = true;
  task.stop_signal = "INT";
  task.worker = "w2";
  task.on = {{"os", "linux"}};
  task.slots = 0;
  task.leader_exit = on_leader_exit::kill;
  task.lease = milliseconds{60'000};
  task.least_containment = containment::cgroup;
  task.default_cwd = "/home";
  task.default_cwd_host = "laptop";
  auto& hot = record.hot;
  hot.now = status::cancelled;
  hot.worker = "w2";
  hot.started_at = at(1);
  hot.deadline_at = at(2);
  hot.ended_at = at(3);
  hot.ended_seq = seq + 10;
  hot.stop =
      stop_state{stop_cause::timeout, seq + 5, cancel_id::fresh(), at(4), at(5), receipt::killed, proof::pidns_gone};
  hot.exit = exit_state{std::nullopt, "KILL"};
  hot.error = operation_error{"timeout", "too \xc3\xa4 late"};
  hot.self_status = status::failed;
  hot.level = containment::cgroup_pidns;
  hot.pid = 4242;
  hot.output = {1, 2, 3};
  hot.result = R"({"a":[1]})";
  hot.late = R"("late")";
  return record;
}

cancel_record cancel_of(cancel_target target, std::uint64_t seq) {
  cancel_record record;
  record.id = cancel_id::fresh();
  record.seq = record.cutoff = seq;
  record.target = std::move(target);
  record.reason = "wrong branch";
  record.by = {"alice", "Alice"};
  record.created_at = at(1'700'000'000'000 + static_cast<std::int64_t>(seq));
  return record;
}

event_record event(std::uint64_t id, const std::string& type) {
  event_record record;
  record.id = id;
  record.type = event_type_of(type).value_or(event_type::unlisted);
  if (record.type == event_type::unlisted) record.unlisted_type = type;
  record.at = at(static_cast<std::int64_t>(id));
  return record;
}

message_record message(std::uint64_t seq, const std::string& where, message_role role) {
  message_record record;
  record.id = message_id::fresh();
  record.seq = seq;
  record.scope = scope(where);
  record.role = role;
  record.at = at(1'700'000'000'000 + static_cast<std::int64_t>(seq));
  record.text = "text " + std::to_string(seq);
  return record;
}

call_record call(const message_record& answer, std::uint32_t position) {
  call_record record;
  record.operation = operation_id::fresh();
  record.answer = answer.seq;
  record.position = position;
  record.call = "call_" + std::to_string(answer.seq) + "_" + std::to_string(position);
  record.name = "exec";
  record.input = R"({"command":["true"]})";
  return record;
}

update_operation ended(const operation_record& record, std::uint64_t seq, status now) {
  auto hot = record.hot;
  hot.now = now;
  hot.ended_seq = seq;
  hot.ended_at = at(static_cast<std::int64_t>(seq));
  return {record.id, std::move(hot)};
}

std::string ask(const std::string& directory, const std::string& sql) {
  SQLite::Database database(directory + "/quell.db", SQLite::OPEN_READONLY, 5'000);
  SQLite::Statement row(database, sql);
  row.executeStep();
  return row.getColumn(0).getString();
}

std::string integrity(const std::string& directory) { return ask(directory, "PRAGMA integrity_check"); }

std::vector<std::uint64_t> seqs(const std::vector<operation_record>& records) {
  std::vector<std::uint64_t> all;
  for (const auto& record : records) all.push_back(record.seq);
  return all;
}

} // namespace quell::storage::test
