// The worker's end: a queue of requests that never blocks, and the guardian's messages as events.
#include "worker/guardian/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "worker/guardian/launch.hpp"
#include "worker/guardian/system.hpp"
#include "worker/guardian/wire.hpp"

namespace quell::worker {

void unique_fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}
unique_fd::~unique_fd() { reset(); }
unique_fd& unique_fd::operator=(unique_fd&& o) noexcept {
  if (this != &o) reset(o.release());
  return *this;
}

namespace {

class connected_client final : public guardian_client {
 public:
  explicit connected_client(launched_guardian launched) : guardian_(std::move(launched)) {}

  ~connected_client() override {
    guardian_.socket.reset(); // orders the guardian to kill everything and end
    tasks_.clear();
    wait_for_end(5000);
  }

  bool set_up() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    local_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_ || !local_) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = local_.get();
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, local_.get(), &event) < 0) return false;
    event.data.fd = guardian_.socket.get();
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, guardian_.socket.get(), &event) == 0;
  }

  const containment_report& report() const override { return guardian_.report; }
  std::int32_t pid() const override { return guardian_.pid; }
  int descriptor() const override { return epoll_.get(); }

  std::vector<guardian_event> receive() override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(local_.get(), &count, sizeof count);
    std::vector<guardian_event> events = std::move(local_events_);
    local_events_.clear();
    flush();
    std::string datagram(datagram_limit_bytes, '\0');
    while (guardian_.socket) {
      const ssize_t got = ::recv(guardian_.socket.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) {
        lost(events);
        break;
      }
      for (auto& event : decode_events(std::string_view(datagram.data(), static_cast<std::size_t>(got))))
        if (note(event)) events.push_back(std::move(event));
    }
    return events;
  }

  void spawn(spawn_request r) override {
    const auto operation = r.operation;
    if (auto why = try_spawn(std::move(r)); !why.empty()) say_here(task_spawn_failed{operation, std::move(why)});
  }

  bool go(const operation_id& operation) override {
    auto at = tasks_.find(operation);
    if (at == tasks_.end() || !at->second.held || !at->second.hold) return false;
    const char byte = 1;
    const bool written = ::send(at->second.hold.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    at->second.hold.reset();
    at->second.go_written = written;
    return written;
  }

  void stop(const stop_request& r) override {
    auto at = tasks_.find(r.operation);
    if (at == tasks_.end()) return;
    at->second.hold.reset(); // a task without its go will never get one
    stop_order order{r.operation, !at->second.go_written, r.kill_at,
                     r.signal_at ? std::max<std::int64_t>(r.signal_at->ns, 0) : -1};
    send({encode_stop(order), {}});
  }

  void lease(boot_time base, std::chrono::milliseconds length) override {
    byte_writer out;
    out.put(request_tag::lease);
    out.put(base.ns);
    out.put(static_cast<std::int64_t>(length.count()));
    send({std::move(out.bytes()), {}});
  }

  void look(const operation_id& operation) override {
    if (!tasks_.contains(operation)) return;
    byte_writer out;
    out.put(request_tag::look);
    out.put_id(operation);
    send({std::move(out.bytes()), {}});
  }

 private:
  struct known_task {
    unique_fd hold; ///< the writing end: if it is closed without a byte, the task never runs
    bool held = false, go_written = false;
  };
  struct datagram {
    std::string bytes;
    std::vector<unique_fd> fds;
  };

  std::string try_spawn(spawn_request r) {
    if (!guardian_.socket) return "the guardian is gone";
    if (r.command.empty() || r.command[0].empty()) return "the command is empty";
    for (const auto* words : {&r.command, &r.environment})
      for (const auto& word : *words)
        if (word.find('\0') != std::string::npos) return "the command or the environment holds a NUL byte";
    if (r.directory.find('\0') != std::string::npos) return "the directory holds a NUL byte";
    const int signal = signal_number(r.stop_signal);
    if (signal == 0) return "there is no signal " + r.stop_signal;
    if (tasks_.contains(r.operation)) return "this operation has a task here already";
    if (!r.directory.starts_with('/')) { // the guardian's working directory is the root directory
      char here[PATH_MAX];
      if (::getcwd(here, sizeof here)) r.directory = std::string(here) + "/" + r.directory;
    }
    // A socket, not a pipe: writing to a dead pipe would raise SIGPIPE in a program that does not expect it.
    int hold[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hold) < 0)
      return "cannot make the hold: " + errno_text(errno) +
             (errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
    datagram out;
    unique_fd ours(hold[0]), theirs(hold[1]);
    out.fds.push_back(std::move(r.in));
    out.fds.push_back(std::move(r.out));
    out.fds.push_back(std::move(r.err));
    out.fds.push_back(std::move(theirs));
    for (const auto& fd : out.fds)
      if (!fd) return "a standard stream is missing";
    if (r.secrets.size() > most_secrets) return "it has more than " + std::to_string(most_secrets) + " secrets";
    const spawn_header header{r.operation,
                              r.pty,
                              false,
                              signal,
                              r.leader_exit,
                              r.lease ? r.lease->count() : -1,
                              static_cast<std::uint8_t>(r.secrets.size())};
    if (auto why = encode(header, encode_spawn_texts(r), out); !why.empty()) return why;
    for (auto& secret : r.secrets) out.fds.push_back(std::move(secret));
    tasks_.emplace(r.operation, known_task{std::move(ours), false, false});
    send(std::move(out));
    return {};
  }

  static std::string encode(spawn_header header, const std::string& texts, datagram& out) {
    if (texts.size() > request_limit_bytes) return "command, environment and directory together are larger than 4 MiB";
    if (texts.size() <= inline_request_bytes) {
      out.bytes = encode_spawn(header, texts);
      return {};
    }
    unique_fd file(::memfd_create("quell-spawn", MFD_CLOEXEC));
    if (!file) return "cannot make a memory file for a long command: " + errno_text(errno);
    for (std::size_t done = 0; done < texts.size();) {
      const ssize_t n = ::write(file.get(), texts.data() + done, texts.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return "cannot write a long command to a memory file: " + errno_text(errno);
      done += static_cast<std::size_t>(n);
    }
    out.fds.push_back(std::move(file));
    header.in_memfd = true;
    out.bytes = encode_spawn(header, {});
    return {};
  }

  void send(datagram out) {
    if (!guardian_.socket) return;
    queue_.push_back(std::move(out));
    if (queue_.size() == 1) flush();
  }

  void flush() {
    while (guardian_.socket && !queue_.empty()) {
      if (!send_now(queue_.front())) break;
      queue_.pop_front();
    }
    const bool wait = !queue_.empty();
    if (wait == waiting_ || !guardian_.socket) return;
    waiting_ = wait;
    epoll_event event{};
    event.events = EPOLLIN | (wait ? EPOLLOUT : 0U);
    event.data.fd = guardian_.socket.get();
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, guardian_.socket.get(), &event);
  }

  /// False if the request must be retried. A socket whose guardian has died reports that on reading.
  bool send_now(const datagram& out) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (5 + most_secrets))] = {};
    iovec piece{const_cast<char*>(out.bytes.data()), out.bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!out.fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * out.fds.size());
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int) * out.fds.size());
      for (std::size_t i = 0; i < out.fds.size(); ++i) {
        const int fd = out.fds[i].get();
        std::memcpy(CMSG_DATA(head) + i * sizeof(int), &fd, sizeof fd);
      }
    }
    while (true) {
      if (::sendmsg(guardian_.socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
      if (errno == EINTR) continue;
      // ETOOMANYREFS: too many descriptors are in flight; it passes when the guardian has received some.
      return errno != EAGAIN && errno != ENOBUFS && errno != ETOOMANYREFS && errno != ENOMEM;
    }
  }

  /// Updates this side's record; false for an event that must not reach the caller.
  bool note(guardian_event& event) {
    if (auto* held = std::get_if<task_held>(&event)) {
      auto at = tasks_.find(held->operation);
      if (at == tasks_.end() || !at->second.hold) return false; // stopped in the meantime: its end follows
      at->second.held = true;
    } else if (auto* refused = std::get_if<task_spawn_failed>(&event)) {
      tasks_.erase(refused->operation);
    } else if (auto* ended = std::get_if<task_ended_here>(&event)) {
      auto at = tasks_.find(ended->operation);
      if (at == tasks_.end()) return false;
      if (!at->second.go_written) { // only this side knows for certain that there was no go
        ended->exit.reset();
        ended->sent = task_ended_here::force::nothing;
      }
      tasks_.erase(at);
    }
    return true;
  }

  void say_here(guardian_event event) {
    local_events_.push_back(std::move(event));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto wrote = ::write(local_.get(), &one, sizeof one);
  }

  void lost(std::vector<guardian_event>& events) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, guardian_.socket.get(), nullptr);
    guardian_.socket.reset();
    queue_.clear();
    tasks_.clear();
    events.push_back(guardian_gone{wait_for_end(200)});
  }

  /// Reaps the guardian, whose descriptors are closed a moment before it can be reaped.
  std::string wait_for_end(int limit_ms) {
    if (guardian_.pid <= 0) return "the guardian is gone";
    pollfd over{guardian_.pidfd.get(), POLLIN, 0};
    if (guardian_.pidfd) ::poll(&over, 1, limit_ms);
    int status = 0;
    if (::waitpid(guardian_.pid, &status, WNOHANG) != guardian_.pid) return "the guardian closed its socket";
    guardian_.pid = 0;
    if (WIFSIGNALED(status)) return "the guardian was killed by signal " + signal_name(WTERMSIG(status));
    return "the guardian ended with code " + std::to_string(WEXITSTATUS(status));
  }

  launched_guardian guardian_;
  unique_fd epoll_, local_;
  std::unordered_map<operation_id, known_task> tasks_;
  std::deque<datagram> queue_;
  std::vector<guardian_event> local_events_;
  bool waiting_ = false;
};

} // namespace

result<std::unique_ptr<guardian_client>> guardian_client::launch(options o) {
  auto launched = launch_guardian(o);
  if (!launched) return tl::unexpected(launched.error());
  auto client = std::make_unique<connected_client>(std::move(*launched));
  if (!client->set_up()) return failure("guardian_failed", "cannot poll the guardian's socket: " + errno_text(errno));
  return client;
}

} // namespace quell::worker
