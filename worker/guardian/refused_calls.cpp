// The seccomp filter, written by hand: the list is short, and a library would have to be static.
//
// Every call listed here is already closed to tasks by missing capabilities, or has been used to attack kernels. The
// list names refused calls, not allowed ones: a kernel's new calls must not break programs. clone3 hides its flags
// behind a pointer, so it returns ENOSYS; every C library then uses clone, whose flags can be read.
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "worker/guardian/sandbox.hpp"

namespace quell::worker {
namespace {

constexpr auto refused_numbers = std::to_array<std::uint32_t>({
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_setns,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_syslog,
    SYS_fanotify_init,
    SYS_open_by_handle_at,
    SYS_lookup_dcookie,
    SYS_vhangup,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
});

#if defined(__x86_64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_machine = AUDIT_ARCH_AARCH64;
#else
#error "the refused system calls are not written for this machine"
#endif

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(int error) {
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
}
/// The next instruction runs only if the loaded word is `value`.
constexpr sock_filter unless_equal_skip_one(std::uint32_t value) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

constexpr std::size_t length = 3 + 2 + 2 * refused_numbers.size() + 2 + 5 + 1;

constexpr std::array<sock_filter, length> make_program() {
  std::array<sock_filter, length> p{};
  std::size_t at = 0;
  p[at++] = load(offsetof(seccomp_data, arch));
  p[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_machine, 1, 0); // on another machine these numbers mean other calls
  p[at++] = answer(ENOSYS);
  p[at++] = load(offsetof(seccomp_data, nr));
  p[at++] =
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, static_cast<std::uint8_t>(2 * refused_numbers.size() + 1), 0);
  for (const auto number : refused_numbers) {
    p[at++] = unless_equal_skip_one(number);
    p[at++] = answer(EPERM);
  }
  p[at++] = unless_equal_skip_one(SYS_clone3);
  p[at++] = answer(ENOSYS); // x32 numbers jump here, too
  p[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0);
  p[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3);
  p[at++] = load(offsetof(seccomp_data, args[0])); // the flags of both calls, low half
  p[at++] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1);
  p[at++] = answer(EPERM);
  p[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return p;
}

} // namespace

const sock_fprog& refused_calls() {
  static std::array<sock_filter, length> program = make_program();
  static const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  return whole;
}

} // namespace quell::worker
