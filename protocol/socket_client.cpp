// The worker's end of a connection: one DEALER at a time, replaced by a new one for every hello.
//
// libzmq's own descriptor is edge triggered: a send or a receive can swallow the edge of a frame that has just come. So
// callers get the descriptor of an epoll instance that holds it together with an eventfd, and we raise that eventfd
// whenever we know that a frame or event waits.
#include <array>
#include <charconv>
#include <chrono>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "protocol/socket.hpp"
#include "protocol/socket_monitor.hpp"
#include "protocol/socket_options.hpp"

namespace quell {

namespace {

constexpr int queue_frames = 10'000;
constexpr std::chrono::seconds retry_pause{2};

/// 16 random bytes; the first is not 0, which ZeroMQ reserves for ids that it makes itself.
std::string fresh_route() {
  std::array<char, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  bytes[0] = static_cast<char>(bytes[0] | 1);
  return {bytes.data(), bytes.size()};
}

class zmq_client final : public client_socket {
 public:
  explicit zmq_client(options o) : options_(std::move(o)) {
    watch(nudge_);
    watch(retry_);
    connect({});
  }
  ~zmq_client() override {
    disconnect();
    ::close(retry_);
    ::close(nudge_);
    ::close(epoll_);
  }
  zmq_client(const zmq_client&) = delete;
  zmq_client& operator=(const zmq_client&) = delete;

  int descriptor() const override { return epoll_; }

  std::optional<std::string> receive() override {
    look_at_connection();
    while (dealer_) {
      zmq::message_t frame;
      if (zmq_msg_recv(frame.handle(), dealer_->handle(), ZMQ_DONTWAIT) < 0) break;
      bool one_part = true;
      for (bool following = frame.more(); following;) {
        zmq::message_t part;
        one_part = false;
        following = zmq_msg_recv(part.handle(), dealer_->handle(), 0) >= 0 && part.more();
      }
      if (!one_part) continue;
      raise_if_ready();
      return frame.to_string();
    }
    lower();
    raise_if_ready();
    return std::nullopt;
  }

