// A running gateway on a loopback port over a real store, a fake controller and real output files in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>

#include "gateway/server.hpp"
#include "gateway/tokens.hpp"
#include "tests/gateway/fake_controller.hpp"
#include "tests/gateway/http_client.hpp"

namespace quell::controller::test {

/// Output that the test writes, thread safe, with the wake-ups that the contract promises.
class memory_output : public output_store {
 public:
  void write(const operation_id& id, stream which, const std::string& bytes);
  /// The operation was sent to a worker: its streams are open from now on.
  void expect(const operation_id& id);
  void end(const operation_id& id);
  /// The last bytes come, and all pieces are numbered anew, as those of files are: stdout is one, stderr two.
  void settle(const operation_id& id, const std::string& last_out, const std::string& last_err);
  /// From now on no byte from this offset of its streams on can be read, although it is there.
  void make_unreadable(const operation_id& id, std::uint64_t from);
  /// Waits until this operation has a watcher.
  void wait_for_watcher(const operation_id& id);
  /// From now on whoever begins to watch waits, with its whole thread, until `release`.
  void hold_watchers();
  /// Waits until a thread is held so.
  void wait_until_held();
  void release();
  /// Calls this once, behind the n-th look from now on at an operation that is not known here.
  void behind_look(int n, std::function<void()> call);
  std::vector<std::string> inputs();

  result<slice> read(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes) override;
  result<located> locate(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes) override;
  output_counts counts(const operation_id& id) override;
  std::vector<piece> order(const operation_id& id, std::uint64_t after_piece, std::size_t limit) override;
  std::uint64_t watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                      std::function<void()> wake) override;
  void forget(std::uint64_t ticket) override;
  result<std::uint64_t> input(const operation_id& id, const std::string& worker, std::uint64_t offset,
                              std::string bytes, stdin_then then) override;
  void drop(const operation_id&) override {}
  input_progress input_reached(const operation_id&, std::uint64_t taken) override { return {taken, true, false}; }

 private:
  struct entry {
    std::array<std::string, 2> bytes;
    std::vector<piece> pieces;
    bool ended = false;
    std::uint64_t readable = std::numeric_limits<std::uint64_t>::max();
  };
  void wake(const operation_id& id);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<operation_id, entry> entries_;
  std::map<std::uint64_t, std::pair<operation_id, std::function<void()>>> watchers_;
  std::uint64_t next_ = 1;
  std::vector<std::string> inputs_;
  int looks_left_ = 0;
  std::function<void()> behind_look_;
  bool holds_ = false;
  int held_ = 0;
};

class temp_directory {
 public:
  temp_directory();
  ~temp_directory();
  temp_directory(const temp_directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline const std::string admin_secret = "qk_the-admin-of-the-tests";
inline const std::string task_key = "a key for task tokens";

class gateway_world {
 public:
  explicit gateway_world(const std::function<void(gateway_options&)>& change = {}, std::size_t keep_events = 50);
  ~gateway_world();

  http_client connect() { return http_client(front->port()); }
  static header_list with(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }
  static header_list admin() { return with(admin_secret); }
  static header_list watching(std::string last_event_id = {});
  /// The secret of a token with this role and scope, made through the API.
  std::string token(const std::string& role, const std::string& scope = {});
  /// One request on a new connection.
  http_reply ask(const std::string& method, const std::string& target, const header_list& headers,
                 const std::string& body = {});
  http_reply get(const std::string& target) { return ask("GET", target, admin(), {}); }
  http_reply post(const std::string& target, const std::string& body) { return ask("POST", target, admin(), body); }

  temp_directory directory;
  std::unique_ptr<fake_controller> controller;
  memory_output output;
  std::unique_ptr<gateway> front;
};

} // namespace quell::controller::test
