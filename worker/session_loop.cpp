// One iteration of the session loop: receive, apply, perform, send.
#include "worker/session_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "protocol/codec.hpp"
#include "protocol/urgency.hpp"
#include "worker/clocks.hpp"
#include "worker/start_fault.hpp"
#include "worker/task_limits.hpp"
#include "worker/task_secrets.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;
using phase = controller_session::phase;

constexpr std::size_t frames_per_turn = 1000;
constexpr std::size_t spawns_per_turn = 16;
constexpr std::size_t many_deaths = 4;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

} // namespace

result<std::unique_ptr<session_loop>> session_loop::open(settings s, state_directory state) {
  s.control.io = urgency::urgent;
  s.control.keys = s.keys.own();
  s.control.server_public_key = s.keys.controller();
  auto control = client_socket::open(s.control);
  if (!control) return tl::unexpected(control.error());
  s.bulk.socket.keys = s.control.keys;
  s.bulk.socket.server_public_key = s.control.server_public_key;
  auto bulk = bulk_loop::start(s.bulk);
  if (!bulk) return tl::unexpected(bulk.error());
  s.guardian.subtree = "quell-worker-" + state.id().substr(state.id().size() - 12);
  s.guardian.lock = state.path() + "/life";
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1); // makes this process the parent of tasks that lose keeper and guardian
  leftovers left(state.path(), first_line("/proc/sys/kernel/random/boot_id"));
  left.guardian_begins();
  auto guardian = guardian_client::launch(s.guardian);
  if (!guardian) {
    left.guardian_never_began();
    return tl::unexpected(guardian.error());
  }
  left.guardian_began((*guardian)->report().earlier_ended);
  return std::unique_ptr<session_loop>(new session_loop(std::move(s), std::move(state), std::move(left),
                                                        std::move(*guardian), std::move(*bulk), std::move(*control)));
}

session_loop::session_loop(settings s, state_directory state, leftovers left, std::unique_ptr<guardian_client> guardian,
                           std::unique_ptr<bulk_loop> bulk, std::unique_ptr<client_socket> control)
    : settings_(std::move(s)), state_(std::move(state)), leftovers_(std::move(left)), guardian_(std::move(guardian)),
      bulk_(std::move(bulk)), control_(std::move(control)), session_(state_.member()),
      table_({.slots = settings_.slots, .level = guardian_->report().level}, session_.lease()),
      environment_(settings_.environment, settings_.tools), boot_id_(first_line("/proc/sys/kernel/random/boot_id")) {
  life_ = state_.begin_life();
  connected_as_ = settings_.control.keys;
  connected_to_ = settings_.control.server_public_key;
  bulk_as_ = connected_as_.public_key + connected_to_;
  if (state_.change_wanted()) begin_change();
  utsname names{};
  ::uname(&names);
  host_ = names.nodename;
  settings_.labels.try_emplace("os", "linux");
  settings_.labels.try_emplace("arch", names.machine);
  settings_.labels.try_emplace("host", host_);
  settings_.labels.erase(workspaces_label);
  if (settings_.spaces) settings_.spaces->remove_unused(); // the guardian has cleared what an earlier life left
  if (settings_.spaces && guardian_->report().no_workspaces.empty())
    settings_.labels.emplace(workspaces_label, workspaces_label_value);
}

int session_loop::run() {
  (void)become_urgent();
  while (!stuck_) {
    if (broken_) repair();
    if (unable_until_) try_starts_again();
    keep_session();
    move_to_next_key();
    send();
    wait();
    hear_guardian();
    hear_controller();
    hear_bulk();
    hear_signals();
    end_filling_tasks();
    effects list;
    table_.tick(now(), list);
    table_.pump(now(), spawns_per_turn, list);
    perform(list);
    session_.tick(boot_now());
    session_.acknowledge();
    send();
    if (leave_done()) return 0;
  }
  return 1;
}

