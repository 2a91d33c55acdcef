// The guardian's loop: the order in which it reads its sources, and its messages to the worker.
#include "worker/guardian/guardian.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "worker/guardian/life_lock.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

enum source : std::uint64_t { from_worker, from_children, from_clock };

} // namespace

guardian::guardian(options o)
    : worker_(std::move(o.worker)), life_(std::move(o.life)), report_(std::move(o.report)),
      subtree_(std::move(o.subtree)), sandbox_(std::move(o.confinement)), limiter_(std::move(o.limits)),
      open_files_limit_(o.open_files_limit), memory_can_be_lent_(o.memory_can_be_lent), name_(std::move(o.name)) {}

bool guardian::set_up() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  children_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  clock_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll_ || !children_ || !clock_) return false;
  const auto add = [&](int fd, std::uint64_t name) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  return add(worker_.get(), from_worker) && add(children_.get(), from_children) && add(clock_.get(), from_clock);
}

int guardian::run() {
  if (!set_up()) {
    const auto why = encode_launch_failure("the guardian cannot make its descriptors: " + errno_text(errno));
    ::send(worker_.get(), why.data(), why.size(), MSG_NOSIGNAL);
    return 1;
  }
  unsent_.push_back(encode_report(report_));
  flush();
  while (worker_here_ || !tasks_.empty()) turn();
  limiter_.remove(name_);
  if (subtree_) subtree_->remove();
  if (life_) life_lock::write_ended(life_.get());
  return 0;
}

void guardian::turn() {
  arm_clock();
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, more_to_hear_ ? 0 : -1);
  bool worker = false, children = false, clock = false;
  for (int i = 0; i < count; ++i) {
    switch (events[i].data.u64) {
    case from_worker:
      worker = true;
      break;
    case from_children:
      children = true;
      break;
    case from_clock:
      clock = true;
      break;
    default:
      hear_keeper(events[i].data.u64);
    }
  }
  // Ends before orders: a task that ended before a stop was read has ended by itself.
  if (children) reap_children();
  // Renewals that queued up while this process could not run are read one after the other. Only the last one counts, so
  // no lease is judged before all of them are read.
  if (worker || clock || more_to_hear_) hear_worker();
  if (!more_to_hear_ && std::exchange(sent_lease_, false)) check_leases();
  if (clock) clock_rang();
  flush();
}

void guardian::hear_worker() {
  if (!worker_here_) return;
  static char datagram[datagram_limit_bytes];
  more_to_hear_ = false;
  for (int count = 0; count < 32; ++count) { // then the other sources get their turn
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (5 + most_secrets))];
    iovec piece{datagram, sizeof datagram};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(worker_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      turns_unheard_ = 0;
      return;
    }
    if (got <= 0) return worker_left();
    std::vector<unique_fd> fds;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t size = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < size; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
        fds.emplace_back(fd);
      }
    }
    obey(std::string_view(datagram, static_cast<std::size_t>(got)), fds);
  }
  // A worker that never stops sending must not keep its lease alive that way: after this many iterations leases are
  // judged anyway.
  more_to_hear_ = ++turns_unheard_ < 100;
}

void guardian::hear_keeper(std::uint64_t serial) {
  auto at = tasks_.find(serial);
  if (at == tasks_.end() || !at->second->channel) return;
  auto& task = *at->second;
  while (true) {
    keeper_report report;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec piece{&report, sizeof report};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(task.channel.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) { // the keeper is dead or dying: its death arrives as a child's death
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, task.channel.get(), nullptr);
      task.channel.reset();
      return;
    }
    if (got != static_cast<ssize_t>(sizeof report)) continue;
    pid_t sender = 0; // numbered in this namespace: the kernel translates
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
      ucred who{};
      std::memcpy(&who, CMSG_DATA(part), sizeof who);
      sender = who.pid;
    }
    apply(task, report, sender);
  }
}

void guardian::reap_children() {
  signalfd_siginfo dropped[8];
  while (::read(children_.get(), dropped, sizeof dropped) > 0) {
  }
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    auto keeper = by_keeper_.find(pid);
    if (keeper == by_keeper_.end()) continue; // an orphan of a keeper that was killed
    const auto serial = keeper->second;
    by_keeper_.erase(keeper);
    hear_keeper(serial); // its last report is still in the channel
    keeper_ended(*tasks_.at(serial), status);
  }
  finish_reaped();
  if (orphans_) kill_orphans();
}

void guardian::arm_clock() {
  std::int64_t next = std::min({lease_check_at_, orphans_at_, tidy_at_, finish_by_});
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  if (next == clock_set_to_) return;
  clock_set_to_ = next;
  itimerspec when{};
  if (next != guarded_task::never) {
    next = std::max<std::int64_t>(next, 1);
    when.it_value.tv_sec = next / 1'000'000'000;
    when.it_value.tv_nsec = next % 1'000'000'000;
  }
  ::timerfd_settime(clock_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void guardian::clock_rang() {
  std::uint64_t times = 0;
  if (::read(clock_.get(), &times, sizeof times) < 0 && errno == EAGAIN) return;
  clock_set_to_ = guarded_task::never;
  const auto now = boot_now().ns;
  if (lease_check_at_ <= now && !more_to_hear_) check_leases();
  if (orphans_at_ <= now) kill_orphans();
  if (finish_by_ <= now) finish_reaped();
  if (tidy_at_ <= now) tidy();
  std::vector<std::uint64_t> due;
  for (auto at = timers_.begin(); at != timers_.end() && at->first <= now; ++at) due.push_back(at->second);
  for (const auto serial : due)
    if (auto at = tasks_.find(serial); at != tasks_.end()) on_time(*at->second, now);
}

void guardian::say(const guardian_event& event) {
  put_event(saying_, event);
  if (saying_.bytes().size() < datagram_limit_bytes / 4) return;
  unsent_.push_back(std::move(saying_.bytes()));
  saying_.bytes().clear();
}

void guardian::flush() {
  if (!saying_.bytes().empty()) {
    unsent_.push_back(std::move(saying_.bytes()));
    saying_.bytes().clear();
  }
  while (worker_here_ && !unsent_.empty()) {
    const auto& next = unsent_.front();
    if (::send(worker_.get(), next.data(), next.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) break;
      worker_left();
      break;
    }
    unsent_.pop_front();
  }
  if (!worker_here_) unsent_.clear();
  const bool wait = !unsent_.empty();
  if (wait == waiting_to_send_ || !worker_here_) return;
  waiting_to_send_ = wait;
  epoll_event event{};
  event.events = EPOLLIN | (wait ? EPOLLOUT : 0U);
  event.data.u64 = from_worker;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, worker_.get(), &event);
}

void guardian::worker_left() {
  if (!worker_here_) return;
  worker_here_ = false;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker_.get(), nullptr);
  worker_.reset();
  std::vector<std::uint64_t> all;
  for (const auto& [serial, task] : tasks_) all.push_back(serial);
  for (const auto serial : all)
    if (auto at = tasks_.find(serial); at != tasks_.end()) kill_task(*at->second);
}

guarded_task* guardian::find(const operation_id& operation) {
  auto at = by_operation_.find(operation);
  return at == by_operation_.end() ? nullptr : tasks_.at(at->second).get();
}

} // namespace quell::worker
