// The open questions of running calls to humans: who may be answered, and with what values. Any thread. It ends with
// the process. The next life reads what agents asked from the store before it takes an answer; each call that has its
// agent again adds its question anew.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/open_questions.hpp"

namespace quell::controller::turns {

class question_table {
 public:
  struct entry {
    operation_id call;
    std::string form; ///< as in integrations::filled_form
    /// Called once a human's answer is durable and counts; it receives all values. Empty: its call has no agent yet.
    std::function<void(const human_answer&)> answered;
    question_source who = question_source::server;
    scope_path scope = {};  ///< of the conversation in which an agent asks
    operation_id turn = {}; ///< whose tree asks
    std::string owner = {}; ///< the id of the author of its message
    std::string message = {};
    bool is_by_chat = false; ///< a chat brought the turn's message
  };
  void add(const operation_id& question, entry what) {
    const std::lock_guard lock(guard_);
    if (!what.answered) left_[what.call] = question;
    if (what.who == question_source::agent) of_scope_[what.scope.text()].insert(question);
    open_[question] = std::move(what);
  }
  /// The call has ended; nothing happens if its agent is there, which drops its question itself.
  void ended(const operation_id& call) {
    const std::lock_guard lock(guard_);
    const auto left = left_.find(call);
    if (left == left_.end()) return;
    if (const auto at = open_.find(left->second); at != open_.end() && !at->second.answered) erase(at);
    left_.erase(left);
  }
  void drop(const operation_id& question) {
    const std::lock_guard lock(guard_);
    if (const auto at = open_.find(question); at != open_.end()) erase(at);
  }
  std::optional<entry> find(const operation_id& question) const {
    const std::lock_guard lock(guard_);
    const auto at = open_.find(question);
    return at == open_.end() ? std::nullopt : std::optional(at->second);
  }
  /// The questions of agents in this conversation, oldest first; the ledger may not know one yet, or not any more.
  std::vector<std::pair<operation_id, entry>> open_in(const scope_path& scope) const {
    std::vector<std::pair<operation_id, entry>> found;
    const std::lock_guard lock(guard_);
    const auto here = of_scope_.find(scope.text());
    if (here == of_scope_.end()) return found;
    for (const auto& question : here->second) found.emplace_back(question, open_.at(question));
    return found;
  }

 private:
  using entries = std::unordered_map<operation_id, entry>;
  void erase(entries::iterator at) {
    if (const auto here = of_scope_.find(at->second.scope.text()); here != of_scope_.end()) {
      here->second.erase(at->first);
      if (here->second.empty()) of_scope_.erase(here);
    }
    open_.erase(at);
  }

  mutable std::mutex guard_;
  entries open_;
  std::unordered_map<std::string, std::set<operation_id>>
      of_scope_;                                        ///< by scope: the questions of agents, oldest first
  std::unordered_map<operation_id, operation_id> left_; ///< by call: the question of an earlier life
};

} // namespace quell::controller::turns
