// The ledger's bounded memory of recently ended operations and settled cancels.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "controller/ledger/interner.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::live {

/// A recently ended operation: enough to answer for it until the store is asked.
struct ended_trace {
  status as = status::completed;
  std::optional<stop_cause> cause;
  bool has_cancel = false;
  bool is_silent = false; ///< nobody has proven its end
  cancel_id cancel;
  std::uint64_t fingerprint = 0;
  index scope = none;
  boot_time at{};
};

class ended_memory {
 public:
  static constexpr std::size_t most = 100'000;
  static constexpr std::chrono::seconds keep{60};

  void add(const operation_id& id, ended_trace trace, const std::string& scope) {
    trace.scope = scopes_.hold(scope);
    if (!traces_.try_emplace(id, trace).second) {
      scopes_.release(trace.scope);
      return;
    }
    order_.push_back(id);
    while (order_.size() > most) drop_oldest();
  }
  const ended_trace* find(const operation_id& id) const {
    const auto at = traces_.find(id);
    return at == traces_.end() ? nullptr : &at->second;
  }
  const std::string& scope(const ended_trace& trace) const { return scopes_[trace.scope]; }
  void forget_old(boot_time now) {
    while (!order_.empty() && is_old(order_.front(), now)) drop_oldest();
  }
  void forget(const operation_id& id) {
    const auto at = traces_.find(id);
    if (at == traces_.end()) return;
    scopes_.release(at->second.scope);
    traces_.erase(at); // its entry in the order is dropped when it becomes the oldest
  }

 private:
  bool is_old(const operation_id& id, boot_time now) const {
    const auto at = traces_.find(id);
    return at == traces_.end() || now - at->second.at > keep;
  }
  void drop_oldest() {
    forget(order_.front());
    order_.pop_front();
  }
  std::unordered_map<operation_id, ended_trace> traces_;
  std::deque<operation_id> order_;
  interner<std::string> scopes_;
};

/// Values by id, the oldest forgotten first.
template <class Id, class Value, std::size_t Most>
class bounded_memory {
 public:
  void put(const Id& id, Value value) {
    if (!values_.insert_or_assign(id, std::move(value)).second) return;
    order_.push_back(id);
    if (order_.size() <= Most) return;
    values_.erase(order_.front());
    order_.pop_front();
  }
  void forget(const Id& id) { values_.erase(id); } // its entry in the order is dropped when it becomes the oldest
  const Value* find(const Id& id) const {
    const auto at = values_.find(id);
    return at == values_.end() ? nullptr : &at->second;
  }
  Value* find(const Id& id) {
    const auto at = values_.find(id);
    return at == values_.end() ? nullptr : &at->second;
  }

 private:
  std::unordered_map<Id, Value> values_;
  std::deque<Id> order_;
};

} // namespace quell::controller::live
