// Builds the new root and moves into it.
#include "worker/guardian/workspace_view.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "protocol/workspace_place.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// The new root stands here until it is the root. Every system has this folder, and the task gets one of its own.
constexpr const char* stage = "/tmp";
constexpr const char* root_size = "size=256k,nr_inodes=1k,mode=755";
constexpr const char* shared_memory_size = "size=256m,mode=1777";
constexpr const char* own_terminals = "newinstance,ptmxmode=0666,mode=0620";

int open_tree_at(int directory, const char* path, unsigned flags) {
  return static_cast<int>(::syscall(SYS_open_tree, directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
}

bool attach(int tree, const char* to) {
  return ::syscall(SYS_move_mount, tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

bool set_flags(int tree, const char* path, unsigned at, std::uint64_t set) {
  mount_attr change{};
  change.attr_set = set;
  return ::syscall(SYS_mount_setattr, tree, path, at, &change, sizeof change) == 0;
}

bool join(char (&to)[PATH_MAX], const char* folder, const char* name) {
  const int size = std::snprintf(to, sizeof to, "%s/%s", folder, name);
  return size > 0 && size < PATH_MAX;
}

bool write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::close(fd);
  errno = error;
  return done;
}

/// This process alone in user and mount namespaces, with its own user and group.
bool leave_for_user_namespace() {
  const auto uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  ::prctl(PR_SET_DUMPABLE, 1); // else the maps belong to root
  const bool done = ::unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
                    write_text("/proc/self/uid_map", uid + " " + uid + " 1") &&
                    write_text("/proc/self/gid_map", gid + " " + gid + " 1");
  const int error = errno;
  ::prctl(PR_SET_DUMPABLE, 0);
  errno = error;
  return done;
}

/// Binds one folder of the old root, with everything mounted below it. /proc stays writable: each process can change
/// only itself there.
bool bind_folder(const char* name, const char* to) {
  char from[PATH_MAX];
  if (!join(from, "", name) || ::mkdir(to, 0755) < 0) return false;
  const int tree = open_tree_at(AT_FDCWD, from, AT_RECURSIVE);
  if (tree < 0) return true; // it cannot be bound: it stays an empty folder
  const bool done =
      (std::strcmp(name, "proc") == 0 || set_flags(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, MOUNT_ATTR_RDONLY)) &&
      attach(tree, to);
  const int error = errno;
  ::close(tree);
  errno = error;
  return done;
}

bool bind_old_root() {
  DIR* entries = ::opendir("/");
  if (!entries) return false;
  bool done = true;
  while (const dirent* e = done ? ::readdir(entries) : nullptr) {
    const char* name = e->d_name;
    char from[PATH_MAX], to[PATH_MAX];
    struct stat is {};
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0 || std::strcmp(name, stage + 1) == 0 ||
        std::strcmp(name, workspace_mount + 1) == 0 || !join(from, "", name) || !join(to, stage, name) ||
        ::lstat(from, &is) < 0)
      continue;
    if (S_ISLNK(is.st_mode)) {
      char target[PATH_MAX];
      const ssize_t size = ::readlink(from, target, sizeof target - 1);
      if (size > 0) target[size] = 0;
      done = size <= 0 || ::symlink(target, to) == 0;
    } else if (S_ISDIR(is.st_mode)) {
      done = bind_folder(name, to);
    }
  }
  const int error = errno;
  ::closedir(entries);
  errno = error;
  return done;
}

bool put_own(int tree, const char* path) {
  char to[PATH_MAX];
  if (!join(to, stage, path)) return false;
  return (::mkdir(to, 0755) == 0 || errno == EEXIST) &&
         set_flags(tree, "", AT_EMPTY_PATH, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) && attach(tree, to);
}

/// Replaces a folder that all tasks would share; true if there is none.
bool cover(const char* path, const char* type, const char* options, unsigned long flags) {
  char to[PATH_MAX];
  struct stat is {};
  if (!join(to, stage, path)) return false;
  if (::lstat(to, &is) < 0 || !S_ISDIR(is.st_mode)) return true;
  return ::mount("quell-own", to, type, MS_NOSUID | flags, options) == 0;
}

bool share_scratch() {
  char from[PATH_MAX], to[PATH_MAX];
  struct stat is {};
  if (!join(from, stage, "tmp") || !join(to, stage, "var/tmp")) return false;
  if (::lstat(to, &is) < 0 || !S_ISDIR(is.st_mode)) return true;
  const int tree = open_tree_at(AT_FDCWD, from, 0);
  if (tree < 0) return false;
  const bool done = attach(tree, to);
  const int error = errno;
  ::close(tree);
  errno = error;
  return done;
}

/// /dev/ptmx, bound as a file, finds no terminals beside it. Where this fails, a task can make none.
void open_own_terminals() {
  char from[PATH_MAX], to[PATH_MAX];
  struct stat is {};
  if (!join(from, stage, "dev/pts/ptmx") || !join(to, stage, "dev/ptmx")) return;
  if (::lstat(to, &is) < 0 || !S_ISCHR(is.st_mode)) return; // or a link to pts/ptmx
  const int tree = open_tree_at(AT_FDCWD, from, 0);
  if (tree < 0) return;
  attach(tree, to);
  ::close(tree);
}

bool hide(const char* path) {
  return ::mount("quell-hidden", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=4k,nr_inodes=2,mode=0") == 0;
}

/// True, too, for a path that does not exist, is a file, cannot be reached, or was replaced by a link.
bool hide_if_there(const std::string& path) {
  char real[PATH_MAX];
  if (!::realpath(path.c_str(), real) || path != real) return true;
  return hide(path.c_str()) || errno == ENOENT || errno == ENOTDIR || errno == EACCES;
}

bool make_root(detached_pair own) {
  if (::mount("quell-root", stage, "tmpfs", MS_NOSUID | MS_NODEV, root_size) < 0) return false;
  if (!bind_old_root() || !put_own(own.files, "workspace") || !put_own(own.scratch, "tmp") || !share_scratch())
    return false;
  if (!cover("dev/shm", "tmpfs", shared_memory_size, MS_NODEV) ||
      !cover("dev/mqueue", "tmpfs", "size=4k,nr_inodes=2", MS_NODEV | MS_RDONLY) ||
      !cover("dev/pts", "devpts", own_terminals, MS_NOEXEC))
    return false;
  open_own_terminals();
  return set_flags(AT_FDCWD, stage, 0, MOUNT_ATTR_RDONLY);
}

bool move_in(detached_pair own) {
  const mode_t usual = ::umask(0);
  const bool made = make_root(own);
  const int error = errno;
  ::umask(usual);
  errno = error;
  if (!made) return false;
  if (::chdir(stage) < 0 || ::syscall(SYS_pivot_root, ".", ".") < 0 || ::umount2(".", MNT_DETACH) < 0) return false;
  return ::chdir("/") == 0;
}

} // namespace

detached_pair detach_workspace(int root, const std::string& name) {
  detached_pair out;
  out.files = open_tree_at(root, (name + "/files").c_str(), AT_SYMLINK_NOFOLLOW);
  if (out.files >= 0) out.scratch = open_tree_at(root, (name + "/tmp").c_str(), AT_SYMLINK_NOFOLLOW);
  if (out.files >= 0 && out.scratch < 0) {
    const int error = errno;
    ::close(out.files);
    out.files = -1;
    errno = error;
  }
  return out;
}

bool enter_workspace(const workspace_orders& orders) {
  const bool by_user = orders.means == view_means::user_namespace;
  if (by_user && !leave_for_user_namespace()) return false;
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return false;
  detached_pair own{orders.files, orders.scratch};
  if (by_user) {
    const int root = ::open(orders.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return false;
    own = detach_workspace(root, orders.name);
    ::close(root);
    if (own.files < 0 || own.scratch < 0) return false;
    if (!hide(orders.root)) return false;
    if (orders.hidden && !std::all_of(orders.hidden->begin(), orders.hidden->end(), hide_if_there)) return false;
  }
  if (!move_in(own)) return false;
  ::close(own.files);
  ::close(own.scratch);
  if (orders.file_limit == ~0ULL) return true;
  const rlimit limit{orders.file_limit, orders.file_limit};
  ::signal(SIGXFSZ, SIG_IGN); // then a write fails with EFBIG, which programs can report
  return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

int probe_workspace(view_means means, const std::string& root, int descriptor) {
  const pid_t pid = clone_process(0, -1);
  const auto failed = [] { return errno > 0 && errno < 128 ? errno : EINVAL; };
  if (pid == 0) {
    workspace_orders orders;
    orders.means = means;
    orders.root = root.c_str();
    orders.name = ".probe";
    if (means == view_means::mounts) {
      const auto own = detach_workspace(descriptor, orders.name);
      if (own.files < 0) ::_exit(failed());
      orders.files = own.files;
      orders.scratch = own.scratch;
    }
    ::_exit(enter_workspace(orders) ? 0 : failed());
  }
  if (pid < 0) return -pid;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

} // namespace quell::worker
