// The session loop's rare events: hello, welcome, the end of a session, a dead guardian, leaving.
#include <utility>

#include <poll.h>
#include <spdlog/spdlog.h>

#include "worker/clocks.hpp"
#include "worker/session_loop.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;
using phase = controller_session::phase;

constexpr auto complain_again = 60s;
constexpr auto results_wait = 10s;
constexpr auto apart_wait = 3s;

} // namespace

wire::hello session_loop::hello() const {
  wire::hello h;
  h.software = settings_.software;
  h.boot_id = boot_id_;
  h.state_id = state_.id();
  h.incarnation = incarnation_;
  h.life = life_;
  h.proposed = session_id::fresh();
  h.slots = is_able() ? settings_.slots : 0; // without a guardian nothing can be started
  if (!is_able()) h.trouble = trouble_;
  h.absence_is_proof = leftovers_.absence_is_proof();
  h.labels = settings_.labels;
  h.level = guardian_->report().level;
  h.containment_limits = guardian_->report().limits;
  const auto& report = guardian_->report();
  if (!report.no_workspaces.empty())
    h.containment_limits.push_back("Conversations cannot have workspaces of their own here: " + report.no_workspaces +
                                   ".");
  else if (report.workspaces_by_user_namespace)
    h.containment_limits.emplace_back(
        "Workspaces of conversations are kept apart by user namespaces: a task of the same "
        "user that has no such workspace can read them, and all tasks can see each other's command lines.");
  h.host = host_;
  h.knows_keys = true;
  return h;
}

void session_loop::greet() {
  // In the controller's view the process that took our place ended this life for good. If the lease is over and no task
  // is alive, a new life can begin; otherwise an impostor that has come and gone would lock us out until our next
  // start.
  if (session_.held_by_another() && table_.live() == 0 && session_.lease().over(boot_now())) {
    incarnation_ = incarnation_id::fresh();
    life_ = state_.begin_life();
  }
  reserve_.release(); // for new connections, until a task is started
  connect_anew();
  say_hello();
}

void session_loop::say_hello() {
  wire::hello h = hello();
  offered_none_ = h.slots == 0;
  later_results_ = table_.describe(h);
  const boot_time at = boot_now();
  session_.greet(std::move(h), at);
  for (auto& r : later_results_) session_.tell(std::move(r), at);
  later_results_.clear();
}

void session_loop::keep_session() {
  session_state_changed();
  const boot_time at = boot_now();
  if (session_.at() == phase::greeting && control_->refused()) try_other_keys();
  if (session_.at() == phase::open && !control_->connected()) follow_controller();
  if (!session_.stuck() && session_.hello_due(at)) greet();
  if (const auto& stuck = session_.stuck()) {
    spdlog::error("worker gives up: {}", stuck->message);
    stuck_ = true;
  }
  // The highest seq is stored only now and then, not once per task.
  const auto& m = session_.member();
  if (session_.at() == phase::open && m.seq_seen > state_.member().seq_seen && at - stored_at_ > 5s) {
    stored_at_ = at;
    (void)state_.store(m);
  }
}

void session_loop::session_state_changed() {
  const boot_time at = boot_now();
  const phase is = session_.at();
  if (is != phase::open && !ever_ready_) {
    if (auto trouble = control_->trouble()) complain("worker has no controller yet: " + *trouble);
  }
  if (shown_ == is) return;
  const phase was = std::exchange(shown_, is);
  if (is == phase::open) {
    if (auto stored = state_.store(session_.member()); !stored)
      spdlog::warn("worker cannot store its cluster: {}", stored.error().detail);
    stored_at_ = at;
    leftovers_.mark_reported();
    keys_worked();
    bulk_->session_opened(session_.id());
    last_warning_.clear();
    if (!ever_ready_)
      spdlog::info("worker {} is ready: {} slots, containment {}, controller {}", session_.name(), settings_.slots,
                   name_of(guardian_->report().level), settings_.control.endpoints.front());
    else
      spdlog::info("worker {} is back: {} tasks live, {} results to store", session_.name(), table_.live(),
                   table_.unstored());
    ever_ready_ = true;
  } else if (was == phase::open) {
    bulk_->session_ended();
    spdlog::warn("session with the controller ended: {}; {} tasks go on until the lease is over", session_.why_ended(),
                 table_.live());
  } else if (is == phase::apart) {
    const auto trouble = control_->trouble();
    complain("worker has no session: " + session_.why_ended() + (trouble ? " (" + *trouble + ")" : ""));
  }
}

void session_loop::complain(const std::string& text) {
  const boot_time at = boot_now();
  if (text == last_warning_ && at - complained_at_ < complain_again) return;
  last_warning_ = text;
  complained_at_ = at;
  spdlog::warn("{}", text);
}

void session_loop::renew_guardian(const std::string& why) {
  spdlog::error("guardian is gone ({}): its {} tasks are swept", why, table_.live());
  // Stored on disk before a new guardian can end cleanly in its place.
  wire::hello there;
  (void)table_.describe(there, 0);
  std::vector<operation_id> cut_off;
  for (const auto& item : there.inventory) cut_off.push_back(item.operation);
  leftovers_.guardian_died(std::move(cut_off));
  session_.end("the guardian is gone", boot_now());
  session_state_changed();
  trouble_ = "the guardian died (" + why + "); what it left is looked for";
  broken_ = true;
  swept_ = false;
  repair_pause_.reset();
  repair_at_ = boot_now();
  repair();
}

