// The server's loop: one thread, woken by an eventfd for frames that other threads send, and by ZeroMQ for frames that
// peers send.
//
// One iteration: answer handshakes, pass all queued frames to ZeroMQ, receive a batch of frames, deliver it, sleep.
// The loop uses no timeouts: every cause of work has its own wake-up, so a frame waits for one thread switch and an
// idle server costs nothing.
#include <atomic>
#include <cerrno>
#include <deque>
#include <limits>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "protocol/socket.hpp"
#include "protocol/socket_options.hpp"
#include "protocol/socket_zap.hpp"

namespace quell {

namespace {

constexpr int bind_again_ms = 1;
constexpr int frames_per_turn = 256; // after this many the outgoing queue gets its turn

/// Wakes a poll from any thread. Any number of wake-ups before a drain costs one system call.
class wake_up {
 public:
  wake_up() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~wake_up() { ::close(fd_); }
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;

  int descriptor() const { return fd_; }
  void signal() {
    if (pending_.exchange(true)) return;
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);
  }
  bool is_signalled() const { return pending_.load(std::memory_order_relaxed); }
  /// Call before reading the queue: frames queued later signal anew. `readable`: the poll's result for the descriptor.
  void drain(bool readable) {
    // The counter is read before the flag is cleared: a signal in between is swallowed, but its frame is in the queue
    // that is read next.
    std::uint64_t count = 0;
    if (readable) (void)!::read(fd_, &count, sizeof count);
    pending_.store(false);
  }

 private:
  int fd_;
  std::atomic<bool> pending_{false};
};

class zmq_server final : public server_socket {
 public:
  explicit zmq_server(const options& o) : zap_(context_), router_(context_, zmq::socket_type::router) {
    set_link_options(router_, o.max_frame_bytes);
    // The last frames of a planned stop, such as longer leases, leave even if ZeroMQ's thread has to wait for its turn.
    constexpr int last_frames_ms = 1000;
    router_.set(zmq::sockopt::linger, last_frames_ms);
    router_.set(zmq::sockopt::sndhwm, o.high_water_frames);
    router_.set(zmq::sockopt::rcvhwm, o.high_water_frames);
    router_.set(zmq::sockopt::router_mandatory, true);
    // A client that ZeroMQ reconnects keeps its id even while its dead old connection is still unnoticed. An id is 16
    // random bytes, so another peer cannot take it over.
    router_.set(zmq::sockopt::router_handover, true);
    router_.set(zmq::sockopt::curve_server, true);
    router_.set(zmq::sockopt::curve_secretkey, o.keys.secret_key);
    router_.set(zmq::sockopt::zap_domain, "quell");
    if (o.endpoint.find('[') != std::string::npos) router_.set(zmq::sockopt::ipv6, true);
    router_.bind(o.endpoint);
    bound_ = router_.get(zmq::sockopt::last_endpoint);
    port_ = static_cast<std::uint16_t>(std::stoul(bound_.substr(bound_.rfind(':') + 1)));
  }

  std::uint16_t port() const override { return port_; }

  void allow(std::vector<std::string> public_keys) override { zap_.allow(std::move(public_keys)); }

  void change_keys(key_pair keys, std::function<void(const std::string& why)> failed) override {
    {
      const std::lock_guard lock(guard_);
      next_keys_ = std::move(keys);
      not_bound_ = std::move(failed);
    }
    keys_wait_.store(true);
    wake_.signal();
  }

  void send(std::string route, std::string frame) override {
    const bool own_loop = loop_thread_.load() == std::this_thread::get_id();
    if (!own_loop && send_now(route, frame)) return;
    {
      const std::lock_guard lock(guard_);
      queue_.push_back({std::move(route), std::move(frame)});
    }
    if (!own_loop) wake_.signal(); // the loop itself checks the queue before it sleeps
  }

  void stop() override {
    stopping_.store(true);
    wake_.signal();
  }

  void run(std::function<void(const peer&, std::string_view)> frames,
           std::function<void(std::string_view key)> refused) override {
    loop_thread_.store(std::this_thread::get_id());
    pollfd items[] = {{router_.get(zmq::sockopt::fd), POLLIN, 0},
                      {zap_.socket().get(zmq::sockopt::fd), POLLIN, 0},
                      {wake_.descriptor(), POLLIN, 0}};
    for (;;) {
      wake_.drain((items[2].revents & POLLIN) != 0);
      const bool last_turn = stopping_.load(); // read before the queue, which holds everything sent before `stop`
      flush();
      if (last_turn) break;
      const bool bound = take_next_keys();
      const bool more = take(frames);
      zap_.answer(refused);
      flush();
      // libzmq's descriptors are edge triggered: the loop checks the sockets' state before each sleep, and `send_now`
      // checks it after it may have swallowed an edge. EINTR ends the wait early: the iteration then finds nothing and
      // sleeps again.
      for (auto& item : items) item.revents = 0;
      if (!more && !readable() && (zap_.socket().get(zmq::sockopt::events) & ZMQ_POLLIN) == 0)
        (void)::poll(items, 3, bound ? -1 : bind_again_ms);
    }
    loop_thread_.store(std::thread::id{});
  }

 private:
  struct outgoing {
    std::string route;
    std::string frame;
  };

  /// Sends from the caller's thread, which saves a cancel the wake-up of the loop. A ZeroMQ socket may change threads
  /// under a full fence, which the mutex provides. False if the socket is in use or earlier frames wait: such frames
  /// must go through the queue to keep the order.
  bool send_now(const std::string& route, const std::string& frame) {
    const std::unique_lock socket(in_use_, std::try_to_lock);
    if (!socket) return false;
    {
      const std::lock_guard lock(guard_);
      if (!queue_.empty()) return false;
    }
    put(route, frame);
    if (router_.get(zmq::sockopt::events) & ZMQ_POLLIN) wake_.signal(); // the edge that announced it may be spent
    return true;
  }

