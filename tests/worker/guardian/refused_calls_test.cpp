// The filter of system calls, run as the kernel runs it: what it answers, and how long its longest path is.
#include <catch2/catch.hpp>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "worker/guardian/sandbox.hpp"

using namespace quell::worker;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t this_machine = AUDIT_ARCH_X86_64, other_machine = AUDIT_ARCH_I386;
#else
constexpr std::uint32_t this_machine = AUDIT_ARCH_AARCH64, other_machine = AUDIT_ARCH_X86_64;
#endif

struct run {
  std::uint32_t answer = 0;
  std::size_t steps = 0;
};

/// Runs the program; only the instructions that it may use.
run run_filter(const seccomp_data& call) {
  const auto& program = refused_calls();
  std::uint32_t word = 0;
  run out;
  for (std::size_t at = 0; at < program.len; ++at) {
    const auto& i = program.filter[at];
    ++out.steps;
    const auto jump = [&](bool taken) { at += taken ? i.jt : i.jf; };
    switch (i.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      REQUIRE(i.k + sizeof word <= sizeof call);
      std::memcpy(&word, reinterpret_cast<const char*>(&call) + i.k, sizeof word);
      break;
    case BPF_JMP | BPF_JEQ | BPF_K:
      jump(word == i.k);
      break;
    case BPF_JMP | BPF_JGE | BPF_K:
      jump(word >= i.k);
      break;
    case BPF_JMP | BPF_JSET | BPF_K:
      jump((word & i.k) != 0);
      break;
    case BPF_RET | BPF_K:
      out.answer = i.k;
      return out;
    default:
      FAIL("an instruction that this test does not know: " << i.code);
    }
  }
  FAIL("the program ends without an answer");
  return out;
}

std::uint32_t answer(std::uint32_t number, std::uint64_t flags = 0, std::uint32_t machine = this_machine) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = machine;
  call.args[0] = flags;
  return run_filter(call).answer;
}

constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS;

} // namespace

TEST_CASE("the filter refuses what it names and nothing else", "[sandbox]") {
  const std::set<std::uint32_t> named{
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
  };
  for (std::uint32_t number = 0; number < 1000; ++number) {
    CAPTURE(number);
    if (named.contains(number))
      CHECK(answer(number) == refused);
    else if (number == SYS_clone3)
      CHECK(answer(number) == unknown);
    else
      CHECK(answer(number) == allowed);
  }
}

TEST_CASE("the filter looks at the flags of clone and unshare, and at the machine", "[sandbox]") {
  for (const std::uint32_t number : {SYS_clone, SYS_unshare}) {
    CHECK(answer(number, CLONE_NEWUSER) == refused);
    CHECK(answer(number, CLONE_NEWUSER | CLONE_NEWNS) == refused);
    CHECK(answer(number, CLONE_VM | CLONE_VFORK) == allowed);
  }
  CHECK(answer(SYS_read, CLONE_NEWUSER) == allowed);
  CHECK(answer(SYS_read, 0, other_machine) == unknown);
  CHECK(answer(0x40000000U + SYS_read) == unknown);
}

TEST_CASE("no call takes more than a few steps through the filter", "[sandbox]") {
  std::size_t longest = 0;
  for (int number = 0; number < 1000; ++number) {
    seccomp_data call{};
    call.nr = number;
    call.arch = this_machine;
    longest = std::max(longest, run_filter(call).steps);
  }
  CHECK(longest <= 16);
}
