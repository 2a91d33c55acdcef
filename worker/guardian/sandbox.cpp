// Sets up the guardian's mount namespace, and confines a keeper and a leader before the go.
#include "worker/guardian/sandbox.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

constexpr auto names = std::to_array<std::string_view>({"chown",
                                                        "dac_override",
                                                        "dac_read_search",
                                                        "fowner",
                                                        "fsetid",
                                                        "kill",
                                                        "setgid",
                                                        "setuid",
                                                        "setpcap",
                                                        "linux_immutable",
                                                        "net_bind_service",
                                                        "net_broadcast",
                                                        "net_admin",
                                                        "net_raw",
                                                        "ipc_lock",
                                                        "ipc_owner",
                                                        "sys_module",
                                                        "sys_rawio",
                                                        "sys_chroot",
                                                        "sys_ptrace",
                                                        "sys_pacct",
                                                        "sys_admin",
                                                        "sys_boot",
                                                        "sys_nice",
                                                        "sys_resource",
                                                        "sys_time",
                                                        "sys_tty_config",
                                                        "mknod",
                                                        "lease",
                                                        "audit_write",
                                                        "audit_control",
                                                        "setfcap",
                                                        "mac_override",
                                                        "mac_admin",
                                                        "syslog",
                                                        "wake_alarm",
                                                        "block_suspend",
                                                        "audit_read",
                                                        "perfmon",
                                                        "bpf",
                                                        "checkpoint_restore"});

/// Files of /proc that uid 0 can write without any capability, and files that control the machine.
constexpr auto machine_files = std::to_array<const char*>(
    {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"});

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool make_read_only(const char* path) {
  if (::mount(path, path, nullptr, MS_BIND, nullptr) < 0) return errno == ENOENT;
  return ::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 nullptr) == 0;
}

/// Also applies to everything mounted below it.
bool make_tree_read_only(const char* path) {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_RDONLY;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &change, sizeof change) == 0;
}

/// True for a device that any user can open, or a computing device; never for a disk or the machine's memory.
bool is_open_to_all(const std::string& path, const struct stat& is) {
  if (!S_ISCHR(is.st_mode)) return false;
  const auto name = path.substr(path.rfind('/') + 1);
  return (is.st_mode & 06) == 06 || name == "kvm" || name == "kfd" || path.starts_with("/dev/dri/");
}

void collect_devices(const std::string& directory, dev_t device, int depth, std::vector<std::string>& out) {
  DIR* stream = ::opendir(directory.c_str());
  if (!stream) return;
  while (const dirent* entry = ::readdir(stream)) {
    const auto path = directory + "/" + entry->d_name;
    struct stat is {};
    if (entry->d_name[0] == '.' || ::lstat(path.c_str(), &is) < 0 || is.st_dev != device) continue;
    if (S_ISDIR(is.st_mode) && depth > 0) collect_devices(path, device, depth - 1, out);
    if (is_open_to_all(path, is) && out.size() < 256) out.push_back(path);
  }
  ::closedir(stream);
}

/// Leaves in /dev only the devices that every user can open. Other file systems below it (pts, shm) stay as they are.
bool close_devices() {
  struct stat root {};
  if (::stat("/dev", &root) < 0) return true;
  std::vector<std::string> kept;
  collect_devices("/dev", root.st_dev, 2, kept);
  for (const auto& path : kept)
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) < 0) return false;
  struct stat above {};
  if (::stat("/", &above) == 0 && above.st_dev == root.st_dev) { // not a mount of its own: make it one
    if (::mount("/dev", "/dev", nullptr, MS_BIND | MS_REC, nullptr) < 0) return false;
  }
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_NODEV;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, "/dev", 0, &change, sizeof change) == 0;
}

std::string failed(const std::string& what) { return what + ": " + errno_text(errno) + "."; }

} // namespace

std::optional<std::uint64_t> capability_bit(std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return std::uint64_t{1} << (at - names.begin());
}

