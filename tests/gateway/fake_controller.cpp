// The fake controller: its thread, and the orders of the tests.
#include "tests/gateway/fake_controller.hpp"

#include <chrono>
#include <stdexcept>

#include "tests/patience.hpp"

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

void fake_controller::commit(std::vector<records::entry> batch) {
  const auto ticket = journal_->submit(std::move(batch));
  std::unique_lock lock(mutex_);
  if (!wake_.wait_for(lock, testing::patient(std::chrono::seconds(60)), [&] { return committed_ >= ticket; }))
    throw std::runtime_error("waited in vain for a commit of the journal");
}

void fake_controller::publish(records::event_record event, std::vector<records::entry> batch) {
  std::function<void(const committed_event&)> listener;
  {
    const std::lock_guard lock(mutex_);
    event.id = event_++;
    listener = listener_;
  }
  batch.push_back(records::put_event{event});
  commit(std::move(batch));
  if (listener) listener({event});
}

records::event_record fake_controller::event_of(event_type type, const records::operation_record& row) {
  records::event_record event;
  event.type = type;
  event.at = now();
  event.scope = row.scope;
  event.operation = row.id;
  event.root = row.root;
  event.worker = row.hot.worker;
  return event;
}

operation_id fake_controller::insert(const create_order& order) {
  records::operation_record row;
  row.id = order.id.value_or(operation_id::fresh());
  row.kind = order.kind;
  row.name = order.name;
  row.title = order.title;
  row.parent = order.parent;
  row.root = row.id;
  row.owner = order.owner.value_or(order.by.owner);
  row.via_token_id = order.by.token_id;
  row.labels = order.labels;
  row.timeout = order.timeout.value_or(milliseconds{0});
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
  publish(event_of(event_type::operation_created, row), {records::put_operation{row}});
  const std::lock_guard lock(mutex_);
  live_[row.id] = {row, view};
  return row.id;
}

operation_id fake_controller::start_operation(const std::string& scope, std::optional<operation_id> parent,
                                              std::string title) {
  create_order order;
  order.scope = *scope_path::parse(scope);
  order.parent = parent;
  order.name = "sleep";
  order.title = std::move(title);
  order.by.owner = {"alice", "Alice"};
  order.task.command = {"sleep", "100"};
  return start_operation(order);
}

operation_id fake_controller::start_operation(const create_order& order) {
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

void fake_controller::touch_operation(const operation_id& id) {
  records::operation_record row;
  {
    const std::lock_guard lock(mutex_);
    row = live_.at(id).first;
    row.hot = live_.at(id).second.hot;
  }
  publish(event_of(event_type::operation_started, row), {records::update_operation{id, row.hot}});
}

void fake_controller::end_operation(const operation_id& id, status how, std::optional<cancel_id> by) {
  records::operation_record row;
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
    row.hot.stop = records::stop_state{};
    row.hot.stop->cancel = by;
    row.hot.stop->how = receipt::terminated;
    row.hot.stop->evidence = proof::cgroup_empty;
  }
  publish(event_of(event_of_end(how), row), {records::update_operation{id, row.hot}});
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
  records::event_record event;
  event.type = event_type_of("cancel_" + std::string(name_of(to))).value();
  event.at = now();
  event.cancel = id;
  if (const auto* scope = std::get_if<records::target_scope>(&view.record.target)) event.scope = scope->scope;
  publish(event, {records::put_cancel{view.record}});
}

std::uint64_t fake_controller::add_event(records::event_record event) {
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
std::vector<records::token_record> fake_controller::tokens_put() {
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

} // namespace quell::controller::test