  bool send(std::string_view frame) override {
    look_at_connection();
    if (!dealer_) return false;
    // A send checks for new and lost connections only once per millisecond, and could put the frame into a connection
    // that is known to be dead; reading the events makes libzmq check now.
    const bool sent = (dealer_->get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0 &&
                      zmq_send(dealer_->handle(), frame.data(), frame.size(), ZMQ_DONTWAIT) >= 0;
    waits_to_send_ = !sent;
    raise_if_ready();
    return sent;
  }

  void reset() override {
    disconnect();
    endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
    connect({});
  }

  bool connected() override { return look_at_connection(), monitor_ && monitor_->state().connected; }
  bool refused() override { return look_at_connection(), monitor_ && monitor_->state().refused; }
  std::uint64_t connections() override { return look_at_connection(), monitor_ ? monitor_->state().connections : 0; }
  std::optional<std::string> trouble() override {
    look_at_connection();
    return monitor_ ? monitor_->state().trouble : cannot_open_;
  }

 private:
  void connect(connection_state before) {
    const std::string& address = options_.endpoints[endpoint_];
    try {
      dealer_.emplace(context_, zmq::socket_type::dealer);
      set_link_options(*dealer_, options_.max_frame_bytes);
      dealer_->set(zmq::sockopt::heartbeat_ivl, 2000);
      dealer_->set(zmq::sockopt::heartbeat_timeout, 6000);
      dealer_->set(zmq::sockopt::heartbeat_ttl, 8000);
      dealer_->set(zmq::sockopt::sndhwm, queue_frames);
      dealer_->set(zmq::sockopt::rcvhwm, queue_frames);
      dealer_->set(zmq::sockopt::immediate, true); // queue nothing for an absent peer
      dealer_->set(zmq::sockopt::reconnect_ivl, 100);
      dealer_->set(zmq::sockopt::reconnect_ivl_max, 2000);
      dealer_->set(zmq::sockopt::connect_timeout, 5000);
      dealer_->set(zmq::sockopt::routing_id, fresh_route());
      dealer_->set(zmq::sockopt::curve_serverkey, options_.server_public_key);
      dealer_->set(zmq::sockopt::curve_publickey, options_.keys.public_key);
      dealer_->set(zmq::sockopt::curve_secretkey, options_.keys.secret_key);
      if (address.find('[') != std::string::npos) dealer_->set(zmq::sockopt::ipv6, true);
      monitor_.emplace(context_, *dealer_, "monitor-" + std::to_string(++life_), address, options_.keys.public_key,
                       std::move(before));
      dealer_->connect(address);
      dealer_fd_ = dealer_->get(zmq::sockopt::fd);
      monitor_fd_ = monitor_->descriptor();
      watch(dealer_fd_);
      watch(monitor_fd_);
      cannot_open_.reset();
      raise(); // edges before epoll watched the descriptor are lost
    } catch (const std::exception& error) {
      disconnect();
      cannot_open_ = "cannot connect to " + address + ": " + error.what();
      retry_after(retry_pause);
    }
  }

  void disconnect() {
    // The descriptor's number can be reused as soon as libzmq has closed it.
    unwatch_before_zmq_closes(dealer_fd_);
    unwatch_before_zmq_closes(monitor_fd_);
    if (dealer_) (void)zmq_socket_monitor(dealer_->handle(), nullptr, 0);
    monitor_.reset();
    dealer_.reset();
  }

  /// libzmq gives up for good on a connection that the other side refused. People can enrol the key later, so we retry
  /// after a pause.
  void look_at_connection() {
    if (monitor_) monitor_->update();
    const bool given_up = !monitor_ || monitor_->state().abandoned;
    if (!given_up || !retrying_) {
      retry_after(given_up ? retry_pause : std::chrono::seconds{0});
      return;
    }
    std::uint64_t expired = 0;
    if (::read(retry_, &expired, sizeof expired) != sizeof expired) return;
    retrying_ = false;
    connection_state before = monitor_ ? monitor_->state() : connection_state{};
    disconnect();
    connect(std::move(before));
  }

  /// Sets the timer, or stops it if `pause` is 0.
  void retry_after(std::chrono::seconds pause) {
    const bool wanted = pause.count() > 0;
    if (wanted == retrying_) return;
    itimerspec when{};
    when.it_value.tv_sec = pause.count();
    retrying_ = wanted;
    (void)::timerfd_settime(retry_, 0, &when, nullptr);
  }

  void watch(int fd) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = fd;
    (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest);
  }
  void unwatch_before_zmq_closes(int& fd) {
    if (fd >= 0) (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    fd = -1;
  }

  /// Reading the events can itself swallow the edge of a frame that came, or of the connection for which a refused send
  /// waits.
  void raise_if_ready() {
    if (raised_ || !dealer_) return;
    const int events = dealer_->get(zmq::sockopt::events);
    const bool may_send = waits_to_send_ && (events & ZMQ_POLLOUT) != 0;
    if (may_send) waits_to_send_ = false; // signalled once
    if (may_send || (events & ZMQ_POLLIN) != 0) raise();
  }
  void raise() {
    const std::uint64_t one = 1;
    raised_ = true;
    (void)!::write(nudge_, &one, sizeof one);
  }
  void lower() {
    if (!raised_) return;
    std::uint64_t count = 0;
    raised_ = false;
    (void)!::read(nudge_, &count, sizeof count);
  }

  options options_;
  std::size_t endpoint_ = 0;
  std::uint64_t life_ = 0;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  int nudge_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int retry_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  bool retrying_ = false;
  int dealer_fd_ = -1;
  int monitor_fd_ = -1;
  bool raised_ = false;
  bool waits_to_send_ = false; ///< the last send was refused
  std::optional<std::string> cannot_open_;
  zmq::context_t context_{1};
  std::optional<zmq::socket_t> dealer_;
  std::optional<connection_monitor> monitor_;
};

/// tcp://HOST:PORT with a port from 1 to 65535.
bool is_address(std::string_view text) {
  constexpr std::string_view scheme = "tcp://";
  if (!text.starts_with(scheme)) return false;
  text.remove_prefix(scheme.size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view digits = text.substr(colon + 1);
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc{} && end == digits.data() + digits.size() && port >= 1 && port <= 65535;
}

} // namespace

result<std::unique_ptr<client_socket>> client_socket::open(options o) {
  if (o.endpoints.empty()) return failure("bad_address", "no controller address is given; expected tcp://HOST:PORT");
  for (const auto& endpoint : o.endpoints)
    if (!is_address(endpoint))
      return failure("bad_address",
                     "controller address '" + endpoint + "' is not a tcp://HOST:PORT with a port from 1 to 65535");
  if (!is_public_key(o.server_public_key))
    return failure("bad_key",
                   "the controller's public key is not a Z85 text of 40 characters; take it from `quell worker add`");
  const auto derived = key_pair::from_secret(o.keys.secret_key);
  if (!derived) return tl::unexpected(derived.error());
  if (derived->public_key != o.keys.public_key)
    return failure("bad_key", "our public key does not belong to our secret key");
  try {
    const urgent_offspring io_thread(o.io);
    return std::make_unique<zmq_client>(std::move(o));
  } catch (const std::exception& error) {
    return failure("bad_address", std::string("cannot make a socket: ") + error.what());
  }
}

} // namespace quell
