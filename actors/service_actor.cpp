// The service over the controller actor: each call becomes one message whose closure answers after the commit.
#include <caf/all.hpp>
#include <mutex>

#include "actors/controller_actor.hpp"
#include "controller/audit.hpp"

namespace quell::controller {

namespace {

class actor_service final : public service {
 public:
  actor_service(actors::controller_actor handle, std::function<bool()> low, cluster_id cluster, std::uint64_t epoch)
      : handle_(std::move(handle)), low_(std::move(low)), cluster_(cluster), epoch_(epoch) {}

  void create(create_order order, reply<outcome<created>> done) override {
    ask([order = std::move(order), fresh = operation_id::fresh(), done = std::move(done)](commit_gate& c) {
      c.create(order, fresh, done, clock_now());
    });
  }
  void create_many(std::vector<create_order> orders, reply<std::vector<outcome<created>>> done) override {
    std::vector<operation_id> fresh;
    fresh.reserve(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) fresh.push_back(operation_id::fresh());
    ask([orders = std::move(orders), fresh = std::move(fresh), done = std::move(done)](commit_gate& c) {
      c.create_many(orders, fresh, done, clock_now());
    });
  }
  void cancel(cancel_order order, reply<outcome<cancel_view>> done) override {
    ask([order = std::move(order), fresh = cancel_id::fresh(), done = std::move(done)](commit_gate& c) {
      c.cancel(order, fresh, done, clock_now());
    });
  }
  void cancel_claimed(cancel_order order, may_target what, std::shared_ptr<order_claim> claim,
                      reply<outcome<cancel_view>> done) override {
    ask([order = std::move(order), what, claim = std::move(claim), fresh = cancel_id::fresh(),
         done = std::move(done)](commit_gate& c) {
      if (!claim->take()) return; // withdrawn: nobody waits for the answer
      const auto* target = std::get_if<records::target_operation>(&order.target);
      if (what == may_target::anything || target == nullptr || c.operations().view(target->id, clock_now()))
        return c.cancel(order, fresh, done, clock_now());
      const refusal absent{{"operation_not_found", "operation " + target->id.text() + " is not live", {}}, {}, {}};
      // The ledger can be ahead of the disk, which the caller reads next.
      c.step([&](ledger&, fleet&, moment) { return [done, absent] { done(tl::unexpected(absent)); }; }, clock_now());
    });
  }
  void declare_dead(operation_id id, std::string reason, caller by, reply<outcome<operation_id>> done) override {
    with(std::move(done), [id, reason = std::move(reason), by = std::move(by)](ledger& l, fleet&, moment now) {
      auto done = l.declare_dead(id, reason, by, now);
      if (done) {
        auto e = audit_event("resolve", "operation " + id.text(), by.owner, "api", by, reason);
        e.operation = id;
        l.add_event(std::move(e), now);
      }
      return done;
    });
  }
  void declare_worker_dead(std::string worker, std::string reason, caller by,
                           reply<outcome<std::size_t>> done) override {
    with(std::move(done),
         [worker = std::move(worker), reason = std::move(reason),
          by = std::move(by)](ledger& l, fleet& f, moment now) -> outcome<std::size_t> {
           const auto view = f.worker(worker, now);
           if (!view) return tl::unexpected(refusal{no_worker(worker), {}, {}});
           if (view->status == worker_status::ready || view->status == worker_status::draining)
             return tl::unexpected(refusal{{"worker_busy",
                                            "Worker " + worker +
                                                " is connected, so its work can be stopped with proof: cancel it, or "
                                                "`quell worker remove " +
                                                worker + " --cancel`. Nothing was declared dead.",
                                            {}},
                                           {},
                                           {}});
           auto e = audit_event("resolve", "worker " + worker, by.owner, "api", by, reason);
           e.worker = worker;
           l.add_event(std::move(e), now);
           return l.declare_worker_dead(worker, reason, now);
         });
  }