  /// With ROUTER_MANDATORY the first part fails with EHOSTUNREACH (route gone) or EAGAIN (its queue is full); in both
  /// cases the frame is dropped.
  void put(const std::string& route, const std::string& frame) {
    if (zmq_send(router_.handle(), route.data(), route.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) return;
    (void)zmq_send(router_.handle(), frame.data(), frame.size(), ZMQ_DONTWAIT);
  }

  bool readable() {
    const std::lock_guard socket(in_use_);
    return (router_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
  }

  void flush() {
    const std::lock_guard socket(in_use_); // also during the swap: nothing overtakes queued frames
    std::deque<outgoing> batch;
    {
      const std::lock_guard lock(guard_);
      batch.swap(queue_);
    }
    for (const auto& [route, frame] : batch) put(route, frame);
  }

  /// Receives a batch. True if there may be more.
  bool take(const std::function<void(const peer&, std::string_view)>& frames) {
    for (int i = 0; i < frames_per_turn; ++i) {
      zmq::message_t route;
      zmq::message_t frame;
      bool extra_parts = false;
      {
        const std::lock_guard socket(in_use_); // released before the callback, which may send
        if (!receive(route, ZMQ_DONTWAIT)) return false;
        if (!route.more() || !receive(frame, 0)) continue;
        for (bool following = frame.more(); following;) { // our peers send one part only
          zmq::message_t part;
          extra_parts = true;
          following = receive(part, 0) && part.more();
        }
      }
      const char* key = zmq_msg_gets(frame.handle(), "User-Id");
      if (extra_parts || !key || !zap_.is_allowed(key)) continue;
      frames(peer{route.to_string(), key}, frame.to_string_view());
      if (wake_.is_signalled()) return true; // a cancel does not wait for the rest of the batch
    }
    return true;
  }

  /// ZeroMQ's own thread closes the listener a little later, so the address can be in use for some iterations. False
  /// while nothing listens.
  bool take_next_keys() {
    if (keys_wait_.exchange(false)) {
      const std::lock_guard lock(guard_);
      keys_to_bind_ = std::exchange(next_keys_, std::nullopt);
      tell_not_bound_ = std::exchange(not_bound_, nullptr);
      bind_tries_ = 0;
    }
    if (!keys_to_bind_) return true;
    const std::lock_guard socket(in_use_);
    try {
      if (listens_) router_.unbind(bound_);
      listens_ = false;
      router_.set(zmq::sockopt::curve_secretkey, keys_to_bind_->secret_key);
      router_.bind(bound_);
      listens_ = true;
      keys_to_bind_.reset();
    } catch (const zmq::error_t& error) {
      constexpr int tries_before_report = 1000 / bind_again_ms;
      if (++bind_tries_ == tries_before_report && tell_not_bound_) tell_not_bound_(error.what());
    }
    return listens_;
  }

  bool receive(zmq::message_t& part, int flags) { return zmq_msg_recv(part.handle(), router_.handle(), flags) >= 0; }

  zmq::context_t context_{1};
  zap_authenticator zap_;
  zmq::socket_t router_;
  std::uint16_t port_ = 0;
  wake_up wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::thread::id> loop_thread_{};
  std::mutex in_use_; ///< guards router_; taken before guard_
  std::mutex guard_;  ///< guards queue_, next_keys_ and not_bound_
  std::optional<key_pair> next_keys_;
  std::function<void(const std::string&)> not_bound_;
  std::atomic<bool> keys_wait_{false};
  // Used by the loop's thread only:
  std::string bound_;
  std::optional<key_pair> keys_to_bind_;
  std::function<void(const std::string&)> tell_not_bound_;
  bool listens_ = true;
  int bind_tries_ = 0;
  std::deque<outgoing> queue_;
};

tl::unexpected<fault> bind_fault(const std::string& endpoint, const zmq::error_t& error) {
  switch (error.num()) {
  case EADDRINUSE:
    return failure("address_in_use",
                   "cannot listen on " + endpoint +
                       ": the address is in use; stop the program that has it, or configure another port");
  case EACCES:
    return failure("bad_address",
                   "cannot listen on " + endpoint + ": ports below 1024 need privileges; configure another port");
  case EADDRNOTAVAIL:
  case ENODEV:
    return failure("bad_address", "cannot listen on " + endpoint +
                                      ": no such address on this machine; use 127.0.0.1 or one of `ip addr`");
  default:
    return failure("bad_address",
                   "cannot listen on " + endpoint + ": " + error.what() + "; expected tcp://ADDRESS:PORT");
  }
}

} // namespace

result<std::unique_ptr<server_socket>> server_socket::bind(options o) {
  if (!is_public_key(o.keys.secret_key))
    return failure("bad_key", "the server's secret key is not a Z85 text of 40 characters");
  if (!o.endpoint.starts_with("tcp://"))
    return failure("bad_address", "cannot listen on " + o.endpoint + ": expected tcp://ADDRESS:PORT");
  try {
    const urgent_offspring io_thread(o.io);
    return std::make_unique<zmq_server>(o);
  } catch (const zmq::error_t& error) {
    return bind_fault(o.endpoint, error);
  } catch (const std::exception& error) {
    return failure("bad_address",
                   "cannot listen on " + o.endpoint + ": " + error.what() + "; expected tcp://ADDRESS:PORT");
  }
}

} // namespace quell
