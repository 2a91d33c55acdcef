// People in chats: they write messages, say stop in many ways, approve and deny, with and without the right to; their
// service repeats messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/message_order.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/scenario.hpp"

namespace quell::simulation {

struct world;

/// A message, and facts about it that do not depend on the product's decision.
struct chat_message {
  int number = 0;
  controller::turns::message_order order;
  bool is_stop = false;   ///< nothing but a stop
  bool names_bot = false; ///< in the text of a stop
  std::optional<instant> first_at = {};
};

/// A decision about a call that waits for one.
struct chat_decision {
  operation_id call;
  bool approved = false;
  std::string by;
  bool may = false; ///< as the rules have it
};

class chatters {
 public:
  explicit chatters(world& w) : world_(w) {}
  /// Plans all messages.
  void plan();
  /// A call waits for a human.
  void on_approval_required(const operation_id& call);
  /// Messages that wait for an answer or a repeat.
  std::uint64_t waiting() const { return waiting_; }
  std::uint64_t message_count() const { return message_count_; }

 private:
  chat_message draw(int number, random_stream& r) const;
  void say(chat_message m, int tries);
  void come_again(chat_message m, int tries, instant delay);
  void decide(const operation_id& call, random_stream r);
  void maybe_hang_up(const operation_id& turn, std::uint64_t salt);

  world& world_;
  std::vector<bool> is_answered_; ///< by number
  std::uint64_t waiting_ = 0, message_count_ = 0;
};

} // namespace quell::simulation
