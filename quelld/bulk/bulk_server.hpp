// The bulk socket of the controller: takes output into files, sends input, carries relayed HTTP. A separate socket, so
// that a cancel never queues behind any of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/service.hpp"
#include "integrations/host/log_rate_limiter.hpp"
#include "protocol/socket.hpp"
#include "quelld/bulk/output_files.hpp"
#include "quelld/bulk/relay.hpp"

namespace quell::controller {

class bulk_server final : public output_store {
 public:
  /// Checks whether (key, session) is a live session; answers, on any thread, with the worker's name or nullopt.
  using session_check =
      std::function<void(std::string public_key, session_id session, std::function<void(std::optional<std::string>)>)>;

  /// Takes over the bound socket and runs it on its own thread until destroyed.
  bulk_server(std::unique_ptr<server_socket> socket, output_files::options files, std::string gateway_socket,
              session_check check);
  ~bulk_server() override;

  output_files& files() { return files_; }
  server_socket& socket() { return *socket_; }
  /// Call about once a second, from any thread.
  void tick(boot_time now) { files_.give_up(now); }

  result<slice> read(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes) override {
    return files_.read(id, which, offset, limit_bytes);
  }
  result<located> locate(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit_bytes) override {
    return files_.locate(id, which, offset, limit_bytes);
  }
  output_counts counts(const operation_id& id) override { return files_.counts(id); }
  std::vector<piece> order(const operation_id& id, std::uint64_t after_piece, std::size_t limit) override {
    return files_.order(id, after_piece, limit);
  }
  std::uint64_t watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                      std::function<void()> wake) override {
    return files_.watch(id, seen_stdout, seen_stderr, std::move(wake));
  }
  void forget(std::uint64_t ticket) override { files_.forget(ticket); }
  void drop(const operation_id& id) override { files_.drop(id); }
  result<std::uint64_t> input(const operation_id& id, const std::string& worker, std::uint64_t offset,
                              std::string bytes, stdin_then then) override;
  input_progress input_reached(const operation_id& id, std::uint64_t taken) override;

 private:
  /// Input on its way to one task.
  struct feed {
    std::uint64_t sent = 0, acknowledged = 0;
    std::string pending; ///< from acknowledged to sent: sent again on a new connection
    bool closed = false, ended = false;
    bool end_handed = false; ///< the worker has answered since the end was sent
  };

  /// Frames of a connection whose session is being looked up. They are kept, because a gap in a stream would read as
  /// lost bytes.
  struct waiting_room {
    std::vector<std::string> frames;
    std::size_t bytes = 0;
    bool overflown = false;
  };

  void received(const peer& from, std::string_view bytes);
  void complain(const std::string& about, const std::string& what);
  void handle(const peer& from, const std::string& worker, wire::bulk_message message);
  /// True if the frame was kept for later, or dropped because the connection is unknown.
  bool keep_waiting(const std::string& route, std::string_view bytes);
  void on_hello(const peer& from, const session_id& session);
  void welcome(const peer& from, const std::string& worker);
  void send_input(const std::string& route, const operation_id& id, std::uint64_t offset, std::string_view bytes,
                  bool is_end);
  void send(const std::string& route, const wire::bulk_message& m);
  std::optional<std::string> worker_on(const std::string& route);

  std::unique_ptr<server_socket> socket_;
  output_files files_;
  session_check check_;
  std::mutex mutex_;
  std::map<std::string, std::string> worker_by_route_;
  std::map<std::string, std::string> route_by_worker_;
  std::map<operation_id, feed> feeds_;
  std::map<std::string, waiting_room> waiting_; ///< by route
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  peer_budgets hellos_{{100, 5}}; ///< of the socket's thread: each hello costs a look at all streams of its worker
  log_rate_limiter log_;
  std::unique_ptr<relay> relay_;
  std::jthread thread_;
};

} // namespace quell::controller
