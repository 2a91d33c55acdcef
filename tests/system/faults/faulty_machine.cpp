// A machine that fails on demand, for LD_PRELOAD into one of the programs: file calls below one directory that fail,
// and clocks that jump. The test sets the faults in a small shared file (QUELL_FAULTS_CONTROL) while the program runs;
// without the file every call goes straight through. Raw system calls: nothing here needs libc's own.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

/// Mirrored by harness/faults.py.
struct control_page {
  std::atomic<std::int64_t> wall_offset_ns;
  std::atomic<std::int64_t> boot_offset_ns;
  std::atomic<std::uint64_t> nth;    ///< the nth matching call fails; 0: none
  std::atomic<std::uint32_t> calls;  ///< which calls match, bits of `call`
  std::atomic<std::uint32_t> error;  ///< errno of the failure
  std::atomic<std::uint32_t> stays;  ///< 1: every later one fails too
  std::atomic<std::uint32_t> halves; ///< 1: a failing write writes the first half, as real disks do
  std::atomic<std::uint64_t> seen;   ///< matching calls since it was armed
  std::atomic<std::uint64_t> failed;
  char first[192]; ///< the first call that failed, for people
};

enum call : std::uint32_t { writes = 1, syncs = 2, opens = 4, sizes = 8, reads = 16, names = 32 };

control_page* page = nullptr;
char directory[512];
std::size_t directory_length = 0;

struct load {
  load() {
    const char* file = std::getenv("QUELL_FAULTS_CONTROL");
    const char* below = std::getenv("QUELL_FAULTS_DIRECTORY");
    if (!file) return;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    ::syscall(SYS_close, fd);
    if (below) directory_length = static_cast<std::size_t>(std::snprintf(directory, sizeof directory, "%s", below));
    if (at != MAP_FAILED) page = static_cast<control_page*>(at);
  }
} const loaded;

bool is_below(const char* path) {
  return directory_length > 0 && path && std::strncmp(path, directory, directory_length) == 0;
}

/// True if this call is the one that fails (errno is set).
bool fails(const char* name, const char* path) {
  const auto n = ++page->seen;
  const auto nth = page->nth.load();
  if (n < nth || (n > nth && !page->stays)) return false;
  if (++page->failed == 1) std::snprintf(page->first, sizeof page->first, "%s %s", name, path + directory_length);
  errno = static_cast<int>(page->error.load());
  return true;
}

bool is_armed(call what) { return page && page->nth.load() != 0 && (page->calls.load() & what) != 0; }

bool path_fails(call what, const char* name, const char* path) {
  return is_armed(what) && is_below(path) && fails(name, path);
}

bool descriptor_fails(call what, const char* name, int fd) {
  if (!is_armed(what)) return false;
  char link[64], path[512];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return is_below(path) && fails(name, path);
}

int opened(int at, const char* path, int flags, mode_t mode, const char* name) {
  if (path_fails(opens, name, path)) return -1;
  return static_cast<int>(::syscall(SYS_openat, at, path, flags, mode));
}

ssize_t written(const char* name, int fd, const void* from, std::size_t size, off_t at) {
  const bool placed = at >= 0;
  const bool failing = descriptor_fails(writes, name, fd);
  const int error = errno;
  if (failing && page->halves) size /= 2;
  ssize_t n = 0;
  if (!failing || (page->halves && size > 0))
    n = placed ? ::syscall(SYS_pwrite64, fd, from, size, at) : ::syscall(SYS_write, fd, from, size);
  if (!failing) return n;
  errno = error;
  return -1;
}

ssize_t got(const char* name, int fd, void* to, std::size_t size, off_t at) {
  if (descriptor_fails(reads, name, fd)) return -1;
  return at >= 0 ? ::syscall(SYS_pread64, fd, to, size, at) : ::syscall(SYS_read, fd, to, size);
}

mode_t mode_in(int flags, std::va_list& rest) {
  return (flags & (O_CREAT | O_TMPFILE)) ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

std::int64_t boot_offset() { return page ? page->boot_offset_ns.load() : 0; }

void add(timespec& t, std::int64_t ns) {
  const std::int64_t all = static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec + ns;
  t.tv_sec = all / 1'000'000'000;
  t.tv_nsec = all % 1'000'000'000;
}

// The one timer on CLOCK_BOOTTIME that a guardian has: set again when the clock jumps, as the kernel does.
int boot_timer = -1;
itimerspec boot_timer_value{};
std::int64_t boot_timer_offset = 0;

void set_boot_timer() {
  boot_timer_offset = boot_offset();
  auto value = boot_timer_value;
  if (value.it_value.tv_sec != 0 || value.it_value.tv_nsec != 0) {
    add(value.it_value, -boot_timer_offset);
    if (value.it_value.tv_sec < 0) value.it_value = {0, 1};
  }
  ::syscall(SYS_timerfd_settime, boot_timer, TFD_TIMER_ABSTIME, &value, nullptr);
}

} // namespace

