// Leads frames of the bulk socket to files, feeds and relayed connections. A peer can only affect operations that run
// on its own worker.
#include "quelld/bulk/bulk_server.hpp"

#include <spdlog/spdlog.h>

#include "protocol/clock_now.hpp"
#include "protocol/codec.hpp"

namespace quell::controller {

namespace {
constexpr std::uint64_t feed_window_bytes = 256 * 1024; ///< the buffer of a worker for one task
constexpr std::size_t input_piece_bytes = 64 * 1024;
constexpr std::size_t most_feeds = 100'000;
constexpr std::size_t most_waiting_bytes = 16 << 20;
} // namespace

bulk_server::bulk_server(std::unique_ptr<server_socket> socket, output_files::options files, std::string gateway_socket,
                         session_check check)
    : socket_(std::move(socket)), files_(std::move(files)), check_(std::move(check)) {
  relay_ = std::make_unique<relay>(std::move(gateway_socket),
                                   [this](const std::string& route, const wire::bulk_message& m) { send(route, m); });
  thread_ = std::jthread([this] {
    socket_->run([this](const peer& from, std::string_view bytes) { received(from, bytes); },
                 [this](std::string_view key) {
                   // Strangers can use ever new keys, so all of them together count as one peer.
                   complain("strangers", "bulk connection refused: key " + std::string(key) + " is not enrolled");
                 });
  });
}

bulk_server::~bulk_server() {
  {
    std::lock_guard lock(mutex_);
    *alive_ = false;
  }
  socket_->stop();
  thread_.join();
  relay_.reset();
}

void bulk_server::send(const std::string& route, const wire::bulk_message& m) { socket_->send(route, wire::encode(m)); }

std::optional<std::string> bulk_server::worker_on(const std::string& route) {
  std::lock_guard lock(mutex_);
  const auto it = worker_by_route_.find(route);
  if (it == worker_by_route_.end()) return std::nullopt;
  return it->second;
}

void bulk_server::received(const peer& from, std::string_view bytes) {
  if (keep_waiting(from.route, bytes)) return;
  auto message = wire::decode_bulk(bytes);
  if (!message) {
    complain(from.public_key, "bulk frame of key " + from.public_key + " dropped: " + message.error().detail);
    return;
  }
  if (const auto* hello = std::get_if<wire::bulk_hello>(&*message)) {
    // An honest worker sends one hello per connection and session; a dropped one is sent again with the next session.
    if (hellos_.take(from.public_key, 1, clock_now().boot)) on_hello(from, hello->session);
    return;
  }
  if (const auto worker = worker_on(from.route)) handle(from, *worker, std::move(*message));
  // Otherwise it never sent a hello, or its session is not live: it will send one again.
}

void bulk_server::complain(const std::string& about, const std::string& what) {
  log_.warn(about, what, clock_now().boot);
}

bool bulk_server::keep_waiting(const std::string& route, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  const auto it = waiting_.find(route);
  if (it == waiting_.end()) return false;
  auto& room = it->second;
  room.overflown = room.overflown || room.bytes + bytes.size() > most_waiting_bytes;
  if (!room.overflown) room.frames.emplace_back(bytes);
  room.bytes += bytes.size();
  return true;
}

void bulk_server::handle(const peer& from, const std::string& worker, wire::bulk_message message) {
  if (const auto* piece = std::get_if<wire::output>(&message)) {
    if (files_.worker_of(piece->operation) != worker)
      return send(from.route,
                  wire::output_ack{piece->operation, piece->which, piece->offset + piece->bytes.size(), true});
    const auto reached = files_.append(*piece);
    if (reached)
      send(from.route, wire::output_ack{piece->operation, piece->which, *reached, false});
    else // unacknowledged: the worker sends it again, or drops it at its own limit
      complain(from.public_key, reached.error().detail);
  } else if (const auto* ack = std::get_if<wire::input_ack>(&message)) {
    std::lock_guard lock(mutex_);
    const auto it = feeds_.find(ack->operation);
    if (it == feeds_.end() || files_.worker_of(ack->operation) != worker) return;
    auto& f = it->second;
    const auto upto = std::min(ack->offset, f.sent);
    if (upto > f.acknowledged) f.pending.erase(0, upto - f.acknowledged);
    f.acknowledged = std::max(f.acknowledged, upto);
    f.closed = f.closed || ack->closed;
    f.end_handed = f.ended && f.acknowledged >= f.sent;
  } else {
    relay_->take(from.route, std::move(message));
  }
}

void bulk_server::on_hello(const peer& from, const session_id& session) {
  {
    std::lock_guard lock(mutex_);
    waiting_[from.route] = {};
  }
  check_(from.public_key, session, [this, from, alive = alive_](std::optional<std::string> worker) {
    std::lock_guard lock(mutex_);
    if (!*alive) return;
    if (!worker) {
      waiting_.erase(from.route);
      return;
    }
    auto& route = route_by_worker_[*worker];
    // A new hello, even on the same route: connection numbers begin anew.
    if (!route.empty()) {
      worker_by_route_.erase(route);
      relay_->drop_route(route);
    }
    route = from.route;
    // The relay's thread reads the files: the caller is the controller's own thread, which must not wait for a disk.
    relay_->post([this, from, worker = *worker] { welcome(from, worker); });
  });
}

/// Tells the worker the offsets at which its streams continue, and processes the frames that it sent before, in order.
void bulk_server::welcome(const peer& from, const std::string& worker) {
  for (const auto& p : files_.positions(worker)) {
    send(from.route, wire::output_ack{p.id, stream::out, p.out, false});
    send(from.route, wire::output_ack{p.id, stream::err, p.err, false});
  }
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, f] : feeds_)
      if (files_.worker_of(id) == worker && !f.closed && (!f.pending.empty() || f.ended))
        send_input(from.route, id, f.acknowledged, f.pending, f.ended);
  }
  for (;;) {
    std::vector<std::string> kept;
    {
      // Until the room is empty the socket's thread keeps adding frames to it, so that none overtakes another.
      std::lock_guard lock(mutex_);
      const auto room = waiting_.find(from.route);
      if (room == waiting_.end()) return;
      if (room->second.overflown)
        spdlog::warn("worker {} sent more than its window before its bulk session stood", worker);
      kept.swap(room->second.frames);
      if (kept.empty()) {
        waiting_.erase(room);
        worker_by_route_[from.route] = worker;
        return;
      }
    }
    for (const auto& frame : kept)
      if (auto message = wire::decode_bulk(frame)) handle(from, worker, std::move(*message));
  }
}

