// The updates of Telegram that need no further delivery. Pure.
//
// Most of them are confirmed to Telegram and never come again. Some can come after a restart: what is done behind an
// update that is held back, and what a stop covered while it was refused. They are kept.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "integrations/chat/recent_set.hpp"

namespace quell::integrations::chat::telegram {

/// Numbers of updates as decimal text. Bounded: the oldest are forgotten.
class done_updates {
 public:
  bool contains(const std::string& number) const { return all_.contains(number); }
  void add(const std::string& number) { all_.add(number); }
  /// Done, and known over a restart.
  void add_kept(const std::string& number) {
    all_.add(number);
    if (kept_.add(number)) ++changes_;
  }

  /// The state for a restart; `changes` grows whenever it changes.
  std::string to_keep() const {
    const nlohmann::json all = {{"done", kept_.in_order()}};
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::uint64_t changes() const { return changes_; }
  /// The text of `to_keep` from an earlier process; anything else is ignored.
  void recall(const std::string& kept) {
    const auto known = nlohmann::json::parse(kept, nullptr, false);
    if (!known.is_object() || !known.contains("done") || !known["done"].is_array()) return;
    for (const auto& number : known["done"])
      if (number.is_string()) add_kept(number.get<std::string>());
  }

 private:
  recent_set all_{20'000}, kept_{1'000};
  std::uint64_t changes_ = 0;
};

} // namespace quell::integrations::chat::telegram
