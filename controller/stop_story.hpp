// Decides what people learn after a stop, and when: never ahead of the proof. Pure.
//
// A model's words are sent only once the cancel has settled with proof, because a model that writes "I have stopped"
// does not know it. Until then, and if something is unknown, quell sends its own words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller::turns {

enum class stop_telling : std::uint8_t {
  reaction,    ///< the stop was understood; no text
  stopping,    ///< quell's own text: not over yet. More follows
  unproven,    ///< quell's own text: which operations are not known to have ended, and why. More follows
  words,       ///< the model's text; everything has ended, proven
  stopped,     ///< quell's own text: everything has ended, proven
  unconfirmed, ///< quell's own text: it is over, but not everything is known to have ended
};
/// The state's name in events; "" for a state without a name.
const char* name_of(stop_telling t);
/// Whether another `acknowledgement` for the same message follows the one with this state.
bool more_follows(std::string_view state);

/// Readers see a reaction, which stays beside their message and needs no text behind it. Listeners cannot see one: they
/// are told that the stop is under way, and then that it is over.
enum class audience : std::uint8_t { readers, listeners };

class stop_story {
 public:
  enum class voice : std::uint8_t { model, none };
  explicit stop_story(voice whose, audience to = audience::readers)
      : is_asking_(whose == voice::model), has_listeners_(to == audience::listeners) {}

  /// The model's answer; "" = none, or not in time.
  void answered(std::string words);
  /// The time in which users wait silently is over.
  void wait_ends() { is_patient_ = false; }
  void settled(bool is_proven) { proven_ = is_proven; }
  /// Some operation has not ended in its time.
  void stuck() { is_stuck_ = true; }
  /// The last acknowledgement that an earlier life sent.
  void was_acknowledged(stop_telling what) { last_ = what; }

  /// The next acknowledgement to send, each once.
  std::optional<stop_telling> next();
  bool is_over() const { return is_over_; }
  const std::string& words() const { return words_; }

 private:
  std::optional<stop_telling> tell(stop_telling what, bool is_last);

  bool is_asking_, has_listeners_, is_patient_ = true, is_stuck_ = false, is_over_ = false;
  std::string words_;
  std::optional<bool> proven_;
  std::optional<stop_telling> last_;
};

/// One operation that is not known to have ended, for display.
struct not_known {
  std::string name; ///< of the tool, or the title
  std::string why;  ///< `worker w2 is unreachable`
};

/// The operations that keep an open cancel from being proven although its time is over; empty = none, or they are
/// merely being stopped. `is_late`: the bound of its kills is over. `workers_are::coming_back`: quelld has just
/// started, so no worker has reconnected yet.
enum class workers_are : std::uint8_t { known, coming_back };
struct stuck_operation {
  operation_id id;
  std::string why;
};
std::vector<stuck_operation> stuck_in(const cancel_view& view, bool is_late, workers_are workers = workers_are::known);
/// The reason why the outcome of work with this receipt is unknown; "" = it is known.
std::string why_not_known(receipt how);

/// quell's own text. `total`: the number of operations, of which `some` are named. For listeners without signs that a
/// voice would spell.
std::string own_words(stop_telling what, const std::vector<not_known>& some, std::uint64_t total,
                      audience to = audience::readers);
/// The words for listeners once a stop is proven: `Stopped: exec, 2 crawl and 3 more.`
std::string stopped_aloud(const std::vector<std::string>& interrupted);

} // namespace quell::controller::turns
