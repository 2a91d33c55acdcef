// A non-blocking socket with an optional TLS session over it. Reading and writing wait independently: a cancel's answer
// is read also while much audio is still being sent.
#include "cli/talk/frame_stream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace quell::cli {
namespace {

namespace voices = integrations::voice;

template <class T, void (*Free)(T*)>
struct freed {
  void operator()(T* what) const { Free(what); }
};
using tls_context = std::unique_ptr<SSL_CTX, freed<SSL_CTX, SSL_CTX_free>>;
using tls_session = std::unique_ptr<SSL, freed<SSL, SSL_free>>;

std::string last_tls_error(const SSL* tls) {
  if (const long bad = SSL_get_verify_result(tls); bad != X509_V_OK)
    return std::string("its certificate is not trusted: ") + X509_verify_cert_error_string(bad) +
           "; name its authority with QUELL_CA_FILE";
  const auto code = ERR_get_error();
  const char* why = code ? ERR_reason_error_string(code) : nullptr;
  return why ? why : "the connection ended in the handshake";
}

class socket_stream final : public frame_stream {
 public:
  socket_stream(event_loop& loop, voice_address to) : loop_(loop), to_(std::move(to)) {}
  ~socket_stream() override { close_socket(); }
  socket_stream(const socket_stream&) = delete;
  socket_stream& operator=(const socket_stream&) = delete;

  std::optional<problem> connect(const std::string& ca_file, milliseconds allowance);
  void begin(hooks h) override {
    hooks_ = std::move(h);
    loop_.watch(reads_, ready_for::reading, [this] { pump(); });
    pump(); // TLS can have read some already
  }
  void send(const voices::frame& f) override {
    if (is_over_) return;
    unsent_ += voices::encode(f);
    write();
  }

 private:
  std::optional<problem> encrypt(const std::string& ca_file);
  bool reach(const addrinfo& at, const bool& is_late);
  bool shake_hands(const bool& is_late);
  problem unreachable(const std::string& why) const {
    return local_problem(local_code::unreachable, "the voice gateway " + to_.text() + " cannot be reached: " + why);
  }
  void pump() {
    read();
    if (!is_over_) write();
  }
  void read();
  void write();
  void wait_for_room(bool on);
  void lose(const std::string& why);
  void close_socket();

  event_loop& loop_;
  const voice_address to_;
  int reads_ = -1, writes_ = -1; ///< two descriptors of one socket: the loop watches each for one thing
  tls_context context_;
  tls_session tls_;
  hooks hooks_;
  voices::frame_reader reader_{voices::direction::gateway_to_client};
  std::string unsent_;
  bool waits_for_room_ = false, is_over_ = false, has_read_ = false;
};

void socket_stream::close_socket() {
  if (reads_ < 0) return;
  wait_for_room(false);
  loop_.unwatch(reads_);
  tls_.reset();
  ::close(writes_);
  ::close(reads_);
  reads_ = writes_ = -1;
}

bool socket_stream::reach(const addrinfo& at, const bool& is_late) {
  reads_ = ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
  if (reads_ < 0) return false;
  writes_ = ::fcntl(reads_, F_DUPFD_CLOEXEC, 0);
  const int now = 1; // a cancel is five bytes and does not wait for more
  ::setsockopt(reads_, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
  int error = ::connect(reads_, at.ai_addr, at.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    bool is_ready = false;
    loop_.watch(writes_, ready_for::writing, [&is_ready] { is_ready = true; });
    loop_.run_until([&] { return is_ready || is_late; });
    loop_.unwatch(writes_);
    socklen_t size = sizeof error;
    ::getsockopt(reads_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (!is_ready) error = ETIMEDOUT;
  }
  if (error == 0) return true;
  close_socket();
  errno = error;
  return false;
}

std::optional<problem> socket_stream::connect(const std::string& ca_file, milliseconds allowance) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int bad = ::getaddrinfo(to_.host.c_str(), to_.port.c_str(), &wanted, &found); bad != 0)
    return unreachable(::gai_strerror(bad));
  bool is_late = false;
  const auto timer = loop_.after(allowance, [&is_late] { is_late = true; });
  bool is_there = false;
  for (const auto* at = found; at && !is_there && !is_late; at = at->ai_next) is_there = reach(*at, is_late);
  const std::string why = std::strerror(errno);
  ::freeaddrinfo(found);
  std::optional<problem> failed;
  if (!is_there) failed = unreachable(why);
  if (is_there && to_.is_tls) failed = encrypt(ca_file);
  if (is_there && to_.is_tls && !failed && !shake_hands(is_late))
    failed = unreachable((is_late ? std::string("the TLS handshake took too long") : last_tls_error(tls_.get())) +
                         " (for a gateway without TLS: --voice tcp://HOST:PORT)");
  loop_.forget(timer);
  return failed;
}

std::optional<problem> socket_stream::encrypt(const std::string& ca_file) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!context_) return unreachable("OpenSSL cannot begin");
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  const bool is_read = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_.get()) == 1
                                       : SSL_CTX_load_verify_file(context_.get(), ca_file.c_str()) == 1;
  if (!is_read) return local_problem(local_code::usage, "the certificates in " + ca_file + " cannot be read");
  tls_.reset(SSL_new(context_.get()));
  if (!tls_) return unreachable("OpenSSL cannot begin");
  SSL_set_fd(tls_.get(), reads_);
  auto* rules = SSL_get0_param(tls_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, to_.host.c_str()) != 1) {
    SSL_set1_host(tls_.get(), to_.host.c_str());
    SSL_set_tlsext_host_name(tls_.get(), to_.host.c_str());
  }
  SSL_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_connect_state(tls_.get());
  ERR_clear_error();
  return std::nullopt;
}