void sandbox::prepare(bool tasks_mount_proc, std::vector<std::string>& limits) {
  if (!options_.on) {
    limits.emplace_back("The sandbox is off (worker.sandbox): a task may do what the worker's user may do.");
    return;
  }
  bounding_dropped_ = drop_each(); // this process executes nothing: the bounding set matters to tasks only
  if (::unshare(CLONE_NEWNS) < 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) {
    hidden_by_leaders_ = std::move(options_.hidden);
    limits.emplace_back(
        failed("No view of the file system of their own for tasks: they can read what the worker's user "
               "can read, quelld's state on the same machine with it, if it belongs to that user"));
    return;
  }
  own_mounts_ = true;
  proc_.reset(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (auto& directory : options_.hidden) pending_.push_back({std::move(directory), false});
  workspaces_.reset(::open(options_.workspaces.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!make_tree_read_only("/sys") && errno != EINVAL && errno != ENOENT)
    limits.emplace_back(failed("/sys cannot be made read-only for tasks"));
  for (const auto& path : mounts_of_type("cgroup"))
    if (!path.starts_with("/sys/") && !make_tree_read_only(path.c_str()))
      limits.emplace_back(failed("The cgroups at " + path + " cannot be made read-only for tasks"));
  for (const char* path : machine_files)
    if (!tasks_mount_proc && is_there(path) && !make_read_only(path))
      limits.emplace_back(failed(std::string(path) + " cannot be made read-only for tasks"));
  if (!close_devices()) limits.emplace_back(failed("The devices of the machine cannot be closed to tasks"));
  cover();
}

void sandbox::leave_proc() {
  if (own_mounts_ && proc_ && ::umount2("/proc", MNT_DETACH) == 0) reach_proc_through(proc_.get());
}

void sandbox::hide_also(std::string directory) {
  if (!own_mounts_) {
    const bool is_known =
        std::find(hidden_by_leaders_.begin(), hidden_by_leaders_.end(), directory) != hidden_by_leaders_.end();
    if (options_.on && !is_known && hidden_by_leaders_.size() < 4096)
      hidden_by_leaders_.push_back(std::move(directory));
    return;
  }
  const bool is_known =
      std::any_of(pending_.begin(), pending_.end(), [&](const pending& one) { return one.directory == directory; });
  if (!is_known && pending_.size() < 4096) pending_.push_back({std::move(directory), true});
}

void sandbox::cover() {
  if (!own_mounts_ || pending_.empty()) return;
  std::erase_if(pending_, [this](const pending& one) { return cover_one(one); });
}

bool sandbox::cover_one(const pending& one) const {
  const unique_fd there(::open(one.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!there) return false;
  const auto own = "self/fd/" + std::to_string(there.get());
  std::array<char, 4097> real{};
  const auto size = ::readlinkat(proc_.get(), own.c_str(), real.data(), real.size() - 1);
  if (size < 0) return false;
  // Its owner could replace it by a link to /usr.
  if (one.exact && one.directory != std::string_view(real.data(), static_cast<std::size_t>(size))) return false;
  // Another file system under the old path can even have the old one's number: compare what is visible there.
  struct stat is {};
  struct statfs on {};
  if (::fstat(there.get(), &is) == 0 && (is.st_mode & 07777) == 0 && ::fstatfs(there.get(), &on) == 0 &&
      on.f_type == TMPFS_MAGIC && (on.f_flags & ST_RDONLY) != 0)
    return true;
  if (::fchdir(proc_.get()) < 0) return false; // there can be no /proc in this namespace
  const bool covered = ::mount("quell-hidden", own.c_str(), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                               "size=4k,nr_inodes=2,mode=0") == 0;
  return ::chdir("/") == 0 && covered;
}

bool sandbox::mount_proc(bool is_root) const {
  // Mounts of the host still propagate here (slave). A copy of the guardian's own mounts is that already.
  if (!own_mounts_ && ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) return false;
  // A user who can unmount ours would see the host's /proc below it.
  if (own_mounts_ && ::umount2("/proc", MNT_DETACH) < 0 && errno != EINVAL) return false;
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0) return false;
  reach_proc_through(-1);
  if (!options_.on || !is_root) return true;
  return std::all_of(machine_files.begin(), machine_files.end(), make_read_only);
}

bool sandbox::drop_bounding(bool own_namespace) const {
  return !options_.on || (bounding_dropped_ && !own_namespace) || drop_each();
}

bool sandbox::drop_each() const {
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((options_.capabilities & (std::uint64_t{1} << bit)) != 0) continue;
    const int has = ::prctl(PR_CAPBSET_READ, bit);
    if (has < 0) break; // beyond the kernel's last capability
    // Without the right to drop there is nothing to lose either: no-new-privs prevents gaining it.
    if (has == 1 && ::prctl(PR_CAPBSET_DROP, bit) < 0 && errno != EPERM) return false;
  }
  return true;
}

bool sandbox::confine() const {
  if (!options_.on) return true;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &head, sets.data()) < 0) return false;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto kept = static_cast<std::uint32_t>(options_.capabilities >> (32 * half));
    sets[half].permitted &= kept;
    sets[half].effective &= kept;
    sets[half].inheritable = 0;
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (::syscall(SYS_capset, &head, sets.data()) < 0) return false;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return false;
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &refused_calls()) == 0;
}

} // namespace quell::worker
