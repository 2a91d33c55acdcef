// Starts tasks: requests of the worker, the clone, and the reports of keeper and leader until the exec.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "protocol/lease.hpp"
#include "worker/guardian/guardian.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

exit_state exit_of(int wait_status) {
  exit_state exit;
  if (WIFSIGNALED(wait_status))
    exit.signal = signal_name(WTERMSIG(wait_status));
  else
    exit.code = WEXITSTATUS(wait_status);
  return exit;
}

/// The texts of a big request, mapped for the duration of the clone.
class mapped_texts {
 public:
  explicit mapped_texts(int fd) {
    struct stat found {};
    if (::fstat(fd, &found) < 0 || found.st_size <= 0 || static_cast<std::size_t>(found.st_size) > request_limit_bytes)
      return;
    size_ = static_cast<std::size_t>(found.st_size);
    at_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  }
  ~mapped_texts() {
    if (at_ != MAP_FAILED) ::munmap(at_, size_);
  }
  mapped_texts(const mapped_texts&) = delete;
  mapped_texts& operator=(const mapped_texts&) = delete;
  std::string_view view() const {
    return at_ == MAP_FAILED ? std::string_view{} : std::string_view(static_cast<const char*>(at_), size_);
  }

 private:
  void* at_ = MAP_FAILED;
  std::size_t size_ = 0;
};

bool take_words(byte_reader& in, std::vector<char*>& words) {
  words.clear();
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) words.push_back(const_cast<char*>(in.take_text().data()));
  words.push_back(nullptr);
  return in.ok();
}

std::string exec_message(const std::string& command, const keeper_report& report) {
  if (report.code == 127 && command.find('/') == std::string::npos)
    return "cannot find " + command + " in the PATH of the task's environment";
  if (report.code == 126 && report.error == ENOENT)
    return "cannot execute " + command + ": it is there, but the interpreter that it names is not";
  return "cannot execute " + command + ": " + errno_text(report.error);
}

} // namespace

void guardian::obey(std::string_view datagram, std::vector<unique_fd>& fds) {
  byte_reader in(datagram);
  switch (in.take<request_tag>()) {
  case request_tag::spawn:
    return spawn(in, fds);
  case request_tag::stop: {
    const auto order = take_stop(in);
    if (in.ok()) stop(order);
    return;
  }
  case request_tag::lease: {
    const boot_time base{in.take<std::int64_t>()};
    const std::chrono::milliseconds length{in.take<std::int64_t>()};
    if (in.ok()) renew(base, length);
    return;
  }
  case request_tag::look: {
    auto* task = find(in.take_id());
    if (task) say(describe(*task, boot_now().ns));
    return;
  }
  }
}

void guardian::spawn(byte_reader& in, std::vector<unique_fd>& fds) {
  const auto header = take_spawn_header(in);
  const auto refuse = [&](std::string why) { say(task_spawn_failed{header.operation, std::move(why)}); };
  if (!in.ok()) return;
  if (find(header.operation)) return refuse("this operation has a task here already");
  const std::size_t first_secret = header.in_memfd ? 5 : 4;
  if (fds.size() != first_secret + header.secrets)
    return say(task_spawn_failed{
        header.operation,
        "the task's descriptors did not arrive; the limit of open files (ulimit -n) is too low for so many tasks",
        true});
  auto task = std::make_unique<guarded_task>();
  task->operation = header.operation;
  task->stop_signal = header.stop_signal > 0 && header.stop_signal < 65 ? header.stop_signal : 15;
  if (header.lease_ms >= 0) task->lease = std::chrono::milliseconds{header.lease_ms};
  if (!lease_base_) return refuse("the worker has no lease yet: nothing may start before its controller has answered");
  if (lease_over(*task, boot_now()))
    return refuse("the worker's lease is over: nothing starts before its controller answers again");

  task->serial = next_serial_++;
  std::string why;
  if (header.in_memfd) {
    const mapped_texts texts(fds[4].get());
    byte_reader big(texts.view());
    why = start(*task, header, big, fds);
  } else {
    why = start(*task, header, in, fds);
  }
  if (!why.empty()) {
    if (has_limit(task->limits)) limiter_.end(task->cgroup_name());
    return say(task_spawn_failed{header.operation, std::move(why), task->by_worker});
  }
  by_keeper_.emplace(task->keeper, task->serial);
  by_operation_.emplace(task->operation, task->serial);
  auto& placed = *tasks_.emplace(task->serial, std::move(task)).first->second;
  const auto length = placed.lease ? std::min(*placed.lease, lease_length_) : lease_length_;
  lease_check_at_ = std::min(lease_check_at_, (*lease_base_ + length - kill_margin(length)).ns);
}

