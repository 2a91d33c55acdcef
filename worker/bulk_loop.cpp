// The bulk thread: one epoll instance for socket, commands, task streams and relayed connections.
#include "worker/bulk_loop.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <variant>

#include "protocol/codec.hpp"
#include "worker/clocks.hpp"
#include "worker/relay.hpp"
#include "worker/task_io.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;

/// The source of an epoll event: the upper byte of its data.
enum class event_source : std::uint8_t { wake, socket, task_out, task_err, task_in, relayed };

constexpr std::uint64_t token_of(event_source s, std::uint64_t serial) {
  return (static_cast<std::uint64_t>(s) << 56) | serial;
}

constexpr std::size_t most_outgoing = 100'000;
constexpr auto longest_rest = 50ms; ///< while tasks that were killed die
constexpr auto look_while_resting = 10ms;

struct finish_command {
  operation_id operation;
};
struct forget_command {
  operation_id operation;
};
struct hang_up_command {
  operation_id operation;
};
struct resize_command {
  operation_id operation;
  std::uint16_t rows;
  std::uint16_t columns;
};
struct deaths_command {
  std::size_t tasks;
};
struct session_command {
  std::optional<session_id> session;
};
struct keys_command {
  key_pair own;
  std::string controller;
};
using command = std::variant<keys_command, task_streams, finish_command, forget_command, hang_up_command,
                             resize_command, deaths_command, session_command>;

void raise(int fd) {
  const std::uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}
void lower(int fd) {
  std::uint64_t count = 0;
  (void)!::read(fd, &count, sizeof count);
}

class epoll_bulk_loop final : public bulk_loop {
 public:
  epoll_bulk_loop(settings s, std::unique_ptr<client_socket> socket, std::unique_ptr<relay> r)
      : settings_(std::move(s)), socket_(std::move(socket)), relay_(std::move(r)), url_(relay_->url()),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        reported_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        io_(
            {settings_.output, settings_.output_bytes, settings_.window_bytes}, epoll_.get(),
            [](std::uint64_t serial, task_io::port p) {
              switch (p) {
              case task_io::port::out:
                return token_of(event_source::task_out, serial);
              case task_io::port::err:
                return token_of(event_source::task_err, serial);
              case task_io::port::in:
                break;
              }
              return token_of(event_source::task_in, serial);
            },
            [this](const operation_id& id, stream which, const output_buffer::piece& p) {
              return transmit(id, which, p);
            },
            [this](wire::bulk_message m) { say(std::move(m)); }) {
    watch(wake_.get(), token_of(event_source::wake, 0));
    watch(socket_->descriptor(), token_of(event_source::socket, 0));
    relay_->attach(
        epoll_.get(), [](std::uint64_t id) { return token_of(event_source::relayed, id); },
        [this](wire::bulk_message m) { say(std::move(m)); });
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }
  ~epoll_bulk_loop() override {
    thread_.request_stop();
    raise(wake_.get());
    thread_.join();
  }

  const std::string& relay_url() const override { return url_; }
  void add(task_streams streams) override { post(std::move(streams)); }
  void finish(const operation_id& operation) override { post(finish_command{operation}); }
  void forget(const operation_id& operation) override { post(forget_command{operation}); }
  void hang_up(const operation_id& operation) override { post(hang_up_command{operation}); }
  void expect_deaths(std::size_t tasks) override { post(deaths_command{tasks}); }
  void resize(const operation_id& operation, std::uint16_t rows, std::uint16_t columns) override {
    post(resize_command{operation, rows, columns});
  }
  void session_opened(const session_id& session) override { post(session_command{session}); }
  void use(const key_pair& own, const std::string& controller) override { post(keys_command{own, controller}); }
  void session_ended() override { post(session_command{std::nullopt}); }

  int descriptor() const override { return reported_.get(); }
  std::vector<finished> take_finished() override {
    lower(reported_.get());
    const std::lock_guard lock(mutex_);
    return std::exchange(finished_, {});
  }
  bool flush(std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    flush_wanted_ = true;
    flushed_ = false;
    raise(wake_.get());
    return flushed_signal_.wait_for(lock, limit, [this] { return flushed_; });
  }

