// The open questions of running calls to humans: who may be answered, and with what values. Any thread. It ends with
// the process, as the calls do.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/open_questions.hpp"

namespace quell::controller::turns {

class question_table {
 public:
  struct entry {
    operation_id call;
    std::string form; ///< as in integrations::filled_form
    /// Called once a human's answer is durable and counts; it receives all values.
    std::function<void(const human_answer&)> answered;
  };
  void add(const operation_id& question, entry what) {
    const std::lock_guard lock(guard_);
    open_[question] = std::move(what);
  }
  void drop(const operation_id& question) {
    const std::lock_guard lock(guard_);
    open_.erase(question);
  }
  std::optional<entry> find(const operation_id& question) const {
    const std::lock_guard lock(guard_);
    const auto at = open_.find(question);
    return at == open_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  mutable std::mutex guard_;
  std::unordered_map<operation_id, entry> open_;
};

} // namespace quell::controller::turns