std::string guardian::start(guarded_task& task, const spawn_header& header, byte_reader& texts,
                            std::vector<unique_fd>& fds) {
  const auto directory = texts.take_text();
  if (!take_words(texts, argv_) || !take_words(texts, envp_)) return "the request is malformed or larger than 4 MiB";
  if (argv_.size() < 2) return "the command is empty";
  const bool changes_user = texts.take<bool>();
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  if (changes_user) {
    uid = texts.take<std::uint32_t>();
    gid = texts.take<std::uint32_t>();
    for (auto left = texts.take<std::uint32_t>(); left > 0 && texts.ok(); --left)
      groups.push_back(texts.take<std::uint32_t>());
  }
  task_limits limits;
  limits.memory_bytes = texts.take<std::uint64_t>();
  limits.pids = texts.take<std::uint32_t>();
  limits.cpu_millis = texts.take<std::uint32_t>();
  limits.memory_required = texts.take<bool>();
  limits.pids_required = texts.take<bool>();
  limits.cpu_required = texts.take<bool>();
  for (auto left = texts.take<std::uint32_t>(); left > 0 && texts.ok(); --left)
    sandbox_.hide_also(std::string(texts.take_text()));
  const std::string workspace(texts.take_text());
  const auto file_limit = texts.take<std::uint64_t>();
  const std::string notice(texts.take_text());
  if (!texts.ok()) return "the request is malformed or larger than 4 MiB";
  task.directory = directory.substr(0, 300);
  task.command = std::string_view(argv_[0]).substr(0, 300);

  // A failure from here to the clone is not the task's fault: it can be retried, here later or elsewhere now.
  int ends[2];
  task.by_worker = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0;
  if (task.by_worker) return "cannot make the keeper's channel: " + errno_text(errno);
  task.channel.reset(ends[0]);
  unique_fd far(ends[1]);
  const int on = 1;
  ::setsockopt(task.channel.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);

  unique_fd cgroup;
  const auto name = task.cgroup_name();
  if (uses_cgroup()) {
    cgroup.reset(make_cgroup(subtree_->descriptor(), name.c_str()));
    if (cgroup.get() == -ENOENT && subtree_->is_gone() && subtree_->make_again() == 0)
      cgroup.reset(make_cgroup(subtree_->descriptor(), name.c_str()));
    task.by_worker = cgroup.get() < 0;
    if (cgroup.get() < 0)
      return "cannot make the cgroup " + subtree_->path() + "/" + name + ": " + errno_text(-cgroup.release());
    task.has_cgroup = true;
  }
  task.limits = limits;
  if (auto why = limiter_.begin(name, limits, cgroup.get()); !why.empty()) {
    if (task.has_cgroup) remove_cgroup(subtree_->descriptor(), name.c_str());
    return why;
  }
  sandbox_.cover();
  keeper_orders orders;
  orders.level = report_.level;
  orders.channel = far.get();
  orders.cgroup = cgroup.get();
  orders.life = life_.get();
  orders.hold = fds[3].get();
  orders.in = fds[0].get();
  orders.out = fds[1].get();
  orders.err = fds[2].get();
  orders.pty = header.pty;
  orders.leader_exit = header.leader_exit;
  orders.directory = directory.empty() ? "/" : directory.data();
  orders.argv = argv_.data();
  orders.envp = envp_.data();
  orders.guardian = ::getpid();
  orders.confinement = &sandbox_;
  orders.open_files_limit = open_files_limit_;
  orders.memory_can_be_lent = memory_can_be_lent_;
  orders.changes_user = changes_user;
  orders.uid = uid;
  orders.gid = gid;
  orders.groups = groups.data();
  orders.group_count = groups.size();
  std::array<int, most_secrets> secrets{};
  for (std::size_t i = header.in_memfd ? 5 : 4; i < fds.size(); ++i) secrets[orders.secret_count++] = fds[i].get();
  orders.secrets = secrets.data();

  unique_fd files, scratch;
  if (!workspace.empty()) {
    orders.workspace = sandbox_.workspace(workspace);
    if (orders.workspace.means == view_means::none) {
      const auto why = errno_text(errno);
      if (task.has_cgroup) remove_cgroup(subtree_->descriptor(), name.c_str());
      return "workspace_isolation: cannot open the workspace " + workspace + ": " + why;
    }
    files.reset(orders.workspace.files);
    scratch.reset(orders.workspace.scratch);
    orders.workspace.name = workspace.c_str();
    orders.workspace.file_limit = file_limit;
    orders.workspace.notice = notice.c_str();
  }

  const std::uint64_t spaces = uses_pidns() ? CLONE_NEWPID | CLONE_NEWNS : 0;
  const pid_t pid = clone_process(spaces, report_.level == containment::cgroup_pidns ? cgroup.get() : -1);
  if (pid == 0) run_keeper(orders);
  if (pid < 0) {
    task.by_worker = true;
    if (task.has_cgroup) remove_cgroup(subtree_->descriptor(), name.c_str());
    return "cannot clone a process: " + errno_text(-pid) +
           (pid == -EAGAIN ? "; the limit of processes is reached" : "");
  }
  task.keeper = pid;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = task.serial;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, task.channel.get(), &event);
  return {};
}

