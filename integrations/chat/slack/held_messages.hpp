// Messages that wait for the past of their channel although their deliveries were answered: nobody else brings them
// again, so they are stored, in their present form, until quelld has decided. Pure.
//
// Those that were taken back meanwhile, by a stop, an edit or a deletion, are remembered by their keys: if Slack brings
// one again, to this process or to a later one, it does not begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "integrations/chat/recent_set.hpp"
#include "integrations/chat/slack/read.hpp"

namespace quell::integrations::chat::slack {

class held_messages {
 public:
  /// All that may wait, in bytes: it is written with each change of the connector's state.
  static constexpr std::size_t most_bytes = 256 << 10;

  bool contains(const std::string& key) const { return all_.contains(key); }
  bool has_room_for(const std::string& key, const message& m) const;
  /// Replaces an earlier form.
  void put(const std::string& key, message m);
  /// quelld has decided.
  void decided(const std::string& key);
  /// It does not begin, held or not.
  void leave_out(const std::string& key);

  const std::map<std::string, message>& all() const { return all_; }
  /// By their keys; the oldest first.
  const recent_set& left_out() const { return left_out_; }
  std::uint64_t changes() const { return changes_; }

  nlohmann::json to_keep() const;
  /// Takes over the result of `to_keep` of an earlier process; ignores anything else.
  void recall(const nlohmann::json& kept);

 private:
  void drop(const std::string& key);
  std::map<std::string, message> all_;
  std::size_t bytes_ = 0;
  recent_set left_out_{1'000};
  std::uint64_t changes_ = 0;
};

} // namespace quell::integrations::chat::slack
