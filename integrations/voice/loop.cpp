// Frames over Asio: TCP, TLS and Unix streams. Each connection has one reader and one writer.
#include "integrations/voice/loop.hpp"

#include <utility>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <future>
#include <list>
#include <optional>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "integrations/voice/door_tls.hpp"
#include "integrations/voice/words.hpp"

namespace quell::integrations::voice {
namespace {

namespace asio = boost::asio;
using voice_io_error = boost::system::error_code;
using any_stream = asio::generic::stream_protocol;
using any_socket = any_stream::socket;
using any_acceptor = asio::basic_socket_acceptor<any_stream>;
using tls_stream = asio::ssl::stream<any_socket>;

constexpr std::size_t most_unsent_bytes = 4 << 20, read_bytes = 16 << 10;
constexpr std::chrono::seconds close_timeout{1}, handshake_timeout{10}, parting_timeout{1};
constexpr std::chrono::milliseconds parting_look{5};

/// A connection as its listener sees it.
class counted_link {
 public:
  virtual ~counted_link() = default;
  /// No whole frame has come from it yet.
  virtual bool is_silent() const = 0;
  /// It is told why, and closed.
  virtual void give_way() = 0;
};

const fault& no_room() {
  static const fault why{"too_many_clients", "as many clients are connected as may be; come again later", {}};
  return why;
}

frame farewell(const fault& why) { return {tag::error, error_json(why.code, why.detail)}; }

any_socket& lowest(any_socket& s) { return s; }
any_socket& lowest(tls_stream& s) { return s.next_layer(); }

template <class Stream>
class open_link final : public frame_link, public counted_link, public std::enable_shared_from_this<open_link<Stream>> {
 public:
  /// `tls`: kept for as long as the connection lives; nullptr for one in the clear.
  open_link(Stream stream, direction reads, bool is_loopback, tls_context tls = nullptr)
      : tls_(std::move(tls)), stream_(std::move(stream)), reader_(reads), is_loopback_(is_loopback),
        deadline_(lowest(stream_).get_executor()) {}

  void begin(hooks h) override {
    hooks_ = std::move(h);
    read();
  }

  void send(const frame& f) override {
    if (is_closing_ || is_gone_) return;
    unsent_ += encode(f);
    if (unsent_.size() > most_unsent_bytes) return lose();
    write();
  }

  void close() override {
    if (std::exchange(is_closing_, true)) return;
    hooks_ = {};
    deadline_.expires_after(close_timeout);
    deadline_.async_wait([self = this->shared_from_this()](const voice_io_error& error) {
      if (!error) self->shut();
    });
    write();
    if (!is_writing_) shut();
  }

  bool is_lost() const override { return is_gone_; }
  bool is_loopback() const override { return is_loopback_; }
  bool is_silent() const override { return is_silent_ && !is_closing_ && !is_gone_; }
  void give_way() override {
    if (!hooks_.broken) return shut(); // it still shakes hands
    std::exchange(hooks_, {}).broken(no_room());
  }

  template <class Done>
  void shake_hands(Done done) {
    deadline_.expires_after(handshake_timeout);
    deadline_.async_wait([self = this->shared_from_this()](const voice_io_error& error) {
      if (!error) self->shut();
    });
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = this->shared_from_this(), done](const voice_io_error& error) {
                              self->deadline_.cancel();
                              if (!error) done(self);
                            });
  }

 private:
  void read() {
    stream_.async_read_some(asio::buffer(buffer_),
                            [self = this->shared_from_this()](const voice_io_error& error, std::size_t n) {
                              if (self->is_closing_) return;
                              if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
                                return self->half_close();
                              if (error) return self->lose();
                              if (self->is_deaf_) return self->read();
                              self->reader_.put({self->buffer_.data(), n});
                              self->hear();
                            });
  }

  void hear() {
    while (!is_closing_ && !is_gone_) {
      const auto f = reader_.next();
      if (!f) {
        is_deaf_ = true;
        if (hooks_.broken) std::exchange(hooks_, {}).broken(f.error());
        // Bytes that are unread when the socket closes would reset the connection, and lose our last frames.
        return is_closing_ || is_gone_ ? void() : read();
      }
      if (!*f) return read();
      is_silent_ = false;
      const auto on_frame = hooks_.on_frame; // a copy: the callback may close this connection
      if (on_frame) on_frame(**f);
    }
  }

  void write() {
    if (is_writing_ || unsent_.empty()) return;
    is_writing_ = true;
    sending_ = std::exchange(unsent_, {});
    asio::async_write(stream_, asio::buffer(sending_),
                      [self = this->shared_from_this()](const voice_io_error& error, std::size_t) {
                        self->is_writing_ = false;
                        if (error) return self->lose();
                        self->write();
                        if (self->is_closing_ && !self->is_writing_) self->shut();
                      });
  }

