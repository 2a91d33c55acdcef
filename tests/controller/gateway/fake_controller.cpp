// The played controller.
#include "tests/controller/gateway/fake_controller.hpp"

#include <chrono>
#include <stdexcept>

namespace quell::controller::test {

namespace {

wall_time now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

} // namespace

fake_controller::fake_controller(std::unique_ptr<storage::journal> journal) : journal_(std::move(journal)) {
  const auto recovered = journal_->take_recovered();
  seq_ = recovered.next_seq;
  event_ = recovered.next_event;
  journal_->on_commit([this](const storage::journal::commit_notice& notice) {
    const std::lock_guard lock(mutex_);
    committed_ = notice.ticket;
    wake_.notify_all();
  });
  thread_ = std::thread([this] { run(); });
}

fake_controller::~fake_controller() {
  stop();
  journal_->close();
}

void fake_controller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void fake_controller::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !work_.empty(); });
    if (work_.empty()) return;
    auto work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void fake_controller::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  wake_.notify_all();
}

void fake_controller::commit(std::vector<storage::entry> batch) {
  const auto ticket = journal_->submit(std::move(batch));
  std::unique_lock lock(mutex_);
  if (!wake_.wait_for(lock, std::chrono::seconds(20), [&] { return committed_ >= ticket; }))
    throw std::runtime_error("waited 20 s for a commit of the journal");
}

void fake_controller::publish(storage::event_record event, std::vector<storage::entry> batch) {
  std::function<void(const committed_event&)> listener;
  {
    const std::lock_guard lock(mutex_);
    event.id = event_++;
    listener = listener_;
  }
  batch.push_back(storage::put_event{event});
  commit(std::move(batch));
  if (listener) listener({event});
}

storage::event_record fake_controller::event_of(const std::string& type, const storage::operation_record& row) {
  storage::event_record event;
  event.type = type;
  event.at = now();
  event.scope = row.scope;
  event.operation = row.id;
  event.root = row.root;
  event.worker = row.hot.worker;
  return event;
}

operation_id fake_controller::insert(const create_order& order) {
  storage::operation_record row;
  row.id = order.id.value_or(operation_id::fresh());
  row.kind = order.kind;
  row.name = order.name;
  row.title = order.title;
  row.parent = order.parent;
  row.root = row.id;
  row.owner = order.owner.value_or(order.by.owner);
  row.labels = order.labels;
  row.timeout = order.timeout;
  row.grace = order.grace.value_or(milliseconds{2000});
  row.on_parent_end = order.on_parent_end;
  row.created_at = now();
  row.task = order.task;
  row.fingerprint = order.fingerprint;
  if (order.scope) row.scope = *order.scope;
  {
    const std::lock_guard lock(mutex_);
    row.seq = row.as_of = seq_++;
    if (order.parent && live_.contains(*order.parent)) {
      row.root = live_.at(*order.parent).first.root;
      if (!order.scope) row.scope = live_.at(*order.parent).first.scope;
    }
  }
  live_view view;
  view.id = row.id;
  view.hot = row.hot;
  view.waiting = waiting_for{"slot", row.created_at, "all slots are in use"};
  publish(event_of("operation_created", row), {storage::put_operation{row}});
  const std::lock_guard lock(mutex_);
  live_[row.id] = {row, view};
  return row.id;
}

operation_id fake_controller::start_operation(const std::string& scope, std::optional<operation_id> parent, std::string title) {
  create_order order;
  order.scope = *scope_path::parse(scope);
  order.parent = parent;
  order.name = "sleep";
  order.title = std::move(title);
  order.by.owner = {"alice", "Alice"};
  order.task.command = {"sleep", "100"};
  const auto id = insert(order);
  change_operation(id, [](live_view& view) {
    view.hot.now = status::running;
    view.hot.worker = "w1";
    view.hot.started_at = now();
    view.waiting.reset();
  });
  return id;
}

void fake_controller::change_operation(const operation_id& id, const std::function<void(live_view&)>& change) {
  const std::lock_guard lock(mutex_);
  change(live_.at(id).second);
}

void fake_controller::end_operation(const operation_id& id, status how, std::optional<cancel_id> by) {
  storage::operation_record row;
  {
    const std::lock_guard lock(mutex_);
    row = live_.at(id).first;
    row.hot = live_.at(id).second.hot;
    row.hot.ended_seq = seq_++;
    live_.erase(id);
  }
  row.hot.now = how;
  row.hot.ended_at = now();
  if (by) {
    row.hot.stop = storage::stop_state{};
    row.hot.stop->cancel = by;
    row.hot.stop->how = receipt::terminated;
    row.hot.stop->evidence = proof::cgroup_empty;
  }
  publish(event_of("operation_" + std::string(name_of(how)), row), {storage::update_operation{id, row.hot}});
}