void session_loop::wait() {
  boot_time until = session_.next_tick();
  if (const auto tick = table_.next_tick()) until = std::min(until, *tick);
  if (leave_requested_ > 0) until = std::min(until, boot_now() + 100ms);
  if (broken_) until = std::min(until, repair_at_);
  if (unable_until_) until = std::min(until, *unable_until_);
  auto left = table_.pumpable() ? 0ns : std::clamp<std::chrono::nanoseconds>(until - boot_now(), 0ns, 1h);
  // Frames that the full socket refused are sent when it wakes us; a short timeout checks again anyway.
  if (const auto due = session_.due(); due && control_->connected()) {
    const auto rest = *due - boot_now();
    left = std::min<std::chrono::nanoseconds>(left, rest > 0ns ? rest : 10ms);
  }
  std::array<pollfd, 6> fds{{{control_->descriptor(), POLLIN, 0},
                             {guardian_->descriptor(), POLLIN, 0},
                             {bulk_->descriptor(), POLLIN, 0},
                             {settings_.leave_descriptor, POLLIN, 0},
                             {settings_.change_descriptor, POLLIN, 0},
                             {next_control_ ? next_control_->descriptor() : -1, POLLIN, 0}}};
  const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  (void)::ppoll(fds.data(), fds.size(), &timeout, nullptr); // the iteration checks every source
}

void session_loop::hear_guardian() {
  std::optional<std::string> gone;
  for (const auto& event : guardian_->receive()) {
    if (const auto* g = std::get_if<guardian_gone>(&event)) {
      gone = g->why;
      continue;
    }
    if (const auto* failed = std::get_if<task_spawn_failed>(&event); failed && failed->by_worker) {
      note_end_in_workspace(event);
      cannot_start(failed->operation, failed->message);
      continue;
    }
    if (std::holds_alternative<task_held>(event)) start_pause_.reset();
    note_end_in_workspace(event);
    effects list;
    table_.hear(event, now(), list);
    perform(list);
  }
  if (gone) renew_guardian(*gone);
}

void session_loop::hear_controller() {
  // A lease that ended while this process was frozen ends the session before its old frames are read.
  if (session_.at() == phase::open && session_.lease().over(boot_now())) session_.end("the lease is over", boot_now());
  for (std::size_t i = 0; i < frames_per_turn; ++i) {
    const auto bytes = control_->receive();
    if (!bytes) break;
    if (session_.at() == phase::apart) continue;
    auto frame = wire::decode(*bytes);
    if (!frame) {
      spdlog::error("controller sent a frame that cannot be read ({}); a new session begins", frame.error().detail);
      session_.end("a frame could not be read", boot_now());
      break;
    }
    if (session_.at() == phase::greeting) {
      effects list;
      table_.expire_unstarted(now(), list);
      perform(list);
    }
    auto message = session_.receive(std::move(*frame), boot_now());
    tell_lease(); // before a start behind the welcome: the guardian starts nothing without a lease
    if (message) apply(std::move(*message));
  }
  if (session_.at() != phase::apart && control_->connections() > 1) session_.end("the connection broke", boot_now());
  session_state_changed();
}

void session_loop::apply(wire::message m) {
  effects list;
  if (auto* order = std::get_if<wire::start>(&m)) {
    table_.start(std::move(*order), now(), list);
  } else if (const auto* s = std::get_if<wire::stop>(&m)) {
    table_.stop(*s, now(), list);
    session_.applied(); // nothing below the target starts here any more
    auto first = signals_before_acknowledgement(list);
    perform(first);
    session_.acknowledge();
    send();
  } else if (const auto* r = std::get_if<wire::results_stored>(&m)) {
    table_.results_stored(*r);
    leftovers_.forgotten([this](const operation_id& id) { return !table_.knows(id); });
  } else if (const auto* k = std::get_if<wire::key_taken>(&m)) {
    hear_key_answer(*k);
  } else if (const auto* c = std::get_if<wire::controller_key>(&m)) {
    hear_controller_key(c->public_key);
  } else if (const auto* w = std::get_if<wire::welcome>(&m)) {
    controller_takes_keys_ = w->takes_keys;
  } else if (const auto* z = std::get_if<wire::resize>(&m)) {
    bulk_->resize(z->operation, z->rows, z->columns);
  }
  session_.applied();
  perform(list);
}

void session_loop::hear_bulk() {
  for (const auto& f : bulk_->take_finished()) {
    effects list;
    table_.output_finished(f.operation, f.counts, now(), list);
    perform(list);
  }
}

void session_loop::hear_signals() {
  std::uint64_t count = 0;
  if (settings_.change_descriptor >= 0 && ::read(settings_.change_descriptor, &count, sizeof count) > 0) begin_change();
  if (settings_.leave_descriptor < 0 || ::read(settings_.leave_descriptor, &count, sizeof count) <= 0) return;
  leave_requested_ += static_cast<int>(std::min<std::uint64_t>(count, 2));
  spdlog::info("worker leaves: {} tasks are stopped{}", table_.live(), leave_requested_ > 1 ? " at once" : "");
  effects list;
  using enum task_table::departure;
  table_.leave(now(), leave_requested_ > 1 ? immediate : with_grace, list);
  perform(list);
}