  void lose() {
    shut();
    if (std::exchange(is_gone_, true)) return;
    if (const auto gone = std::exchange(hooks_, {}).gone) gone();
  }

  /// The peer sends nothing more. It may still read: what it is owed is sent until `close`, or until a write fails.
  void half_close() {
    if (const auto gone = std::exchange(hooks_, {}).gone) gone();
  }

  void shut() {
    voice_io_error ignored;
    deadline_.cancel();
    lowest(stream_).shutdown(asio::socket_base::shutdown_both, ignored);
    lowest(stream_).close(ignored);
  }

  const tls_context tls_;
  Stream stream_;
  frame_reader reader_;
  const bool is_loopback_;
  asio::steady_timer deadline_;
  hooks hooks_;
  std::array<char, read_bytes> buffer_{};
  std::string unsent_, sending_;
  bool is_writing_ = false, is_closing_ = false, is_gone_ = false, is_silent_ = true, is_deaf_ = false;
};

tl::unexpected<fault> bad_address(const std::string& address, const std::string& why) {
  return failure("bad_address",
                 "cannot listen on " + address + ": " + why + "; give HOST:PORT, such as 127.0.0.1:7713, or unix:PATH");
}

bool is_from_loopback(const any_socket& s) {
  voice_io_error error;
  const auto far = s.remote_endpoint(error);
  if (error) return false;
  sockaddr_storage raw{};
  std::memcpy(&raw, far.data(), std::min(far.size(), sizeof raw));
  if (raw.ss_family == AF_UNIX) return true;
  if (raw.ss_family == AF_INET) return (ntohl(reinterpret_cast<const sockaddr_in&>(raw).sin_addr.s_addr) >> 24U) == 127;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(raw).sin6_addr;
  return raw.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six);
}

class asio_loop final : public voice_loop {
 public:
  asio_loop() : work_(asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}
  ~asio_loop() override { stop({}); }

  result<std::uint16_t> listen(const listening_place& at,
                               std::function<void(std::shared_ptr<frame_link>)> came) override;
  void post(std::function<void()> what) override { asio::post(io_, std::move(what)); }
  void after(std::chrono::milliseconds wait, std::function<void()> what) override {
    auto timer = std::make_shared<asio::steady_timer>(io_, wait);
    timer->async_wait([timer, what = std::move(what)](const voice_io_error& error) {
      if (!error) what();
    });
  }
  void stop(std::function<void()> farewell) override {
    if (farewell && thread_.joinable()) part(std::move(farewell));
    work_.reset();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    for (const auto& link : links_)
      if (const auto open = link.lock()) open->close(); // breaks the cycle: its callbacks own us
    for (const auto& path : paths_) ::unlink(path.c_str());
    paths_.clear();
  }

 private:
  struct entrance {
    explicit entrance(asio::io_context& io) : acceptor(io) {}
    any_acceptor acceptor;
    listening_place at;
    std::function<void(std::shared_ptr<frame_link>)> came;
    std::optional<door_tls> tls;
    std::list<std::weak_ptr<counted_link>> open; ///< the oldest first
  };
  result<std::uint16_t> bind_tcp(entrance& e);
  result<std::uint16_t> bind_unix(entrance& e, const std::string& path);
  void accept(const std::shared_ptr<entrance>& e);
  bool has_room(entrance& e);
  void take(const std::shared_ptr<entrance>& e, any_socket socket);

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  void part(std::function<void()> farewell) {
    const auto parted = std::make_shared<std::promise<void>>(); // a late look finds it
    post([this, farewell = std::move(farewell), parted] {
      farewell();
      wait_for_links(parted);
    });
    (void)parted->get_future().wait_for(parting_timeout);
  }
  void wait_for_links(const std::shared_ptr<std::promise<void>>& parted) {
    std::erase_if(links_, [](const auto& one) { return one.expired(); });
    if (links_.empty()) return parted->set_value();
    after(parting_look, [this, parted] { wait_for_links(parted); });
  }
  void let_in(const std::shared_ptr<entrance>& e, std::shared_ptr<frame_link> link) {
    std::erase_if(links_, [](const auto& one) { return one.expired(); });
    links_.push_back(link);
    e->came(std::move(link));
  }

  std::list<std::string> paths_;
  std::list<std::weak_ptr<frame_link>> links_;
  std::thread thread_; ///< last: it uses all members above
};

