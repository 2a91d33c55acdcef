// Answers of the fake controller: its implementation of `service`.
#include "tests/gateway/fake_controller.hpp"

#include <chrono>

namespace quell::controller::test {

namespace {

wall_time now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

refusal no_such_operation() { return {{error_code::operation_not_found, "there is no such operation", ""}, {}, {}}; }

} // namespace

/// As in the ledger: true if the target is live and visible to the caller.
bool fake_controller::lives(const cancel_order& order) {
  const std::lock_guard lock(mutex_);
  const auto& by = order.by_token;
  const auto target = live_.find(std::get<records::target_operation>(order.target).id);
  if (target == live_.end()) return false;
  const auto& row = target->second.first;
  if (by.prefix && !row.scope.is_at_or_below(*by.prefix)) return false;
  if (!by.task) return true;
  for (auto at = row.parent; at; at = live_.contains(*at) ? live_.at(*at).first.parent : std::nullopt)
    if (at == by.task) return true;
  return false;
}

void fake_controller::create(create_order order, reply<outcome<created>> done) {
  post([this, order = std::move(order), done = std::move(done)] {
    std::optional<refusal> refused;
    {
      const std::lock_guard lock(mutex_);
      creates_.push_back(order);
      std::swap(refused, next_refusal_);
    }
    if (refused) return done(tl::unexpected(*refused));
    created made{insert(order), false};
    if (order.is_shown) {
      const std::lock_guard lock(mutex_);
      const auto& [row, view] = live_.at(made.id);
      made.shown = std::make_shared<new_operation>(new_operation{row, view});
    }
    done(std::move(made));
  });
}

void fake_controller::cancel(cancel_order order, reply<outcome<cancel_view>> done) {
  post([this, order = std::move(order), done = std::move(done)] {
    cancel_view view;
    view.record.id = order.id.value_or(cancel_id::fresh());
    view.record.target = order.target;
    view.record.reason = order.reason;
    view.record.by = order.by.value_or(order.by_token.owner);
    view.record.via_channel = order.via_channel;
    view.record.via_token = order.by_token.token_name;
    view.record.via_token_id = order.by_token.token_id;
    view.record.grace = order.grace;
    view.record.fingerprint = order.fingerprint;
    view.record.created_at = now();
    view.record.report.fenced_ms = 0.41239;
    {
      const std::lock_guard lock(mutex_);
      cancels_.push_back(order);
      view.record.seq = view.record.cutoff = seq_++;
      for (const auto& [id, entry] : live_) {
        const auto& row = entry.first;
        const auto* scope = std::get_if<records::target_scope>(&order.target);
        const auto* operation = std::get_if<records::target_operation>(&order.target);
        const bool covered = scope       ? row.scope.is_at_or_below(scope->scope)
                             : operation ? row.id == operation->id
                                         : true;
        if (!covered) continue;
        view.would_stop.push_back(id);
        unproven_operation open;
        open.operation = id;
        open.scope = row.scope;
        open.worker = entry.second.hot.worker;
        open.processes = {{4242, "S", std::string("bad \xff bytes")}};
        open.processes_total = 1;
        view.unproven.push_back(open);
      }
      view.record.report.operations = view.unproven_total = view.unproven.size();
    }
    if (view.unproven.empty()) {
      const bool unknown = std::holds_alternative<records::target_operation>(order.target);
      if (unknown && order.must_exist()) {
        return done(tl::unexpected(no_such_operation()));
      }
      view.record.outcome = unknown ? cancel_outcome::unknown_id : cancel_outcome::nothing_live;
      view.record.status = cancel_status::settled;
      if (unknown) view.record.status = cancel_status::fenced;
    }
    if (!order.is_dry_run()) {
      {
        const std::lock_guard lock(mutex_);
        if (view.record.status != cancel_status::settled) open_[view.record.id] = view;
      }
      records::event_record event;
      event.type = event_type::cancel_fenced;
      event.at = now();
      event.cancel = view.record.id;
      if (const auto* scope = std::get_if<records::target_scope>(&order.target)) event.scope = scope->scope;
      std::vector<records::entry> batch{records::put_cancel{view.record}};
      if (view.record.outcome == cancel_outcome::unknown_id) {
        const auto& unknown = std::get<records::target_operation>(order.target).id;
        const auto kept_until = now() + std::chrono::hours(1);
        batch.push_back(records::put_tombstone{
            {unknown, view.record.id, kept_until, order.by_token.token_id, order.by_token.prefix}});
      }
      publish(event, std::move(batch));
    }
    done(view);
  });
}

void fake_controller::cancel_claimed(cancel_order order, may_target what, std::shared_ptr<order_claim> claim,
                                     reply<outcome<cancel_view>> done) {
  post([this, order = std::move(order), what, claim = std::move(claim), done = std::move(done)] {
    if (!claim->take()) return;
    const bool is_of_one = std::holds_alternative<records::target_operation>(order.target);
    if (what == may_target::live_target && is_of_one && !lives(order)) return done(tl::unexpected(no_such_operation()));
    cancel(order, done);
  });
}

void fake_controller::declare_dead(operation_id id, std::string, caller, reply<outcome<operation_id>> done) {
  post([this, id, done = std::move(done)] {
    end_operation(id, status::cancelled);
    done(id);
  });
}

void fake_controller::declare_worker_dead(std::string, std::string, caller, reply<outcome<std::size_t>> done) {
  post([done = std::move(done)] { done(std::size_t{2}); });
}

void fake_controller::views(std::vector<operation_id> ids, reply<std::vector<std::optional<live_view>>> done) {
  post([this, ids = std::move(ids), done = std::move(done)] {
    std::vector<std::optional<live_view>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& id : ids) all.push_back(live_.contains(id) ? std::optional(live_.at(id).second) : std::nullopt);
    }
    done(all);
  });
}