/// Sweeps what a dead guardian left and starts a new one; failures are retried. Meanwhile the worker keeps a session,
/// which renews the lease: tasks that are not proven dead must not be taken for dead by rule. It offers no slots, and
/// reports what is not proven.
void session_loop::repair() {
  if (boot_now() < repair_at_) return;
  const auto fails = [this](const std::string& what, const fault& f) {
    repair_at_ = boot_now() + repair_pause_.next();
    const bool is_news = !trouble_.starts_with(what);
    trouble_ = what + ": " + f.detail;
    if (is_news) session_.end(trouble_, boot_now()); // the next hello reports it
    complain(what + ": " + f.detail + "; it is tried again every few seconds, and nothing starts here until then");
    if (!swept_) say_unproven();
  };
  if (!swept_) {
    // On a thread: it waits for processes to die, and the session must not wait with it.
    if (!sweeping_.valid())
      sweeping_ =
          std::async(std::launch::async, sweep_containment, settings_.guardian.subtree, settings_.guardian.lock);
    if (sweeping_.wait_for(2ms) != std::future_status::ready) {
      repair_at_ = boot_now() + 10ms;
      return;
    }
    const auto swept = sweeping_.get();
    if (!swept) return fails("what the guardian left is not proven gone", swept.error());
    swept_ = true;
    if (settings_.spaces) settings_.spaces->all_ended();
    spdlog::info("what the guardian left is gone: {} processes were killed", *swept);
    effects list;
    table_.swept(now(), list);
    perform(list);
  }
  auto fresh = guardian_client::launch(settings_.guardian);
  if (!fresh) return fails("no new guardian", fresh.error());
  guardian_ = std::move(*fresh);
  broken_ = false;
  if (const auto base = session_.lease().base()) guardian_->lease(*base, session_.lease().length());
  spdlog::info("guardian lives again (pid {})", guardian_->pid());
  offer_again("the guardian lives again");
}

/// Nothing can be started here now, whatever the task. Tasks without their go are given back: they are missing from the
/// inventory of the next hello, which offers no slots, so they are placed elsewhere or wait.
void session_loop::cannot_start(const operation_id& operation, const std::string& why) {
  bulk_->forget(operation);
  effects list;
  table_.give_back(operation, now(), list);
  perform(list);
  if (!unable_until_) go_without_starts(why);
  // Also if the worker already offers none: the task was in the last hello.
  session_.end("the worker cannot start tasks: " + why, boot_now());
}

void session_loop::go_without_starts(const std::string& why) {
  const auto pause = start_pause_.next();
  unable_until_ = boot_now() + pause;
  trouble_ = why;
  complain("worker cannot start tasks: " + why + "; it takes none for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(pause).count()) + " s and tries again then");
}

void session_loop::try_starts_again() {
  if (boot_now() < *unable_until_) return;
  // Checks for shortages that this process can see, so that no task is fetched only to be given back.
  if (const auto why = shortage_here()) return go_without_starts(*why);
  unable_until_.reset();
  offer_again("the worker tries to start tasks again");
}

/// The last hello offered no slots because the worker could not run tasks: a new hello says that it can again.
void session_loop::offer_again(const std::string& why) {
  if (offered_none_ && is_able() && session_.at() != phase::apart) session_.end(why, boot_now());
}

void session_loop::say_unproven() {
  wire::hello h;
  (void)table_.describe(h);
  effects list;
  for (const auto& item : h.inventory) {
    task_still_there there;
    there.operation = item.operation;
    there.why = unproven_why::kill_in_flight;
    there.kill_again_at = repair_at_;
    table_.hear(there, now(), list);
  }
  perform(list);
}

bool session_loop::leave_done() {
  if (leave_requested_ > 1 && broken_) {
    spdlog::error("worker leaves without proof that its {} tasks are gone; its next start sweeps again", table_.live());
    stuck_ = true;
  }
  if (leave_requested_ == 0 || table_.live() > 0) return false;
  const boot_time at = boot_now();
  if (!all_ended_at_) all_ended_at_ = at;
  const auto waited = at - *all_ended_at_;
  const bool apart = session_.at() != phase::open;
  // After a farewell no other hello is sent: tasks on their way here can already be placed elsewhere.
  const bool has_sent_farewell = apart && farewell_at_;
  if (table_.unstored() > 0 && !has_sent_farewell && waited < (apart ? apart_wait : results_wait)) return false;
  if (!apart) {
    if (!farewell_at_) {
      bulk_->flush(1000ms);
      session_.tell(wire::farewell{"the worker was stopped"}, at);
      send();
      farewell_at_ = at;
    }
    if (!session_.drained() && at - *farewell_at_ < 1s) return false;
  }
  if (table_.unstored() > 0)
    spdlog::warn("worker left {} results untold: the controller did not store them in time", table_.unstored());
  if (session_.member().cluster) (void)state_.store(session_.member());
  spdlog::info("worker left");
  return true;
}

} // namespace quell::worker
