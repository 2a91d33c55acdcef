// The seccomp filter, written by hand: the list is short, and a library would have to be static.
//
// Every call listed here is already closed to tasks by missing capabilities, or has been used to attack kernels. The
// list names refused calls, not allowed ones: a kernel's new calls must not break programs. clone3 hides its flags
// behind a pointer, so it returns ENOSYS; every C library then uses clone, whose flags can be read.
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
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

enum class verdict : std::uint8_t { allowed, not_permitted, unknown_call, by_flags };
struct rule {
  std::uint32_t number = 0;
  verdict says = verdict::not_permitted;
};

constexpr auto make_rules() {
  std::array<rule, refused_numbers.size() + 3> rules{};
  std::size_t at = 0;
  for (const auto number : refused_numbers) rules[at++] = {number, verdict::not_permitted};
  rules[at++] = {SYS_clone3, verdict::unknown_call};
  rules[at++] = {SYS_clone, verdict::by_flags};
  rules[at++] = {SYS_unshare, verdict::by_flags};
  std::sort(rules.begin(), rules.end(), [](const rule& a, const rule& b) { return a.number < b.number; });
  return rules;
}
constexpr auto rules = make_rules();

/// Neighbouring numbers with one verdict; `number` is the first.
struct all_spans {
  std::array<rule, 2 * rules.size() + 1> of{};
  std::size_t count = 0;
};

constexpr all_spans make_spans() {
  all_spans spans;
  std::uint32_t next = 0;
  const auto add = [&](std::uint32_t first, verdict says) {
    if (spans.count == 0 || spans.of[spans.count - 1].says != says) spans.of[spans.count++] = {first, says};
  };
  for (const auto& [number, says] : rules) {
    if (number > next) add(next, verdict::allowed);
    add(number, says);
    next = number + 1;
  }
  add(next, verdict::allowed);
  return spans;
}
constexpr auto spans = make_spans();

/// When a process loads a filter, the kernel translates it and runs it once for every call number, so each start pays
/// for its length and for its longest path. A search by halves takes a tenth of the time of a list, and one among spans
/// is two thirds as long as one among numbers.
constexpr std::size_t search_length = spans.count - 1, head_length = 5, tail_length = 7;
constexpr std::size_t search_end = head_length + search_length;
constexpr std::size_t length = search_end + tail_length;
constexpr std::size_t allow_at = search_end, not_permitted_at = search_end + 1, unknown_call_at = search_end + 2,
                      flags_at = search_end + 3;
static_assert(length < 256, "a jump of the filter skips at most 255 instructions");

constexpr std::size_t place_of(verdict v) {
  switch (v) {
  case verdict::allowed:
    return allow_at;
  case verdict::unknown_call:
    return unknown_call_at;
  case verdict::by_flags:
    return flags_at;
  case verdict::not_permitted:
    break;
  }
  return not_permitted_at;
}

using program = std::array<sock_filter, length>;

constexpr std::uint8_t skip(std::size_t from, std::size_t to) { return static_cast<std::uint8_t>(to - from - 1); }

/// Writes the search among spans[first, last), which are at least two, at `at`; returns the place behind it. A search
/// in one span is its verdict, to which the jump goes.
constexpr std::size_t write_search(program& p, std::size_t at, std::size_t first, std::size_t last) {
  const std::size_t middle = first + (last - first) / 2;
  const bool below_is_one = middle - first == 1, above_is_one = last - middle == 1;
  std::size_t next = at + 1;
  const std::size_t below = below_is_one ? place_of(spans.of[first].says) : next;
  if (!below_is_one) next = write_search(p, next, first, middle);
  const std::size_t above = above_is_one ? place_of(spans.of[middle].says) : next;
  if (!above_is_one) next = write_search(p, next, middle, last);
  p[at] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, spans.of[middle].number, skip(at, above), skip(at, below));
  return next;
}

constexpr program make_program() {
  program p{};
  p[0] = load(offsetof(seccomp_data, arch));
  // On another machine these numbers mean other calls, and so do x32 numbers.
  p[1] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_machine, 1, 0);
  p[2] = answer(ENOSYS);
  p[3] = load(offsetof(seccomp_data, nr));
  p[4] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, skip(4, unknown_call_at), 0);
  write_search(p, head_length, 0, spans.count);
  p[allow_at] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  p[not_permitted_at] = answer(EPERM);
  p[unknown_call_at] = answer(ENOSYS);
  p[flags_at] = load(offsetof(seccomp_data, args[0])); // the flags of both calls, low half
  p[flags_at + 1] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1);
  p[flags_at + 2] = answer(EPERM);
  p[flags_at + 3] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return p;
}

} // namespace

const sock_fprog& refused_calls() {
  static program instructions = make_program();
  static const sock_fprog whole{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return whole;
}

} // namespace quell::worker