void fake_controller::view_cancel(cancel_id id, reply<std::optional<cancel_view>> done) {
  post([this, id, done = std::move(done)] {
    std::optional<cancel_view> view;
    {
      const std::lock_guard lock(mutex_);
      if (open_.contains(id)) view = open_.at(id);
    }
    done(view);
  });
}

void fake_controller::scopes(std::optional<scope_path>, listed_scopes, std::optional<scope_path> after,
                             std::size_t limit, reply<std::vector<scope_view>> done) {
  post([after, limit, done = std::move(done)] {
    std::vector<scope_view> all;
    for (const char* text : {"team/a", "team/b", "team/c"}) {
      scope_view view;
      view.scope = *scope_path::parse(text);
      view.live = 3;
      view.cancelling = 1;
      if ((!after || *after < view.scope) && all.size() < limit) all.push_back(view);
    }
    done(all);
  });
}

void fake_controller::cluster(reply<cluster_view> done) {
  post([this, done = std::move(done)] {
    cluster_view view;
    {
      const std::lock_guard lock(mutex_);
      view.seq = seq_ - 1;
      view.operations["running"] = live_.size();
      view.cancels_open = open_.size();
    }
    done(view);
  });
}

void fake_controller::workers(reply<std::vector<worker_view>> done) {
  post([this, done = std::move(done)] {
    std::vector<worker_view> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, view] : workers_) all.push_back(view);
    }
    done(all);
  });
}

void fake_controller::worker(std::string name, reply<std::optional<worker_view>> done) {
  post([this, name, done = std::move(done)] {
    std::optional<worker_view> found;
    {
      const std::lock_guard lock(mutex_);
      if (workers_.contains(name)) found = workers_.at(name);
    }
    done(found);
  });
}

void fake_controller::enrol_worker(std::string name, std::string public_key, std::map<std::string, std::string> labels,
                                   reply<result<worker_view>> done) {
  post([this, name, public_key, labels, done = std::move(done)] {
    worker_view worker;
    worker.record.name = name;
    worker.record.public_key = public_key;
    worker.record.enrolled_labels = labels;
    {
      const std::lock_guard lock(mutex_);
      workers_[name] = worker;
    }
    done(worker);
  });
}

template <class Change>
void fake_controller::on_worker(const std::string& name, reply<result<worker_view>> done, Change change) {
  post([this, name, done = std::move(done), change] {
    worker_view view;
    {
      const std::lock_guard lock(mutex_);
      if (workers_.contains(name)) {
        change(workers_.at(name));
        view = workers_.at(name);
      }
    }
    if (view.record.name.empty()) return done(failure(error_code::worker_not_found, "there is no worker " + name));
    done(view);
  });
}

void fake_controller::drain_worker(std::string name, std::string reason, std::optional<milliseconds>, worker_tasks,
                                   caller, reply<result<worker_view>> done) {
  on_worker(name, std::move(done), [reason](worker_view& w) {
    w.status = worker_status::draining;
    w.record.drain = records::drain_state{now(), reason, {}};
  });
}

void fake_controller::resume_worker(std::string name, reply<result<worker_view>> done) {
  on_worker(name, std::move(done), [](worker_view& w) {
    w.status = worker_status::ready;
    w.record.drain.reset();
  });
}

void fake_controller::remove_worker(std::string name, worker_tasks tasks, caller, reply<result<worker_view>> done) {
  if (tasks == worker_tasks::go_on) {
    post([done = std::move(done)] {
      done(failure(error_code::worker_busy, "the worker has live work; give ?cancel=true"));
    });
    return;
  }
  on_worker(name, std::move(done), [](worker_view&) {});
}

void fake_controller::resize(operation_id, std::uint16_t rows, std::uint16_t columns, reply<result<void>> done) {
  post([this, rows, columns, done = std::move(done)] {
    {
      const std::lock_guard lock(mutex_);
      resize_ = {rows, columns};
    }
    done({});
  });
}

void fake_controller::put_token(records::token_record record, reply<result<void>> done) {
  post([this, record, done = std::move(done)] {
    {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(record);
    }
    commit({records::put_token{record}});
    done({});
  });
}

void fake_controller::drop_token(token_id id, reply<result<void>> done) {
  post([this, id, done = std::move(done)] {
    commit({records::drop_token{id}});
    done({});
  });
}

void fake_controller::audit(std::string action, std::string target, caller, std::string) {
  const std::lock_guard lock(mutex_);
  audits_.push_back(action + " " + target);
}

void fake_controller::drop_old(old_things what, reply<bool> done) {
  post([this, what = std::move(what), done = std::move(done)] {
    std::vector<records::entry> batch;
    for (const auto& one : what.endings) batch.emplace_back(one);
    for (const auto& id : what.operations) batch.emplace_back(records::drop_operation{id});
    for (const auto& id : what.cancels) batch.emplace_back(records::drop_cancel{id});
    if (what.events_up_to > 0) batch.emplace_back(records::drop_events{what.events_up_to});
    commit(std::move(batch));
    done(true);
  });
}

void fake_controller::on_event(std::function<void(const committed_event&)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

bool fake_controller::storage_low() const {
  const std::lock_guard lock(mutex_);
  return low_;
}

} // namespace quell::controller::test