/// Performs effects in order; effects that they cause are appended and performed in the same call.
void session_loop::perform(effects& list) {
  std::size_t killed = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    effect e = std::move(list[i]);
    if (auto* t = std::get_if<tell>(&e)) {
      session_.tell(std::move(t->body), boot_now());
    } else if (const auto* g = std::get_if<let_go>(&e)) {
      table_.go_result(g->operation, guardian_->go(g->operation), now());
    } else if (auto* s = std::get_if<spawn_task>(&e)) {
      spawn(std::move(s->order));
    } else if (const auto* x = std::get_if<stop_request>(&e)) {
      guardian_->stop(*x);
      if (x->kill_at <= boot_now()) ++killed;
    } else if (const auto* h = std::get_if<hang_up>(&e)) {
      bulk_->hang_up(h->operation);
    } else if (const auto* f = std::get_if<finish_output>(&e)) {
      bulk_->finish(f->operation);
    } else if (const auto* l = std::get_if<look_at>(&e)) {
      guardian_->look(l->operation);
    } else if (const auto* r = std::get_if<wire::resize>(&e)) {
      bulk_->resize(r->operation, r->rows, r->columns);
    }
  }
  if (killed >= many_deaths) bulk_->expect_deaths(killed);
}

/// The requested directory; otherwise the caller's own, if the caller is on this host and it exists; otherwise the
/// worker's.
std::string session_loop::directory_of(const task_spec& spec) const {
  if (spec.cwd) return *spec.cwd;
  std::error_code error;
  if (spec.default_cwd && spec.default_cwd_host == host_ && std::filesystem::is_directory(*spec.default_cwd, error))
    return *spec.default_cwd;
  return settings_.work_dir;
}

void session_loop::spawn(wire::start order) {
  const auto as = settings_.users.find(order.spec.user);
  if (!as) {
    effects list;
    table_.spawn_refused(order.operation, as.error().detail, now(), list);
    return perform(list);
  }
  if (!reserve_.take())
    return cannot_start(order.operation, std::string("the worker has no descriptors left: ") + std::strerror(errno) +
                                             "; raise its limit of open files (ulimit -n)");
  auto ends = make_streams(order.operation, order.spec);
  if (!ends && has_code(ends.error(), start_fault::shortage)) return cannot_start(order.operation, ends.error().detail);
  if (!ends) {
    effects list;
    table_.spawn_refused(order.operation, ends.error().detail, now(), list);
    return perform(list);
  }
  auto secrets = memory_files(order.spec.secrets);
  if (!secrets && has_code(secrets.error(), start_fault::shortage))
    return cannot_start(order.operation, secrets.error().detail);
  if (!secrets) {
    effects list;
    table_.spawn_refused(order.operation, secrets.error().detail, now(), list);
    return perform(list);
  }
  spawn_request r;
  r.operation = order.operation;
  if (!enter_workspace(order, *as, r)) return;
  r.environment = environment_.of(order, session_.name(), bulk_->relay_url(), *as);
  r.secrets = std::move(*secrets);
  if (*as) r.as = (*as)->account;
  r.command = std::move(order.spec.command);
  if (r.directory.empty()) r.directory = directory_of(order.spec);
  r.in = std::move(ends->child_in);
  r.out = std::move(ends->child_out);
  r.err = std::move(ends->child_err);
  r.pty = order.spec.pty;
  r.stop_signal = std::move(order.spec.stop_signal);
  r.leader_exit = order.spec.leader_exit;
  r.lease = order.spec.lease;
  r.limits = limits_of(order.spec, settings_.limits);
  if (settings_.newly_hidden) r.hide = settings_.newly_hidden();
  ends->ours.token = order.token;
  bulk_->add(std::move(ends->ours));
  guardian_->spawn(std::move(r));
}

void session_loop::tell_lease() {
  if (session_.lease_changed()) guardian_->lease(*session_.lease().base(), session_.lease().length());
}

void session_loop::send() {
  if (const auto due = session_.due(); !due || *due > boot_now()) return;
  while (const auto* frame = session_.next_frame()) {
    if (!control_->send(wire::encode(*frame))) break;
    session_.sent();
  }
}

} // namespace quell::worker
