// The service over the controller actor: each order becomes a command, each question a closure that only reads. Both
// are answered after the commit.
#include <caf/all.hpp>
#include <mutex>

#include "actors/controller_actor.hpp"
#include "actors/posted_command.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/create_operations.hpp"
#include "controller/commands/declare_dead.hpp"
#include "controller/commands/declare_worker_dead.hpp"
#include "controller/commands/drain_worker.hpp"
#include "controller/commands/drop_old_rows.hpp"
#include "controller/commands/drop_token.hpp"
#include "controller/commands/end_externals.hpp"
#include "controller/commands/enrol_worker.hpp"
#include "controller/commands/find_external_stop.hpp"
#include "controller/commands/find_session_stops.hpp"
#include "controller/commands/note_late_report.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/put_token.hpp"
#include "controller/commands/remove_worker.hpp"
#include "controller/commands/renew_externals.hpp"
#include "controller/commands/resize_terminal.hpp"
#include "controller/commands/resume_worker.hpp"
#include "controller/commands/start_external.hpp"
#include "controller/commands/write_audit.hpp"

namespace quell::controller {

namespace {

class actor_service final : public service {
 public:
  actor_service(actors::controller_actor handle, std::function<bool()> low, cluster_id cluster, std::uint64_t epoch)
      : handle_(std::move(handle)), low_(std::move(low)), cluster_(cluster), epoch_(epoch) {}

  void create(create_order order, reply<outcome<created>> done) override {
    give(commands::create_operation{std::move(order), operation_id::fresh()}, std::move(done));
  }
  void create_many(std::vector<create_order> orders, reply<std::vector<outcome<created>>> done) override {
    commands::create_operations many;
    many.all.reserve(orders.size());
    for (auto& order : orders) many.all.push_back({std::move(order), operation_id::fresh()});
    give(std::move(many), std::move(done));
  }
  void cancel(cancel_order order, reply<outcome<cancel_view>> done) override {
    give(commands::order_cancel{std::move(order), cancel_id::fresh()}, std::move(done));
  }
  void cancel_claimed(cancel_order order, may_target what, std::shared_ptr<order_claim> claim,
                      reply<outcome<cancel_view>> done) override {
    using target = commands::order_cancel::may_target;
    give(commands::order_cancel{std::move(order), cancel_id::fresh(),
                                what == may_target::anything ? target::anything : target::live_target},
         std::move(done), std::move(claim));
  }
  void declare_dead(operation_id id, std::string reason, caller by, reply<outcome<operation_id>> done) override {
    give(commands::declare_dead{id, std::move(reason), std::move(by)}, std::move(done));
  }
  void declare_worker_dead(std::string worker, std::string reason, caller by,
                           reply<outcome<std::size_t>> done) override {
    give(commands::declare_worker_dead{std::move(worker), std::move(reason), std::move(by)}, std::move(done));
  }

  void start_external(operation_id id, caller by, reply<outcome<operation_id>> done) override {
    give(commands::start_external{id, std::move(by)}, std::move(done));
  }
  void end_externals(std::vector<owner_report> reports, caller by,
                     reply<std::vector<outcome<operation_id>>> done) override {
    give(commands::end_externals{std::move(reports), std::move(by)}, std::move(done));
  }
  void note_late_report(owner_report report) override { give(commands::note_late_report{std::move(report)}, {}); }
  void heartbeat(renewal_order order, reply<renewal_answer> done) override {
    give(commands::renew_externals{std::move(order)}, std::move(done));
  }
  void signal_of(operation_id id, caller by, reply<outcome<std::optional<external_signal>>> done) override {
    give(commands::find_external_stop{id, std::move(by)}, std::move(done));
  }
  void signals_of(std::string session, caller by, reply<std::vector<external_signal>> done) override {
    give(commands::find_session_stops{std::move(session), std::move(by)}, std::move(done));
  }
  void on_signal(std::function<void(const external_signal&)> listener) override {
    const std::lock_guard lock(mutex_);
    signal_listener_ = std::move(listener);
  }

  void views(std::vector<operation_id> ids, reply<std::vector<std::optional<live_view>>> done) override {
    read(std::move(done), [ids = std::move(ids)](const ledger& l, const fleet&, moment now) {
      std::vector<std::optional<live_view>> views;
      views.reserve(ids.size());
      for (const auto& id : ids) views.push_back(l.view(id, now));
      return views;
    });
  }
  void view_cancel(cancel_id id, reply<std::optional<cancel_view>> done) override {
    read(std::move(done), [id](const ledger& l, const fleet&, moment now) { return l.view_cancel(id, now); });
  }
  void scopes(std::optional<scope_path> prefix, listed_scopes which, std::optional<scope_path> after, std::size_t limit,
              reply<std::vector<scope_view>> done) override {
    read(std::move(done),
         [prefix = std::move(prefix), which, after = std::move(after), limit](const ledger& l, const fleet&, moment) {
           return l.scopes(prefix, which, after ? &*after : nullptr, limit);
         });
  }
  void branches(tree_question question, reply<tree_page> done) override {
    read(std::move(done),
         [question = std::move(question)](const ledger& l, const fleet&, moment) { return l.branches(question); });
  }
  void cluster(reply<cluster_view> done) override {
    read(std::move(done), [cluster = cluster_, epoch = epoch_](const ledger& l, const fleet& f, moment now) {
      cluster_view view;
      view.cluster = cluster;
      view.epoch = epoch;
      view.seq = l.last_seq();
      view.operations = l.live_by_status();
      view.operations_by_kind = l.live_by_kind();
      for (const auto& w : f.workers(now)) ++view.workers[std::string(name_of(w.status))];
      const auto open = l.summary_of_open_cancels();
      view.cancels_open = open.count;
      if (open.oldest) view.oldest_open_cancel_ms = static_cast<double>((now.wall - *open.oldest).count());
      return view;
    });
  }

