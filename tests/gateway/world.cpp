// Implementation of the world of the gateway's tests.
#include "tests/gateway/world.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <stdlib.h>

#include "storage/queries.hpp"
#include "tests/patience.hpp"

namespace quell::controller::test {

temp_directory::temp_directory() {
  auto pattern = (std::filesystem::temp_directory_path() / "quell-gateway-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory could be made");
  path_ = pattern;
}

temp_directory::~temp_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void memory_output::wake(const operation_id& id) {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = watchers_.begin(); it != watchers_.end();) {
      if (it->second.first == id) {
        calls.push_back(std::move(it->second.second));
        it = watchers_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const auto& call : calls) call();
}

void memory_output::write(const operation_id& id, stream which, const std::string& bytes) {
  {
    const std::lock_guard lock(mutex_);
    auto& e = entries_[id];
    auto& to = e.bytes[static_cast<std::size_t>(which)];
    e.pieces.push_back({which, to.size(), bytes.size()});
    to += bytes;
  }
  wake(id);
}

void memory_output::expect(const operation_id& id) {
  const std::lock_guard lock(mutex_);
  entries_.try_emplace(id);
}

void memory_output::behind_look(int n, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  looks_left_ = n;
  behind_look_ = std::move(call);
}

void memory_output::end(const operation_id& id) {
  {
    const std::lock_guard lock(mutex_);
    entries_[id].ended = true;
  }
  wake(id);
}

void memory_output::settle(const operation_id& id, const std::string& last_out, const std::string& last_err) {
  {
    const std::lock_guard lock(mutex_);
    auto& e = entries_[id];
    e.bytes[0] += last_out;
    e.bytes[1] += last_err;
    const auto size = e.bytes[1].size(), half = size / 2;
    e.pieces = {{stream::out, 0, e.bytes[0].size()}, {stream::err, 0, half}, {stream::err, half, size - half}};
    e.ended = true;
  }
  wake(id);
}

void memory_output::make_unreadable(const operation_id& id, std::uint64_t from) {
  const std::lock_guard lock(mutex_);
  entries_[id].readable = from;
}

void memory_output::wait_for_watcher(const operation_id& id) {
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, testing::patient(std::chrono::seconds(60)), [&] {
    for (const auto& [ticket, watcher] : watchers_)
      if (watcher.first == id) return true;
    return false;
  });
  if (!came) throw std::runtime_error("waited in vain for a watcher of the output");
}

void memory_output::hold_watchers() {
  const std::lock_guard lock(mutex_);
  holds_ = true;
}

void memory_output::wait_until_held() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, testing::patient(std::chrono::seconds(60)), [&] { return held_ > 0; }))
    throw std::runtime_error("waited in vain for a thread that begins to watch output");
}

void memory_output::release() {
  const std::lock_guard lock(mutex_);
  holds_ = false;
  changed_.notify_all();
}

std::vector<std::string> memory_output::inputs() {
  const std::lock_guard lock(mutex_);
  return inputs_;
}

result<output_store::slice> memory_output::read(const operation_id& id, stream which, std::uint64_t offset,
                                                std::size_t limit_bytes) {
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    std::function<void()> call;
    if (looks_left_ > 0 && --looks_left_ == 0) call = std::exchange(behind_look_, nullptr);
    lock.unlock();
    if (call) call();
    return failure(error_code::not_found, "no output");
  }
  const auto& bytes = found->second.bytes[static_cast<std::size_t>(which)];
  slice s;
  s.offset = offset;
  s.size = bytes.size();
  if (offset < std::min<std::uint64_t>(bytes.size(), found->second.readable))
    s.bytes = bytes.substr(offset, limit_bytes);
  s.end = found->second.ended && offset + s.bytes.size() >= bytes.size();
  return s;
}

result<output_store::located> memory_output::locate(const operation_id& id, stream which, std::uint64_t offset,
                                                    std::size_t limit_bytes) {
  auto found = read(id, which, offset, limit_bytes);
  if (!found) return tl::unexpected(found.error());
  return located{std::move(*found), std::nullopt};
}

output_counts memory_output::counts(const operation_id& id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  const auto& e = found->second;
  return {e.bytes[0].size(), e.bytes[1].size(), 0};
}

std::vector<output_store::piece> memory_output::order(const operation_id& id, std::uint64_t after_piece,
                                                      std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<piece> some;
  const auto found = entries_.find(id);
  if (found == entries_.end()) return some;
  const auto& pieces = found->second.pieces;
  for (auto i = after_piece; i < pieces.size() && some.size() < limit; ++i) some.push_back(pieces[i]);
  return some;
}

std::uint64_t memory_output::watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                                   std::function<void()> wake_up) {
  std::uint64_t ticket = 0;
  bool more = false;
  {
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !holds_; });
    --held_;
    ticket = next_++;
    const auto found = entries_.find(id);
    const auto& e = found == entries_.end() ? entry{} : found->second;
    more = e.ended || e.bytes[0].size() > seen_stdout || e.bytes[1].size() > seen_stderr;
    if (!more) watchers_[ticket] = {id, wake_up};
  }
  changed_.notify_all();
  if (more) wake_up();
  return ticket;
}

void memory_output::forget(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(ticket);
}

result<std::uint64_t> memory_output::input(const operation_id&, const std::string& worker, std::uint64_t offset,
                                           std::string bytes, stdin_then then) {
  const std::lock_guard lock(mutex_);
  inputs_.push_back(worker + " " + std::to_string(offset) + " " + bytes + (then == stdin_then::closed ? " end" : ""));
  return offset + bytes.size();
}

gateway_world::gateway_world(const std::function<void(gateway_options&)>& change, std::size_t keep_events) {
  const auto changes = std::make_shared<row_changes>();
  auto journal =
      storage::journal::open({.directory = directory.path(), .keep_events = keep_events, .changes = changes});
  if (!journal) throw std::runtime_error("the journal did not open: " + journal.error().detail);
  controller = std::make_unique<fake_controller>(std::move(*journal));
  gateway_options options;
  options.listen = "127.0.0.1:0";
  options.state_directory = directory.path();
  options.open_store = [directory = options.state_directory] { return storage::open_limited_reader(directory); };
  options.changes = changes;
  options.admin_token = admin_secret;
  options.admin_owner = {"root", "Root"};
  options.task_token_key = task_key;
  options.control_endpoints = {"tcp://127.0.0.1:7711"};
  options.bulk_endpoints = {"tcp://127.0.0.1:7712"};
  options.server_public_key = std::string(40, 'k');
  if (change) change(options);
  auto started = gateway::start(std::move(options), *controller, output);
  if (!started) throw std::runtime_error("the gateway did not start: " + started.error().detail);
  front = std::move(*started);
}

gateway_world::~gateway_world() {
  front->stop();
  controller->stop();
}

header_list gateway_world::watching(std::string last_event_id) {
  auto headers = admin();
  headers.emplace_back("Accept", "text/event-stream");
  if (!last_event_id.empty()) headers.emplace_back("Last-Event-ID", last_event_id);
  return headers;
}

std::string gateway_world::token(const std::string& role, const std::string& scope) {
  nlohmann::json body = {{"name", role + "-token"}, {"role", role}};
  if (!scope.empty()) body["scope"] = scope;
  const auto made = post("/v1/tokens", body.dump());
  if (made.status != 201) throw std::runtime_error("the token was not made: " + made.body);
  return made.json()["token"];
}

http_reply gateway_world::ask(const std::string& method, const std::string& target, const header_list& headers,
                              const std::string& body) {
  http_client client(front->port());
  return client.ask(method, target, headers, body);
}

} // namespace quell::controller::test