void fake_controller::move_cancel(const cancel_id& id, cancel_status to) {
  cancel_view view;
  {
    const std::lock_guard lock(mutex_);
    view = open_.at(id);
    view.record.status = to;
    if (to == cancel_status::settled) {
      view.record.report.receipts[static_cast<std::size_t>(receipt::terminated)] = view.record.report.operations;
      view.record.report.proofs[static_cast<std::size_t>(proof::cgroup_empty)] = view.record.report.operations;
      view.record.report.settled_ms = 12.3456;
      view.unproven.clear();
      view.unproven_total = 0;
      open_.erase(id);
    } else {
      open_[id] = view;
    }
  }
  storage::event_record event;
  event.type = "cancel_" + std::string(name_of(to));
  event.at = now();
  event.cancel = id;
  if (const auto* scope = std::get_if<storage::target_scope>(&view.record.target)) event.scope = scope->scope;
  publish(event, {storage::put_cancel{view.record}});
}

std::uint64_t fake_controller::add_event(storage::event_record event) {
  publish(std::move(event), {});
  const std::lock_guard lock(mutex_);
  return event_ - 1;
}

void fake_controller::refuse_next_create(refusal r) {
  const std::lock_guard lock(mutex_);
  next_refusal_ = std::move(r);
}

void fake_controller::set_storage_low(bool low) {
  const std::lock_guard lock(mutex_);
  low_ = low;
}

void fake_controller::add_worker(const std::string& name) {
  worker_view worker;
  worker.record.name = name;
  worker.record.slots = 4;
  worker.status = worker_status::ready;
  const std::lock_guard lock(mutex_);
  workers_[name] = worker;
}

std::vector<create_order> fake_controller::creates() {
  const std::lock_guard lock(mutex_);
  return creates_;
}
std::vector<cancel_order> fake_controller::cancels() {
  const std::lock_guard lock(mutex_);
  return cancels_;
}
std::vector<storage::token_record> fake_controller::tokens_put() {
  const std::lock_guard lock(mutex_);
  return tokens_;
}
std::vector<std::string> fake_controller::audits() {
  const std::lock_guard lock(mutex_);
  return audits_;
}
std::optional<std::pair<std::uint16_t, std::uint16_t>> fake_controller::last_resize() {
  const std::lock_guard lock(mutex_);
  return resize_;
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
    done(created{insert(order), false});
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
        const auto* scope = std::get_if<storage::target_scope>(&order.target);
        const auto* operation = std::get_if<storage::target_operation>(&order.target);
        const bool covered = scope ? row.scope.is_at_or_below(scope->scope) : operation ? row.id == operation->id : true;
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
      const bool unknown = std::holds_alternative<storage::target_operation>(order.target);
      if (unknown && order.must_exist) {
        return done(tl::unexpected(refusal{{"operation_not_found", "there is no such operation", ""}, {}, {}}));
      }
      view.record.outcome = unknown ? cancel_outcome::unknown_id : cancel_outcome::nothing_live;
      view.record.status = cancel_status::settled;
      if (unknown) view.record.status = cancel_status::fenced;
    }
    if (!order.dry_run) {
      {
        const std::lock_guard lock(mutex_);
        if (view.record.status != cancel_status::settled) open_[view.record.id] = view;
      }
      storage::event_record event;
      event.type = "cancel_fenced";
      event.at = now();
      event.cancel = view.record.id;
      if (const auto* scope = std::get_if<storage::target_scope>(&order.target)) event.scope = scope->scope;
      publish(event, {storage::put_cancel{view.record}});
    }
    done(view);
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

void fake_controller::open_cancels(reply<std::vector<cancel_view>> done) {
  post([this, done = std::move(done)] {
    std::vector<cancel_view> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, view] : open_) all.push_back(view);
    }
    done(all);
  });
}

void fake_controller::scopes(std::optional<scope_path>, bool, std::optional<scope_path> after, std::size_t limit,
                             reply<std::vector<scope_view>> done) {
  post([after, limit, done = std::move(done)] {
    std::vector<scope_view> all;
    for (const char* text : {"team/a", "team/b", "team/c"}) {
      scope_view view;
      view.scope = *scope_path::parse(text);
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
    if (view.record.name.empty()) return done(failure("worker_not_found", "there is no worker " + name));
    done(view);
  });
}

void fake_controller::drain_worker(std::string name, std::string reason, std::optional<milliseconds>, bool, reply<result<worker_view>> done) {
  on_worker(name, std::move(done), [reason](worker_view& w) {
    w.status = worker_status::draining;
    w.record.drain = storage::drain_state{now(), reason, {}};
  });
}

void fake_controller::resume_worker(std::string name, reply<result<worker_view>> done) {
  on_worker(name, std::move(done), [](worker_view& w) {
    w.status = worker_status::ready;
    w.record.drain.reset();
  });
}

void fake_controller::remove_worker(std::string name, bool cancel, reply<result<worker_view>> done) {
  if (!cancel) {
    post([done = std::move(done)] { done(failure("worker_busy", "the worker has live work; give ?cancel=true")); });
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

void fake_controller::put_token(storage::token_record record, reply<result<void>> done) {
  post([this, record, done = std::move(done)] {
    {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(record);
    }
    commit({storage::put_token{record}});
    done({});
  });
}

void fake_controller::drop_token(token_id id, reply<result<void>> done) {
  post([this, id, done = std::move(done)] {
    commit({storage::drop_token{id}});
    done({});
  });
}

void fake_controller::audit(std::string action, std::string target, caller, std::string) {
  const std::lock_guard lock(mutex_);
  audits_.push_back(action + " " + target);
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