  void start_external(operation_id id, caller by, reply<outcome<operation_id>> done) override {
    written<outcome<operation_id>>(
        [id, by = std::move(by)](ledger& l, moment now) { return l.externals()->start_external(id, by, now); },
        [done = std::move(done)](outcome<operation_id> answer, bool durable) {
          done(durable || !answer ? std::move(answer) : not_written());
        });
  }
  void end_externals(std::vector<owner_report> reports, caller by,
                     reply<std::vector<outcome<operation_id>>> done) override {
    using outcomes = std::vector<outcome<operation_id>>;
    written<outcomes>(
        [reports = std::move(reports), by = std::move(by)](ledger& l, moment now) {
          outcomes all;
          all.reserve(reports.size());
          for (const auto& r : reports) all.push_back(l.externals()->end_external(r, by, now));
          return all;
        },
        [done = std::move(done)](outcomes all, bool durable) {
          for (auto& one : all)
            if (!durable && one) one = not_written();
          done(std::move(all));
        });
  }
  void note_late_report(owner_report report) override {
    with<bool>([](bool) {},
               [report = std::move(report)](ledger& l, fleet&, moment now) {
                 l.externals()->note_late_report(report, now);
                 return true;
               });
  }
  void heartbeat(heartbeat_order order, reply<heartbeat_answer> done) override {
    with(std::move(done),
         [order = std::move(order)](ledger& l, fleet&, moment now) { return l.externals()->heartbeat(order, now); });
  }
  void signal_of(operation_id id, caller by, reply<outcome<std::optional<external_signal>>> done) override {
    with(std::move(done),
         [id, by = std::move(by)](ledger& l, fleet&, moment now) { return l.externals()->signal_of(id, by, now); });
  }
  void signals_of(std::string session, caller by, reply<std::vector<external_signal>> done) override {
    with(std::move(done), [session = std::move(session), by = std::move(by)](ledger& l, fleet&, moment now) {
      return l.externals()->signals_of(session, by, now);
    });
  }
  void on_signal(std::function<void(const external_signal&)> listener) override {
    const std::lock_guard lock(mutex_);
    signal_listener_ = std::move(listener);
  }

  void views(std::vector<operation_id> ids, reply<std::vector<std::optional<live_view>>> done) override {
    with(std::move(done), [ids = std::move(ids)](ledger& l, fleet&, moment now) {
      std::vector<std::optional<live_view>> views;
      views.reserve(ids.size());
      for (const auto& id : ids) views.push_back(l.view(id, now));
      return views;
    });
  }
  void view_cancel(cancel_id id, reply<std::optional<cancel_view>> done) override {
    with(std::move(done), [id](ledger& l, fleet&, moment now) { return l.view_cancel(id, now); });
  }
  void open_cancels(reply<std::vector<cancel_view>> done) override {
    with(std::move(done), [](ledger& l, fleet&, moment now) { return l.open_cancels(now); });
  }
  void scopes(std::optional<scope_path> prefix, bool only_live, std::optional<scope_path> after, std::size_t limit,
              reply<std::vector<scope_view>> done) override {
    with(std::move(done),
         [prefix = std::move(prefix), only_live, after = std::move(after), limit](ledger& l, fleet&, moment) {
           return l.scopes(prefix, only_live, after ? &*after : nullptr, limit);
         });
  }
  void branches(tree_question question, reply<tree_page> done) override {
    with(std::move(done), [question = std::move(question)](ledger& l, fleet&, moment) { return l.branches(question); });
  }
  void cluster(reply<cluster_view> done) override {
    with(std::move(done), [cluster = cluster_, epoch = epoch_](ledger& l, fleet& f, moment now) {
      cluster_view view;
      view.cluster = cluster;
      view.epoch = epoch;
      view.seq = l.last_seq();
      view.operations = l.live_by_status();
      view.operations_by_kind = l.live_by_kind();
      for (const auto& w : f.workers(now)) ++view.workers[std::string(name_of(w.status))];
      const auto open = l.open_cancels(now);
      view.cancels_open = open.size();
      if (!open.empty()) {
        auto oldest = open.front().record.created_at;
        for (const auto& c : open) oldest = std::min(oldest, c.record.created_at);
        view.oldest_open_cancel_ms = static_cast<double>((now.wall - oldest).count());
      }
      return view;
    });
  }