bool socket_stream::shake_hands(const bool& is_late) {
  for (;;) {
    const int done = SSL_do_handshake(tls_.get());
    if (done == 1) return true;
    const int wants = SSL_get_error(tls_.get(), done);
    if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE) return false;
    bool is_ready = false;
    const bool is_write = wants == SSL_ERROR_WANT_WRITE;
    const int on = is_write ? writes_ : reads_;
    loop_.watch(on, is_write ? ready_for::writing : ready_for::reading, [&is_ready] { is_ready = true; });
    loop_.run_until([&] { return is_ready || is_late; });
    loop_.unwatch(on);
    if (is_late) return false;
  }
}

void socket_stream::read() {
  std::array<char, 16384> bytes{};
  while (!is_over_) {
    ssize_t n = 0;
    if (tls_) {
      ERR_clear_error();
      n = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
      const int wants = n > 0 ? SSL_ERROR_NONE : SSL_get_error(tls_.get(), static_cast<int>(n));
      if (wants == SSL_ERROR_WANT_READ || wants == SSL_ERROR_WANT_WRITE) return;
    } else {
      n = ::read(reads_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
    }
    if (n <= 0) return lose("the connection to the voice gateway has ended");
    constexpr char tls_alert = 0x15;
    if (!std::exchange(has_read_, true) && bytes[0] == tls_alert && !tls_)
      return lose("the voice gateway speaks TLS: name it as --voice tls://" + to_.host + ":" + to_.port);
    reader_.put({bytes.data(), static_cast<std::size_t>(n)});
    for (;;) {
      const auto f = reader_.next();
      if (!f) return lose("the voice gateway speaks another language: " + f.error().detail);
      if (!*f) break;
      if (hooks_.on_frame) hooks_.on_frame(**f);
      if (is_over_) return;
    }
  }
}

void socket_stream::write() {
  while (!unsent_.empty() && !is_over_) {
    ssize_t n = 0;
    if (tls_) {
      ERR_clear_error();
      n = SSL_write(tls_.get(), unsent_.data(), static_cast<int>(unsent_.size()));
      if (n <= 0) break; // no room; or an error, which the next read reports
    } else {
      n = ::send(writes_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;
    }
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
  wait_for_room(!unsent_.empty() && !is_over_);
}

void socket_stream::wait_for_room(bool on) {
  if (on == std::exchange(waits_for_room_, on)) return;
  if (on)
    loop_.watch(writes_, ready_for::writing, [this] { write(); });
  else
    loop_.unwatch(writes_);
}

void socket_stream::lose(const std::string& why) {
  if (std::exchange(is_over_, true)) return;
  wait_for_room(false);
  loop_.unwatch(reads_);
  if (hooks_.lost) hooks_.lost(local_problem(local_code::unreachable, why));
}

} // namespace

answer<std::unique_ptr<frame_stream>> frame_stream::open(event_loop& loop, const voice_address& to,
                                                         const std::string& ca_file, milliseconds allowance) {
  auto made = std::make_unique<socket_stream>(loop, to);
  if (auto failed = made->connect(ca_file, allowance)) return tl::unexpected(std::move(*failed));
  return made;
}

} // namespace quell::cli
