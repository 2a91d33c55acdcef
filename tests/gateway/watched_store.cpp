// The watched readers: each passes every call on to a real one.
#include "tests/gateway/watched_store.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "controller/store_code.hpp"
#include "tests/patience.hpp"

namespace quell::controller::test {

namespace {

class watched_reader : public limited_store_reader {
 public:
  watched_reader(store_watch& watch, std::unique_ptr<limited_store_reader> real)
      : watch_(watch), real_(std::move(real)) {}

  void limit(read_budget budget) override {
    budget_ = budget;
    real_->limit(std::move(budget));
  }
  std::optional<std::uint64_t> cut_at() const override { return real_->cut_at(); }

  result<std::vector<operation_record>> operations(const operation_filter& f) override {
    watch_.before_list(budget_);
    if (watch_.fails()) return broken();
    auto found = real_->operations(f);
    watch_.after_list(found.has_value(), !found && has_code(found.error(), store_code::abandoned));
    return found;
  }
  result<std::optional<operation_record>> operation(const operation_id& id) override {
    const bool fails = watch_.fails(); // a read that is held ends as it would have
    watch_.before_row(id);
    if (fails) return broken();
    return real_->operation(id);
  }
  result<std::optional<cancel_record>> cancel(const cancel_id& id) override {
    if (watch_.fails()) return broken();
    return real_->cancel(id);
  }

  result<bool> is_below(const operation_id& id, const operation_id& ancestor) override {
    return real_->is_below(id, ancestor);
  }
  result<std::vector<kept_message>> messages(const message_filter& f) override { return real_->messages(f); }
  result<std::optional<message_record>> message_of_client(const scope_path& scope, const std::string& id) override {
    return real_->message_of_client(scope, id);
  }
  result<std::optional<message_record>> newest_edit_of_client(const scope_path& scope, const std::string& id) override {
    return real_->newest_edit_of_client(scope, id);
  }
  result<std::vector<message_record>> unacknowledged() override { return real_->unacknowledged(); }
  result<std::vector<cancel_record>> cancels(const cancel_filter& f) override { return real_->cancels(f); }
  result<std::vector<event_record>> events(const event_filter& f) override {
    watch_.before_events(f);
    auto found = real_->events(f);
    if (!found && has_code(found.error(), store_code::abandoned)) watch_.page_abandoned();
    return found;
  }
  result<std::optional<std::uint64_t>> oldest_event() override { return real_->oldest_event(); }
  result<std::uint64_t> newest_event() override {
    watch_.before(store_watch::kind::newest_event);
    return real_->newest_event();
  }
  result<std::vector<audit_record>> audit(std::uint64_t after, std::uint32_t limit) override {
    return real_->audit(after, limit);
  }
  result<cost_page> costs(const cost_filter& f) override { return real_->costs(f); }

 private:
  static tl::unexpected<fault> broken() { return failure(store_code::disk_error, "the disk does not answer"); }

  store_watch& watch_;
  const std::unique_ptr<limited_store_reader> real_;
  read_budget budget_;
};

} // namespace

void store_watch::watch(gateway_options& options) {
  options.open_store = [this, real = std::move(options.open_store)]() -> result<std::unique_ptr<limited_store_reader>> {
    auto opened = real();
    if (!opened) return tl::unexpected(opened.error());
    return std::make_unique<watched_reader>(*this, std::move(*opened));
  };
}

template <class Condition>
void store_watch::until(Condition is_true, const char* what) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, testing::patient(std::chrono::seconds(60)), is_true))
    throw std::runtime_error(std::string("waited in vain for ") + what);
}

void store_watch::hold(kind what) {
  const std::lock_guard lock(mutex_);
  gate_of(what).is_shut = true;
}

void store_watch::hold_row(const operation_id& id) {
  const std::lock_guard lock(mutex_);
  held_row_ = id;
}

void store_watch::wait_until_held(kind what, int count) {
  until([&] { return gate_of(what).waiting >= count; }, "reads to begin");
}

void store_watch::wait_until_rows_held(int count) {
  until([&] { return rows_held_ >= count; }, "rows to be read");
}

void store_watch::wait_until_ended(int count) {
  until([&] { return read_ + abandoned_ >= count; }, "lists to end");
}

void store_watch::wait_until_pages_abandoned(int count) {
  until([&] { return pages_abandoned_ >= count; }, "pages of events to be given up");
}

void store_watch::release() {
  const std::lock_guard lock(mutex_);
  for (auto& gate : gates_) gate.is_shut = false;
  held_row_.reset();
  changed_.notify_all();
}

void store_watch::fail() {
  const std::lock_guard lock(mutex_);
  fails_ = true;
}

void store_watch::expect_that_clients_leave(bool do_they) {
  const std::lock_guard lock(mutex_);
  clients_leave_ = do_they;
}

int store_watch::begun(kind what) {
  const std::lock_guard lock(mutex_);
  return gate_of(what).begun;
}

std::optional<std::uint64_t> store_watch::last_bound() {
  const std::lock_guard lock(mutex_);
  return last_bound_;
}

int store_watch::lists_read() {
  const std::lock_guard lock(mutex_);
  return read_;
}

int store_watch::lists_abandoned() {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

void store_watch::pass(std::unique_lock<std::mutex>& lock, gate& at) {
  ++at.begun;
  ++at.waiting;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !at.is_shut; });
  --at.waiting;
}

void store_watch::before(kind what) {
  std::unique_lock lock(mutex_);
  pass(lock, gate_of(what));
}

void store_watch::before_events(const records::event_filter& f) {
  std::unique_lock lock(mutex_);
  last_bound_ = f.up_to;
  pass(lock, gate_of(kind::events));
}

void store_watch::page_abandoned() {
  const std::lock_guard lock(mutex_);
  ++pages_abandoned_;
  changed_.notify_all();
}

void store_watch::before_list(const read_budget& budget) {
  std::unique_lock lock(mutex_);
  pass(lock, gate_of(kind::lists));
  // Nobody announces that a client is gone: the flag is looked at again and again, up to a limit.
  const auto limit = std::chrono::steady_clock::now() + testing::patient(std::chrono::seconds(20));
  const auto has_left = [&] { return budget.abandoned && *budget.abandoned; };
  while (clients_leave_ && !has_left() && std::chrono::steady_clock::now() < limit)
    changed_.wait_for(lock, std::chrono::milliseconds(1));
}

void store_watch::after_list(bool is_read, bool is_abandoned) {
  const std::lock_guard lock(mutex_);
  read_ += is_read ? 1 : 0;
  abandoned_ += is_abandoned ? 1 : 0;
  changed_.notify_all();
}

void store_watch::before_row(const operation_id& id) {
  std::unique_lock lock(mutex_);
  if (held_row_ != id) return;
  ++rows_held_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return held_row_ != id; });
  --rows_held_;
}

bool store_watch::fails() {
  const std::lock_guard lock(mutex_);
  return fails_;
}

} // namespace quell::controller::test