  void workers(reply<std::vector<worker_view>> done) override {
    with(std::move(done), [](ledger&, fleet& f, moment now) { return f.workers(now); });
  }
  void worker(std::string name, reply<std::optional<worker_view>> done) override {
    with(std::move(done), [name = std::move(name)](ledger&, fleet& f, moment now) { return f.worker(name, now); });
  }
  void enrol_worker(std::string name, std::string public_key, std::map<std::string, std::string> labels,
                    reply<result<worker_view>> done) override {
    with(std::move(done), [name = std::move(name), public_key = std::move(public_key), labels = std::move(labels)](
                              ledger&, fleet& f, moment now) { return f.enrol(name, public_key, labels, now); });
  }
  void drain_worker(std::string name, std::string reason, std::optional<milliseconds> deadline, bool cancel, caller by,
                    reply<result<worker_view>> done) override {
    with(std::move(done),
         [name = std::move(name), reason = std::move(reason), deadline, cancel, by = std::move(by.owner)](
             ledger&, fleet& f, moment now) { return f.drain(name, reason, deadline, cancel, now, by); });
  }
  void resume_worker(std::string name, reply<result<worker_view>> done) override {
    with(std::move(done), [name = std::move(name)](ledger&, fleet& f, moment now) { return f.resume(name, now); });
  }
  void remove_worker(std::string name, bool cancel, caller by, reply<result<worker_view>> done) override {
    with(std::move(done), [name = std::move(name), cancel, by = std::move(by.owner)](ledger&, fleet& f, moment now) {
      return f.remove(name, cancel, now, by);
    });
  }

  void resize(operation_id id, std::uint16_t rows, std::uint16_t columns, reply<result<void>> done) override {
    with(std::move(done), [id, rows, columns](ledger& l, fleet& f, moment now) -> result<void> {
      const auto view = l.view(id, now);
      if (!view || !view->hot.worker)
        return failure("not_found", "operation " + id.text() + " is not running on a worker");
      return f.resize(id, *view->hot.worker, rows, columns, now);
    });
  }

  void put_token(records::token_record record, reply<result<void>> done) override {
    write({records::put_token{std::move(record)}}, std::move(done));
  }
  void drop_token(token_id id, reply<result<void>> done) override { write({records::drop_token{id}}, std::move(done)); }

  void audit(std::string action, std::string target, caller by, std::string via) override {
    ask([action = std::move(action), target = std::move(target), by = std::move(by),
         via = std::move(via)](commit_gate& c) {
      const auto now = clock_now();
      c.step(
          [&](ledger& l, fleet&, moment at) -> std::function<void()> {
            l.add_event(audit_event(action, target, by.owner, via, by), at);
            return [] {};
          },
          now);
    });
  }

  void drop_old(old_things what, reply<bool> done) override {
    ask([what = std::move(what), done = std::move(done)](commit_gate& c) { c.drop_old(what, done, clock_now()); });
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
  static fault no_worker(const std::string& name) {
    return {"worker_not_found", "There is no worker " + name + ". `quell worker list` shows those that exist.", {}};
  }

  void ask(std::function<void(commit_gate&)> what) {
    caf::anon_send(handle_, actors::run_on<commit_gate>{std::move(what)});
  }

  void write(std::vector<records::entry> rows, reply<result<void>> done) {
    ask([rows = std::move(rows), done = std::move(done)](commit_gate& c) { c.write(rows, done, clock_now()); });
  }

  /// Runs `what` on the actor's thread; its value leaves through `done` once everything that it can have seen is
  /// durable.
  template <class Answer, class What>
  void with(reply<Answer> done, What what) {
    ask([done = std::move(done), what = std::move(what)](commit_gate& c) {
      c.step(
          [&](ledger& l, fleet& f, moment now) -> std::function<void()> {
            return [done, answer = Answer(what(l, f, now))]() mutable { done(std::move(answer)); };
          },
          clock_now());
    });
  }

  static outcome<operation_id> not_written() {
    return tl::unexpected(refusal{
        {"storage_unavailable", "The store is full, so this is not on disk. Free space, then repeat.", {}}, {}, {}});
  }

  /// The same; `then` receives whether the change is durable.
  template <class Answer>
  void written(std::function<Answer(ledger&, moment)> what, std::function<void(Answer, bool durable)> then) {
    ask([what = std::move(what), then = std::move(then)](commit_gate& c) {
      c.transaction(
          [&](ledger& l, moment now) -> std::function<void(bool)> {
            return [then, answer = what(l, now)](bool durable) { then(answer, durable); };
          },
          clock_now());
    });
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