result<std::uint64_t> bulk_server::input(const operation_id& id, const std::string& worker, std::uint64_t offset,
                                         std::string bytes, stdin_then then) {
  std::lock_guard lock(mutex_);
  const auto route = route_by_worker_.find(worker);
  if (route == route_by_worker_.end() || files_.worker_of(id) != worker)
    return failure(error_code::rate_limited,
                   "worker " + worker + " is not connected right now; send the same bytes again later");
  if (feeds_.size() >= most_feeds)
    for (auto it = feeds_.begin(); it != feeds_.end();)
      it = files_.worker_of(it->first) ? std::next(it) : feeds_.erase(it);
  const auto [it, fresh] = feeds_.try_emplace(id);
  auto& f = it->second;
  // After a restart of quelld the client knows its position better; the worker skips bytes that it already has.
  if (fresh) f.sent = f.acknowledged = offset;
  if (f.closed) return failure(error_code::invalid_field, "the task reads no more input");
  if (offset > f.sent)
    return failure(error_code::invalid_field,
                   "offset " + std::to_string(offset) + " leaves a gap: " + std::to_string(f.sent) +
                       " bytes were taken so far",
                   "/offset");
  bytes.erase(0, std::min<std::uint64_t>(f.sent - offset, bytes.size()));
  if (f.pending.size() + bytes.size() > feed_window_bytes)
    return failure(error_code::rate_limited, "the task is slow to read its input; send the same bytes again later");
  const bool closes = then == stdin_then::closed;
  f.ended = f.ended || closes;
  if (!bytes.empty() || closes) send_input(route->second, id, f.sent, bytes, f.ended);
  f.sent += bytes.size();
  f.pending += bytes;
  return f.sent;
}

output_store::input_progress bulk_server::input_reached(const operation_id& id, std::uint64_t taken) {
  std::lock_guard lock(mutex_);
  const auto at = feeds_.find(id);
  if (at == feeds_.end()) return {taken, true, true}; // it ended meanwhile
  const auto& f = at->second;
  return {f.acknowledged, !f.ended || f.end_handed, f.closed};
}

void bulk_server::send_input(const std::string& route, const operation_id& id, std::uint64_t offset,
                             std::string_view bytes, bool is_end) {
  do {
    const auto piece = bytes.substr(0, input_piece_bytes);
    bytes.remove_prefix(piece.size());
    send(route, wire::input{id, offset, std::string(piece), is_end && bytes.empty()});
    offset += piece.size();
  } while (!bytes.empty());
}

} // namespace quell::controller