#define QUELL_OPEN(name)                                                                                               \
  int name(const char* path, int flags, ...) {                                                                         \
    std::va_list rest;                                                                                                 \
    va_start(rest, flags);                                                                                             \
    const mode_t mode = mode_in(flags, rest);                                                                          \
    va_end(rest);                                                                                                      \
    return opened(AT_FDCWD, path, flags, mode, "open");                                                                \
  }
#define QUELL_OPENAT(name)                                                                                             \
  int name(int at, const char* path, int flags, ...) {                                                                 \
    std::va_list rest;                                                                                                 \
    va_start(rest, flags);                                                                                             \
    const mode_t mode = mode_in(flags, rest);                                                                          \
    va_end(rest);                                                                                                      \
    return opened(at, path, flags, mode, "openat");                                                                    \
  }

extern "C" {

QUELL_OPEN(open)
QUELL_OPEN(open64)
QUELL_OPENAT(openat)
QUELL_OPENAT(openat64)
int __open_2(const char* path, int flags) { return opened(AT_FDCWD, path, flags, 0, "open"); }
int __open64_2(const char* path, int flags) { return opened(AT_FDCWD, path, flags, 0, "open"); }

FILE* fopen(const char* path, const char* mode) {
  static const auto real = reinterpret_cast<FILE* (*)(const char*, const char*)>(::dlsym(RTLD_NEXT, "fopen"));
  return path_fails(opens, "fopen", path) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

ssize_t write(int fd, const void* from, std::size_t size) { return written("write", fd, from, size, -1); }
ssize_t pwrite(int fd, const void* from, std::size_t size, off_t at) { return written("pwrite", fd, from, size, at); }
ssize_t pwrite64(int fd, const void* from, std::size_t size, off64_t at) {
  return written("pwrite", fd, from, size, at);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return descriptor_fails(writes, "writev", fd) ? -1 : ::syscall(SYS_writev, fd, parts, count);
}

ssize_t read(int fd, void* to, std::size_t size) { return got("read", fd, to, size, -1); }
ssize_t __read_chk(int fd, void* to, std::size_t size, std::size_t) { return got("read", fd, to, size, -1); }
ssize_t pread(int fd, void* to, std::size_t size, off_t at) { return got("pread", fd, to, size, at); }
ssize_t pread64(int fd, void* to, std::size_t size, off64_t at) { return got("pread", fd, to, size, at); }
ssize_t __pread64_chk(int fd, void* to, std::size_t size, off64_t at, std::size_t) {
  return got("pread", fd, to, size, at);
}

int fsync(int fd) { return descriptor_fails(syncs, "fsync", fd) ? -1 : static_cast<int>(::syscall(SYS_fsync, fd)); }
int fdatasync(int fd) {
  return descriptor_fails(syncs, "fdatasync", fd) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t size) noexcept {
  return descriptor_fails(sizes, "ftruncate", fd) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off64_t size) noexcept { return ftruncate(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t size) {
  return descriptor_fails(sizes, "fallocate", fd) ? -1 : static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, size));
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) { return fallocate(fd, mode, at, size); }
int posix_fallocate(int fd, off_t at, off_t size) { return fallocate(fd, 0, at, size) == 0 ? 0 : errno; }
int posix_fallocate64(int fd, off64_t at, off64_t size) { return posix_fallocate(fd, at, size); }

int rename(const char* from, const char* to) noexcept {
  return path_fails(names, "rename", to) ? -1 : static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
int unlink(const char* path) noexcept {
  return path_fails(names, "unlink", path) ? -1 : static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return path_fails(names, "mkdir", path) ? -1 : static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int clock_gettime(clockid_t which, timespec* t) noexcept {
  const auto code = static_cast<int>(::syscall(SYS_clock_gettime, which, t));
  if (code == 0 && page && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) add(*t, page->wall_offset_ns);
  if (code == 0 && which == CLOCK_BOOTTIME) add(*t, boot_offset());
  return code;
}
int gettimeofday(timeval* __restrict t, void* __restrict) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *t = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int timerfd_create(clockid_t which, int flags) noexcept {
  const auto fd = static_cast<int>(::syscall(SYS_timerfd_create, which, flags));
  if (which == CLOCK_BOOTTIME) boot_timer = fd;
  return fd;
}
int timerfd_settime(int fd, int flags, const itimerspec* value, itimerspec* before) noexcept {
  if (fd != boot_timer || !(flags & TFD_TIMER_ABSTIME))
    return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, value, before));
  boot_timer_value = *value;
  set_boot_timer();
  return 0;
}

/// Wakes only the guardian, which has such a timer, to check whether the clock has jumped.
int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  while (boot_timer >= 0 && timeout < 0) {
    if (boot_offset() != boot_timer_offset) set_boot_timer();
    if (const long count = ::syscall(SYS_epoll_wait, epoll, events, most, 20); count != 0)
      return static_cast<int>(count);
  }
  return static_cast<int>(::syscall(SYS_epoll_wait, epoll, events, most, timeout));
}
}