  void workers(reply<std::vector<worker_view>> done) override {
    read(std::move(done), [](const ledger&, const fleet& f, moment now) { return f.workers(now); });
  }
  void worker(std::string name, reply<std::optional<worker_view>> done) override {
    read(std::move(done),
         [name = std::move(name)](const ledger&, const fleet& f, moment now) { return f.worker(name, now); });
  }
  void enrol_worker(std::string name, std::string public_key, std::map<std::string, std::string> labels,
                    reply<result<worker_view>> done) override {
    give(commands::enrol_worker{std::move(name), std::move(public_key), std::move(labels)}, std::move(done));
  }
  void drain_worker(std::string name, std::string reason, std::optional<milliseconds> deadline, worker_tasks tasks,
                    caller by, reply<result<worker_view>> done) override {
    give(commands::drain_worker{std::move(name), std::move(reason), deadline, tasks, std::move(by.owner)},
         std::move(done));
  }
  void resume_worker(std::string name, reply<result<worker_view>> done) override {
    give(commands::resume_worker{std::move(name)}, std::move(done));
  }
  void remove_worker(std::string name, worker_tasks tasks, caller by, reply<result<worker_view>> done) override {
    give(commands::remove_worker{std::move(name), tasks, std::move(by.owner)}, std::move(done));
  }

  void resize(operation_id id, std::uint16_t rows, std::uint16_t columns, reply<result<void>> done) override {
    give(commands::resize_terminal{id, rows, columns}, std::move(done));
  }

  void put_token(records::token_record record, reply<result<void>> done) override {
    give(commands::put_token{std::move(record)}, std::move(done));
  }
  void drop_token(token_id id, reply<result<void>> done) override { give(commands::drop_token{id}, std::move(done)); }

  void audit(std::string action, std::string target, caller by, std::string via) override {
    give(commands::write_audit{std::move(action), std::move(target), std::move(by), std::move(via)}, {});
  }

  void drop_old(old_things what, reply<bool> done) override {
    give(commands::drop_old_rows{std::move(what.operations), std::move(what.cancels), what.events_up_to, what.gives_way,
                                 std::move(what.endings)},
         std::move(done));
  }

  void on_event(std::function<void(const committed_event&)> listener) override {
    std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }
  bool storage_low() const override { return low_(); }

  void deliver(const records::event_record& event) {
    std::function<void(const committed_event&)> listener;
    {
      std::lock_guard lock(mutex_);
      listener = listener_;
    }
    if (listener) listener({event});
  }
  void deliver(const external_signal& signal) {
    std::function<void(const external_signal&)> listener;
    {
      const std::lock_guard lock(mutex_);
      listener = signal_listener_;
    }
    if (listener) listener(signal);
  }

 private:
  template <class Command>
  void give(Command what, answer_to<Command> done, std::shared_ptr<order_claim> claim = nullptr) {
    caf::anon_send(handle_, actors::posted({std::move(what), std::move(done)}, std::move(claim)));
  }

  /// Runs `what`, which must only read, on the actor's thread; its value leaves through `done` once everything that it
  /// can have seen is durable.
  template <class Answer, class What>
  void read(reply<Answer> done, What what) {
    caf::anon_send(handle_, actors::ask_core{[done = std::move(done), what = std::move(what)](
                                                 const commit_gate& c, moment now) -> std::function<void()> {
                     return [done, answer = Answer(what(c.operations(), c.workers(), now))]() mutable {
                       done(std::move(answer));
                     };
                   }});
  }

  actors::controller_actor handle_;
  std::function<bool()> low_;
  cluster_id cluster_;
  std::uint64_t epoch_;
  std::mutex mutex_;
  std::function<void(const committed_event&)> listener_;
  std::function<void(const external_signal&)> signal_listener_;
};

} // namespace

std::unique_ptr<service> make_service(actors::controller_actor handle, std::function<bool()> journal_low,
                                      cluster_id cluster, std::uint64_t epoch) {
  return std::make_unique<actor_service>(std::move(handle), std::move(journal_low), cluster, epoch);
}

void deliver_event(service& s, const records::event_record& event) { static_cast<actor_service&>(s).deliver(event); }
void deliver_signal(service& s, const external_signal& signal) { static_cast<actor_service&>(s).deliver(signal); }

} // namespace quell::controller
