// The questions that begun calls ask humans, as far as they are open: who may be answered, and with what. Any thread.
// Gone with the process, as the calls are.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/question_books.hpp"

namespace quell::controller::turns {

class question_book {
 public:
  struct entry {
    operation_id call;
    std::string form; ///< as of integrations::filled_form
    /// A human's answer is durable; it is the one that counts. Its values are whole.
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
