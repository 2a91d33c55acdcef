// Which push notification configs an event is about: by the task, by the tree that it is a part of, and by the cancel
// that stops it. So an event costs what it changes, however many configs there are. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/records/records.hpp"

namespace quell::controller::http::a2a {

class push_index {
 public:
  /// The place of a config's task in the tree.
  struct places {
    operation_id task;
    std::optional<operation_id> root{}; ///< of its tree
    std::optional<cancel_id> cancel{};  ///< the one that stops it
  };

  /// Replaces what was known about this config. Returns true if other events are about it now.
  bool put(const std::string& config, const places& known) {
    auto names = names_of(known);
    auto& kept = known_[config];
    if (kept == names) return false;
    leave(config, kept);
    for (const auto& name : names) configs_[name].push_back(config);
    kept = std::move(names);
    return true;
  }

  void remove(const std::string& config) {
    const auto at = known_.find(config);
    if (at == known_.end()) return;
    leave(config, at->second);
    known_.erase(at);
  }

  /// The configs whose task this event can have changed; each once.
  std::vector<std::string> about(const records::event_record& event) const {
    std::vector<std::string> all;
    if (configs_.empty()) return all;
    const auto add = [&](const std::string& name) {
      if (const auto at = configs_.find(name); at != configs_.end())
        all.insert(all.end(), at->second.begin(), at->second.end());
    };
    if (event.operation) add(event.operation->text());
    if (event.root && event.root != event.operation) add(event.root->text());
    // Events of operations name their cancel, too; those of a large cancel are not about every task that it stops.
    if (event.cancel && text_of(event.type).starts_with("cancel_")) add(name_of_cancel(*event.cancel));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

 private:
  static std::string name_of_cancel(const cancel_id& id) { return "cancel " + id.text(); }

  static std::vector<std::string> names_of(const places& of) {
    std::vector<std::string> names{of.task.text()};
    if (of.root && *of.root != of.task) names.push_back(of.root->text());
    if (of.cancel) names.push_back(name_of_cancel(*of.cancel));
    return names;
  }

  void leave(const std::string& config, const std::vector<std::string>& names) {
    for (const auto& name : names) {
      const auto at = configs_.find(name);
      std::erase(at->second, config);
      if (at->second.empty()) configs_.erase(at);
    }
  }

  std::unordered_map<std::string, std::vector<std::string>> known_;   ///< by config: its names in `configs_`
  std::unordered_map<std::string, std::vector<std::string>> configs_; ///< by name of an operation or a cancel
};

} // namespace quell::controller::http::a2a
