// Websockets over Boost.Beast, with and without TLS.
#include "integrations/chat/discord/gateway_socket.hpp"

#include <utility>

#include <atomic>
#include <deque>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "integrations/chat/discord/web_address.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete" // Asio's frame allocator, seen on one side of a coroutine only
#endif

namespace quell::integrations::chat::discord {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using gateway_io_error = beast::error_code;

constexpr std::size_t most_message_bytes = 16 << 20, most_waiting_bytes = 1 << 20;
constexpr std::chrono::seconds connect_timeout{20}, close_timeout{5};

auto into(gateway_io_error& error) { return asio::redirect_error(asio::use_awaitable, error); }

/// One connection, with or without TLS.
class any_socket {
 public:
  virtual ~any_socket() = default;
  virtual void send(std::string text) = 0;
  /// No event is reported any more.
  virtual void hang_up(std::uint16_t code) = 0;
};

using plain_socket = beast::websocket::stream<beast::tcp_stream>;
using tls_socket = beast::websocket::stream<beast::ssl_stream<beast::tcp_stream>>;

template <class Stream>
class socket_of final : public any_socket, public std::enable_shared_from_this<socket_of<Stream>> {
 public:
  template <class... Arguments>
  socket_of(asio::io_context& io, const gateway_socket::listener& notify, std::uint64_t number, web_address to,
            Arguments&... more)
      : io_(io), notify_(notify), number_(number), to_(std::move(to)), stream_(io, more...) {}

  void start() {
    asio::co_spawn(
        io_, [self = this->shared_from_this()] { return self->run(); }, asio::detached);
  }

  void send(std::string text) override {
    if (is_silent_ || !is_open_) return;
    waiting_bytes_ += text.size();
    waiting_.push_back(std::move(text));
    if (waiting_bytes_ > most_waiting_bytes) return lose(0, "it takes nothing any more");
    if (waiting_.size() == 1) write();
  }

  void hang_up(std::uint16_t code) override {
    if (std::exchange(is_silent_, true)) return;
    if (!is_open_) return cut();
    auto self = this->shared_from_this();
    // Closing waits for the write in progress, or breaks off at the timeout set on the stream.
    stream_.async_close(beast::websocket::close_reason(static_cast<beast::websocket::close_code>(code)),
                        [self](gateway_io_error) { self->cut(); });
  }

 private:
  asio::awaitable<void> run() {
    const auto self = this->shared_from_this();
    std::string why;
    try {
      gateway_io_error error;
      co_await open(error);
      if (!error) co_await listen(error);
      why = error.message();
    } catch (const std::exception& e) {
      why = e.what();
    }
    const auto reason = stream_.reason();
    const bool is_closed = reason.code != beast::websocket::close_code::none;
    lose(is_closed ? static_cast<std::uint16_t>(reason.code) : std::uint16_t{0},
         is_closed ? std::string(reason.reason.data(), reason.reason.size()) : why);
  }

  asio::awaitable<void> open(gateway_io_error& error) {
    auto& tcp = beast::get_lowest_layer(stream_);
    asio::ip::tcp::resolver resolver(io_);
    const auto places = co_await resolver.async_resolve(to_.host, to_.port, into(error));
    if (error || is_silent_) co_return;
    tcp.expires_after(connect_timeout);
    co_await tcp.async_connect(places, into(error));
    if (error || is_silent_) co_return;
    tcp.socket().set_option(asio::ip::tcp::no_delay(true));
    if constexpr (std::is_same_v<Stream, tls_socket>) {
      auto& tls = stream_.next_layer();
      if (!SSL_set_tlsext_host_name(tls.native_handle(), to_.host.c_str())) error = asio::error::invalid_argument;
      tls.set_verify_callback(asio::ssl::host_name_verification(to_.host));
      if (!error) co_await tls.async_handshake(asio::ssl::stream_base::client, into(error));
      if (error || is_silent_) co_return;
    }
    tcp.expires_never(); // from here on the websocket handles timeouts
    stream_.set_option(
        beast::websocket::stream_base::timeout{connect_timeout, beast::websocket::stream_base::none(), false});
    stream_.set_option(beast::websocket::stream_base::decorator([](beast::websocket::request_type& request) {
      request.set(beast::http::field::user_agent, "DiscordBot (quell, 0.1)");
    }));
    stream_.read_message_max(most_message_bytes);
    const auto host = to_.host.find(':') == std::string::npos ? to_.host : "[" + to_.host + "]";
    co_await stream_.async_handshake(host + ":" + to_.port, to_.target, into(error));
    if (error || is_silent_) co_return;
    stream_.set_option(
        beast::websocket::stream_base::timeout{close_timeout, beast::websocket::stream_base::none(), false});
    stream_.text(true);
    is_open_ = true;
    notify_.connected(number_);
  }