 private:
  void post(command c) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = commands_.empty();
      commands_.push_back(std::move(c));
    }
    if (first) raise(wake_.get());
  }

  void watch(int fd, std::uint64_t token) {
    epoll_event event{EPOLLIN, {.u64 = token}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void run(const std::stop_token& stop) {
    std::vector<epoll_event> events(256);
    while (!stop.stop_requested()) {
      rest();
      const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout());
      const boot_time at = boot_now();
      for (int i = 0; i < n; ++i) dispatch(events[static_cast<std::size_t>(i)], at);
      obey();
      receive_all();
      flush_outgoing();
      io_.turn(boot_now()); // after the acknowledgements, which open the window and end stalls
      watch_silence();
      answer_flush();
    }
  }

  /// Each process that dies closes its streams. While many die, that alone wakes this thread only now and then: it
  /// would take the processor from those that are still dying.
  void rest() {
    if (deaths_ == 0) return;
    if (boot_now() >= rest_until_) {
      deaths_ = 0;
      return;
    }
    std::array<pollfd, 2> fds{{{wake_.get(), POLLIN, 0}, {socket_->descriptor(), POLLIN, 0}}};
    (void)::poll(fds.data(), fds.size(), static_cast<int>(look_while_resting.count()));
  }

  void dispatch(const epoll_event& event, boot_time at) {
    const std::uint64_t serial = event.data.u64 & ((1ULL << 56) - 1);
    switch (static_cast<event_source>(event.data.u64 >> 56)) {
    case event_source::wake:
      lower(wake_.get());
      break;
    case event_source::socket:
      break; // checked in every iteration
    case event_source::task_out:
      io_.ready(serial, task_io::port::out, at);
      break;
    case event_source::task_err:
      io_.ready(serial, task_io::port::err, at);
      break;
    case event_source::task_in:
      io_.ready(serial, task_io::port::in, at);
      break;
    case event_source::relayed:
      relay_->ready(serial, event.events);
      break;
    }
  }

  void obey() {
    std::vector<command> commands;
    {
      const std::lock_guard lock(mutex_);
      commands.swap(commands_);
    }
    std::vector<finished> done;
    for (auto& c : commands) {
      if (auto* streams = std::get_if<task_streams>(&c)) {
        relay_->gate().task_begins(streams->operation, std::move(streams->token));
        io_.add(std::move(*streams));
      } else if (const auto* f = std::get_if<finish_command>(&c)) {
        relay_->gate().task_ends(f->operation);
        done.push_back({f->operation, io_.finish(f->operation, boot_now())});
        if (deaths_ > 0) --deaths_;
      } else if (const auto* g = std::get_if<forget_command>(&c)) {
        relay_->gate().task_ends(g->operation);
        io_.forget(g->operation);
      } else if (const auto* h = std::get_if<hang_up_command>(&c))
        io_.hang_up(h->operation);
      else if (const auto* r = std::get_if<resize_command>(&c))
        io_.resize(r->operation, r->rows, r->columns);
      else if (const auto* d = std::get_if<deaths_command>(&c)) {
        deaths_ = d->tasks;
        rest_until_ = boot_now() + longest_rest;
      } else if (const auto* s = std::get_if<session_command>(&c))
        session(s->session);
      else if (const auto* k = std::get_if<keys_command>(&c))
        use_now(*k);
    }
    if (done.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      finished_.insert(finished_.end(), done.begin(), done.end());
    }
    raise(reported_.get());
  }

  void use_now(const keys_command& k) {
    auto options = settings_.socket;
    options.keys = k.own;
    options.server_public_key = k.controller;
    auto fresh = client_socket::open(options);
    if (!fresh) { // the old socket is refused, and the next session retries
      spdlog::error("bulk link keeps its old keys: {}", fresh.error().detail);
      return;
    }
    session(std::nullopt);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket_->descriptor(), nullptr);
    settings_.socket = std::move(options);
    socket_ = std::move(*fresh);
    watch(socket_->descriptor(), token_of(event_source::socket, 0));
  }

  void session(std::optional<session_id> id) {
    session_ = id;
    outgoing_.clear();
    linked_ = false;
    io_.link(false);
    relay_->link(false);
    if (id) socket_->reset();
  }

  /// Sends the first message of each fresh connection; then everything unacknowledged is sent again.
  void greet() {
    if (!session_ || !socket_->send(wire::encode(wire::bulk_message{wire::bulk_hello{*session_}}))) return;
    connections_ = socket_->connections();
    linked_ = true;
    outgoing_.clear();
    relay_->link(true);
    io_.link(true);
    io_.rewind(boot_now());
    io_.turn(boot_now());
  }

  bool transmit(const operation_id& id, stream which, const output_buffer::piece& p) {
    return linked_ && outgoing_.empty() && socket_->send(wire::encode_output(id, which, p.offset, p.bytes, p.end));
  }

  void say(wire::bulk_message m) {
    if (!linked_) return;
    if (outgoing_.size() >= most_outgoing) return lose_link("the controller takes no more bulk frames");
    outgoing_.push_back(wire::encode(m));
  }

  void flush_outgoing() {
    while (!outgoing_.empty() && socket_->send(outgoing_.front())) outgoing_.pop_front();
  }

  void receive_all() {
    for (int i = 0; i < 256; ++i) {
      const auto frame = socket_->receive();
      if (!frame) break;
      if (!linked_) continue;
      auto m = wire::decode_bulk(*frame);
      if (!m) {
        lose_link("the controller sent a bulk frame that cannot be read: " + m.error().detail);
        break;
      }
      take(std::move(*m));
    }
    if (linked_ && socket_->connections() != connections_) {
      linked_ = false; // ZeroMQ repaired a broken connection, which the controller does not know without a hello
      relay_->link(false);
      io_.link(false);
    }
    if (session_ && !linked_) greet();
  }

  void take(wire::bulk_message m) {
    const boot_time at = boot_now();
    if (const auto* a = std::get_if<wire::output_ack>(&m))
      io_.receive(*a, at);
    else if (const auto* i = std::get_if<wire::input>(&m))
      io_.receive(*i);
    else if (const auto* d = std::get_if<wire::relay_data>(&m))
      relay_->receive(*d);
    else if (const auto* c = std::get_if<wire::relay_credit>(&m))
      relay_->receive(*c);
    else if (const auto* x = std::get_if<wire::relay_close>(&m))
      relay_->receive(*x);
  }

  void lose_link(const std::string& why) {
    spdlog::warn("bulk link is made anew: {}", why);
    session(session_);
  }

  void watch_silence() {
    const auto since = io_.silent_since();
    if (!linked_ || !since || boot_now() - *since < settings_.silence) return;
    spdlog::debug("bulk link was silent for {} ms: unacknowledged output is sent again", settings_.silence.count());
    io_.rewind(boot_now());
    io_.turn(boot_now());
  }

  int timeout() const {
    std::optional<boot_time> next = io_.next_turn();
    if (const auto since = io_.silent_since()) {
      const boot_time silent = *since + settings_.silence;
      if (!next || silent < *next) next = silent;
    }
    if (io_.blocked() || !outgoing_.empty()) {
      const boot_time soon = boot_now() + 20ms;
      if (!next || soon < *next) next = soon;
    }
    if (!next) return -1;
    const auto wait = std::chrono::ceil<milliseconds>(*next - boot_now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
  }

  void answer_flush() {
    const std::lock_guard lock(mutex_);
    if (!flush_wanted_ || !commands_.empty() || !io_.flushed()) return;
    flush_wanted_ = false;
    flushed_ = true;
    flushed_signal_.notify_all();
  }

  settings settings_;
  std::unique_ptr<client_socket> socket_;
  std::unique_ptr<relay> relay_;
  std::string url_;
  unique_fd epoll_, wake_, reported_;
  task_io io_;
  std::optional<session_id> session_;
  bool linked_ = false;
  std::size_t deaths_ = 0; ///< that are expected until `rest_until_`
  boot_time rest_until_{};
  std::uint64_t connections_ = 0;
  std::deque<std::string> outgoing_;

  std::mutex mutex_;
  std::vector<command> commands_;
  std::vector<finished> finished_;
  bool flush_wanted_ = false;
  bool flushed_ = false;
  std::condition_variable flushed_signal_;
  std::jthread thread_;
};

} // namespace

result<std::unique_ptr<bulk_loop>> bulk_loop::start(settings s) {
  auto listener = relay::listen();
  if (!listener) return tl::unexpected(listener.error());
  auto socket = client_socket::open(s.socket);
  if (!socket) return tl::unexpected(socket.error());
  return std::make_unique<epoll_bulk_loop>(std::move(s), std::move(*socket), std::move(*listener));
}

} // namespace quell::worker
