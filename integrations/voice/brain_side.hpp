// The brain's side of the voice exchange, as quell's own brain plays it: the prompt for a transcript, the handling of
// an answer, and the effect of a cancel or a rephrasing on the next prompt. Pure: events in, effects out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/voice/wire.hpp"

namespace quell::integrations::voice {

/// Counts the queries to a brain, from 1.
using query_number = std::uint64_t;

namespace brain_effects {
struct to_gateway {
  frame what;
  friend bool operator==(const to_gateway&, const to_gateway&) = default;
};
/// Ends with `answered` or `failed`, unless it is dropped before.
struct ask {
  query_number n = 0;
  std::string context; ///< stands before the text in the prompt, with an empty line between; "" = none
  std::string text;
  friend bool operator==(const ask&, const ask&) = default;
};
/// The answer to this query is no longer wanted.
struct drop {
  query_number n = 0;
  friend bool operator==(const drop&, const drop&) = default;
};
} // namespace brain_effects

using brain_effect = std::variant<brain_effects::to_gateway, brain_effects::ask, brain_effects::drop>;

/// Single-threaded. After each call the caller takes the effects, in order.
class brain_side {
 public:
  enum class manner : std::uint8_t {
    at_once, ///< answers are spoken as soon as they come
    asks     ///< answers are shown first, and spoken once the user chooses so
  };
  explicit brain_side(manner how) : how_(how) {}

  /// Begins the session by announcing it.
  void begin();
  /// The gateway has first words, or an answer that nobody asked for. From here on a cancel has something to discard,
  /// also before a transcript.
  void exchange_begins() { has_exchange_ = true; }
  /// No answered prompt has told of the last cancel.
  bool owes_cancel() const { return next_ == context::cancelled; }
  /// The session goes on one that owed this.
  void begin_cancelled() {
    has_exchange_ = true;
    next_ = context::cancelled;
  }
  void on_gateway_message(const frame& f);
  void answered(query_number n, std::string text);
  /// The next prompt gets the same context again.
  void failed(query_number n, const std::string& why);

  std::vector<brain_effect> take() { return std::exchange(effects_, {}); }

 private:
  struct query {
    query_number n = 0;
    std::string text;
    std::optional<std::string> answer{}; ///< waits for a choice
  };
  struct past_exchange {
    query_number n = 0;
    std::string text, answer;
  };
  enum class context : std::uint8_t { none, cancelled, rephrased };

  template <class Effect>
  void effect(Effect e) {
    effects_.emplace_back(std::move(e));
  }
  void send(tag t, std::string payload = {}) { effect(brain_effects::to_gateway{{t, std::move(payload)}}); }
  void ask(const std::string& text);
  void cancelled();
  void chosen(user_choice what);
  void keep(const query& q, std::string answer);
  std::string summary() const;

  const manner how_;
  std::vector<brain_effect> effects_;
  std::optional<query> open_;
  context next_ = context::none; ///< for the next prompt
  query_number last_ = 0;
  bool has_exchange_ = false;      ///< at least one has begun
  std::deque<past_exchange> past_; ///< answered and not cancelled
};

} // namespace quell::integrations::voice