  asio::awaitable<void> listen(gateway_io_error& error) {
    beast::flat_buffer buffer;
    while (!error && !is_silent_) {
      co_await stream_.async_read(buffer, into(error));
      if (error || is_silent_) break;
      notify_.received(number_, std::string(static_cast<const char*>(buffer.cdata().data()), buffer.size()));
      buffer.consume(buffer.size());
      if (buffer.capacity() > 1 << 20) buffer.shrink_to_fit();
    }
    is_open_ = false;
  }

  void write() {
    auto self = this->shared_from_this();
    stream_.async_write(asio::buffer(waiting_.front()), [self](gateway_io_error error, std::size_t) {
      self->waiting_bytes_ -= self->waiting_.front().size();
      self->waiting_.pop_front();
      if (error) return self->lose(0, error.message());
      if (!self->waiting_.empty() && !self->is_silent_) self->write();
    });
  }

  void lose(std::uint16_t code, std::string why) {
    if (std::exchange(is_silent_, true)) return; // it was hung up, which closes it in time
    cut();
    notify_.lost(number_, code, std::move(why));
  }

  void cut() {
    gateway_io_error ignored;
    beast::get_lowest_layer(stream_).socket().close(ignored);
  }

  asio::io_context& io_;
  const gateway_socket::listener& notify_;
  const std::uint64_t number_;
  const web_address to_;
  Stream stream_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_open_ = false, is_silent_ = false;
};

} // namespace

struct gateway_socket::implementation {
  listener notify;
  asio::io_context io;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::weak_ptr<any_socket> socket; // used on the thread only
  std::atomic<std::uint64_t> last_number{0};
  std::thread thread;

  void connect(std::uint64_t number, const std::string& url) {
    auto to = websocket_address(url);
    if (!to) return notify.lost(number, 0, "\"" + url.substr(0, 200) + "\" is not an address of a websocket");
    if (to->tls)
      open<tls_socket>(number, std::move(*to), tls);
    else
      open<plain_socket>(number, std::move(*to));
  }
  template <class Stream, class... Arguments>
  void open(std::uint64_t number, web_address to, Arguments&... more) {
    const auto made = std::make_shared<socket_of<Stream>>(io, notify, number, std::move(to), more...);
    socket = made;
    made->start();
  }
};

gateway_socket::gateway_socket(std::unique_ptr<implementation> c) : implementation_(std::move(c)) {}
gateway_socket::~gateway_socket() { stop(); }

result<std::unique_ptr<gateway_socket>> gateway_socket::start(listener notify, const std::string& ca_file) {
  try {
    auto c = std::make_unique<implementation>();
    c->notify = std::move(notify);
    gateway_io_error error;
    c->tls.set_verify_mode(asio::ssl::verify_peer, error);
    if (ca_file.empty())
      c->tls.set_default_verify_paths(error);
    else
      c->tls.load_verify_file(ca_file, error);
    if (error) return failure(error_code::invalid_field, "ca_file " + ca_file + " cannot be used: " + error.message());
    c->thread = std::thread([at = c.get()] { at->io.run(); });
    return std::unique_ptr<gateway_socket>(new gateway_socket(std::move(c)));
  } catch (const std::exception& e) {
    return failure(error_code::internal, std::string("no thread for a websocket: ") + e.what());
  }
}

std::uint64_t gateway_socket::connect(const std::string& url) {
  const auto number = ++implementation_->last_number;
  asio::post(implementation_->io, [c = implementation_.get(), number, url] { c->connect(number, url); });
  return number;
}

void gateway_socket::send(std::string text) {
  asio::post(implementation_->io, [c = implementation_.get(), text = std::move(text)]() mutable {
    if (const auto socket = c->socket.lock()) socket->send(std::move(text));
  });
}

void gateway_socket::hang_up(std::uint16_t code) {
  asio::post(implementation_->io, [c = implementation_.get(), code] {
    if (const auto socket = c->socket.lock()) socket->hang_up(code);
    c->socket.reset();
  });
}

void gateway_socket::stop() {
  if (!implementation_->thread.joinable()) return;
  implementation_->io.stop();
  implementation_->thread.join();
}

} // namespace quell::integrations::chat::discord
