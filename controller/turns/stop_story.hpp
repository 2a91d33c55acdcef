// What people are told after a stop, and when: never ahead of the proof. Pure.
//
// The words of a model are told once the cancel has settled with proof, and not at all otherwise: a model that writes
// "I have stopped" does not know it. Until then, and where something is not known, quell speaks itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller::turns {

enum class stop_telling : std::uint8_t {
  reaction,    ///< it was understood; there are no words
  stopping,    ///< quell's own: it is not over yet. More follows
  unproven,    ///< quell's own: what is not known to have ended, and why. More follows
  words,       ///< the model's; everything has ended, proven
  stopped,     ///< quell's own: everything has ended, proven
  unconfirmed, ///< quell's own: it is over, but not all of it is known to have ended
};
/// As events name the state; "" for what needs none.
const char* name_of(stop_telling t);
/// Of the data of an event `acknowledgement`: another one of the same message will come.
bool more_follows(const std::string& data);

class stop_story {
 public:
  enum class voice : std::uint8_t { model, none };
  explicit stop_story(voice whose) : is_asking_(whose == voice::model) {}

  /// The model's answer; "" = none, or not in time.
  void answered(std::string words);
  /// Nobody waits any longer in silence.
  void patience_ends() { is_patient_ = false; }
  void settled(bool is_proven) { proven_ = is_proven; }
  /// Something does not end that should have.
  void stuck() { is_stuck_ = true; }
  /// By an earlier life, as the last thing.
  void was_told(stop_telling what) { last_ = what; }

  /// The next thing to be told, each once.
  std::optional<stop_telling> next();
  bool is_over() const { return is_over_; }
  const std::string& words() const { return words_; }

 private:
  std::optional<stop_telling> tell(stop_telling what, bool is_last);

  bool is_asking_, is_patient_ = true, is_stuck_ = false, is_over_ = false;
  std::string words_;
  std::optional<bool> proven_;
  std::optional<stop_telling> last_;
};

/// One operation that is not known to have ended, for people.
struct not_known {
  std::string name; ///< of the tool, or the title
  std::string why;  ///< `worker w2 is unreachable`
};

/// What keeps an open cancel from being proven although its time is over; empty = nothing, or it is merely being
/// stopped. `is_late`: the bound of its kills is over. `workers_are::coming_back`: quelld has just begun, so that none
/// of them is there yet.
enum class workers_are : std::uint8_t { known, coming_back };
struct stuck_operation {
  operation_id id;
  std::string why;
};
std::vector<stuck_operation> stuck_in(const cancel_view& view, bool is_late, workers_are workers = workers_are::known);
/// Why nothing is known of work that ended with this receipt; "" = it is known.
std::string why_not_known(receipt how);

/// quell's own words. `total`: as many as there are, of which `some` are named.
std::string own_words(stop_telling what, const std::vector<not_known>& some, std::uint64_t total);

} // namespace quell::controller::turns