void guardian::apply(guarded_task& task, const keeper_report& report, pid_t sender) {
  if (report.held) {
    task.known.held = true;
    task.leader = sender;
    if (has_limit(task.limits)) {
      if (auto why = limiter_.enter(task.cgroup_name(), sender); !why.empty() && !task.killing) {
        task.refused = std::move(why);
        return kill_task(task);
      }
    }
    if (!task.killing) say(task_held{task.operation, sender});
    return;
  }
  const auto before = task.known;
  task.known = report;
  task.known.held = before.held;
  if (report.exec != before.exec) {
    if (report.exec == exec_state::succeeded) say(task_executing{task.operation});
    if (report.exec == exec_state::failed && report.step == start_step::exec)
      say(task_exec_failed{task.operation, report.code, exec_message(task.command, report)});
  }
  if (report.exited && !before.exited && report.exec == exec_state::succeeded) {
    task.exit = exit_of(report.wait_status);
    say(task_leader_exited{task.operation, *task.exit});
  }
}

void guardian::renew(boot_time base, std::chrono::milliseconds length) {
  lease_base_ = base;
  lease_length_ = length;
  sent_lease_ = true;
}

bool guardian::lease_over(const guarded_task& task, boot_time now) const {
  if (!lease_base_) return true;
  const auto end = [&](std::chrono::milliseconds length) { return *lease_base_ + length - kill_margin(length); };
  // Before its exec a task is also judged by the worker's lease: nothing starts after its end.
  const bool begun = task.known.exec == exec_state::succeeded;
  if (!begun && now >= end(lease_length_)) return true;
  return now >= end(task.lease.value_or(lease_length_));
}

} // namespace quell::worker