result<std::uint16_t> asio_loop::bind_tcp(entrance& e) {
  const auto& address = e.at.address;
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return bad_address(address, "the port is missing");
  std::uint16_t port = 0;
  const auto digits = std::string_view(address).substr(colon + 1);
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (bad != std::errc{} || end != digits.data() + digits.size())
    return bad_address(address, "the port is not a number");
  auto host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  voice_io_error error;
  const auto ip = asio::ip::make_address(host, error);
  if (error) return bad_address(address, "'" + host + "' is not an IP address");
  const asio::ip::tcp::endpoint at(ip, port);
  e.acceptor.open(at.protocol(), error);
  if (!error) e.acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) e.acceptor.bind(any_stream::endpoint(at), error);
  if (!error) e.acceptor.listen(64, error);
  if (error == asio::error::address_in_use)
    return failure("address_in_use", "cannot listen on " + address + ": another process uses this port; give another");
  if (error) return bad_address(address, error.message());
  const auto in_use = e.acceptor.local_endpoint(error);
  if (error) return bad_address(address, error.message());
  sockaddr_storage raw{};
  std::memcpy(&raw, in_use.data(), std::min(in_use.size(), sizeof raw));
  return ntohs(raw.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(raw).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(raw).sin_port);
}

result<std::uint16_t> asio_loop::bind_unix(entrance& e, const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
    return bad_address("unix:" + path, "a path has 1 to 107 bytes");
  const asio::local::stream_protocol::endpoint at(path);
  struct stat there {};
  voice_io_error error;
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return bad_address("unix:" + path, "a file that is not a socket is there; move it away");
    asio::local::stream_protocol::socket probe(io_);
    probe.connect(at, error);
    if (!error) return failure("address_in_use", "cannot listen on unix:" + path + ": another process answers there");
    ::unlink(path.c_str());
  }
  error = {};
  e.acceptor.open(at.protocol(), error);
  if (!error) e.acceptor.bind(any_stream::endpoint(at), error);
  if (!error && ::chmod(path.c_str(), 0600) != 0) error = voice_io_error(errno, boost::system::system_category());
  if (!error) e.acceptor.listen(16, error);
  if (error) return bad_address("unix:" + path, error.message());
  paths_.push_back(path);
  return std::uint16_t{0};
}

result<std::uint16_t> asio_loop::listen(const listening_place& at,
                                        std::function<void(std::shared_ptr<frame_link>)> came) {
  constexpr std::string_view unix_head = "unix:";
  auto e = std::make_shared<entrance>(io_);
  e->at = at;
  e->came = std::move(came);
  if (!at.tls_cert.empty()) {
    auto tls = door_tls::open(at.tls_cert, at.tls_key, at.warn);
    if (!tls) return tl::unexpected(tls.error());
    e->tls = std::move(*tls);
  }
  const bool is_unix = at.address.starts_with(unix_head);
  auto port = is_unix ? bind_unix(*e, at.address.substr(unix_head.size())) : bind_tcp(*e);
  if (!port) return port;
  post([this, e] { accept(e); });
  return port;
}

/// A full entrance closes the oldest connection that has said nothing: otherwise anybody who connects and stays silent
/// could keep all others out.
bool asio_loop::has_room(entrance& e) {
  std::erase_if(e.open, [](const auto& one) { return one.expired(); });
  if (e.open.size() < e.at.most) return true;
  const auto silent = std::find_if(e.open.begin(), e.open.end(), [](const auto& one) {
    const auto link = one.lock();
    return link && link->is_silent();
  });
  if (silent == e.open.end()) return false;
  const auto link = silent->lock();
  e.open.erase(silent);
  link->give_way();
  return true;
}

void asio_loop::take(const std::shared_ptr<entrance>& e, any_socket socket) {
  const bool is_near = is_from_loopback(socket);
  const bool may_stay = has_room(*e);
  if (e->tls) {
    if (!may_stay) return; // the socket closes; a farewell would cost a handshake
    auto context = e->tls->newest();
    tls_stream stream(std::move(socket), *context);
    auto link = std::make_shared<open_link<tls_stream>>(std::move(stream), e->at.reads, is_near, std::move(context));
    e->open.push_back(link);
    return link->shake_hands([this, e](std::shared_ptr<frame_link> shaken) { let_in(e, std::move(shaken)); });
  }
  auto link = std::make_shared<open_link<any_socket>>(std::move(socket), e->at.reads, is_near);
  if (!may_stay) {
    link->send(farewell(no_room()));
    return link->close();
  }
  e->open.push_back(link);
  let_in(e, std::move(link));
}

void asio_loop::accept(const std::shared_ptr<entrance>& e) {
  e->acceptor.async_accept([this, e](const voice_io_error& error, any_socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) return after(std::chrono::milliseconds{100}, [this, e] { accept(e); }); // out of descriptors
    take(e, std::move(socket));
    accept(e);
  });
}

} // namespace

std::unique_ptr<voice_loop> voice_loop::start() { return std::make_unique<asio_loop>(); }

} // namespace quell::integrations::voice
