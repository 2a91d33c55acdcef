// The client's side of the voice exchange: the effects of keys, microphone and frames. Pure: events in, effects out.
//
// From its 07 to the `cancelled` that answers it, the client drops everything that it receives for the cancelled
// exchange: frames carry no id, so `cancelled` is the border between old and new. A cancel sends nothing if nothing was
// recognised, asked or played.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/voice/wire.hpp"

namespace quell::integrations::voice {

enum class menu : std::uint8_t {
  none,
  before_speech, ///< [1] Continue [2] Retry [3] Replay [4] Cancel
  after_speech   ///< [3] Replay [4] Cancel
};

namespace client_effects {
struct send {
  frame what;
  friend bool operator==(const send&, const send&) = default;
};
/// Appends to what is already playing; `silence` instead discards at once what is not played yet.
struct play {
  std::string samples;
  friend bool operator==(const play&, const play&) = default;
};
struct silence {
  friend bool operator==(const silence&, const silence&) = default;
};
/// A line shown to the user.
struct show {
  std::string text;
  friend bool operator==(const show&, const show&) = default;
};
struct show_menu {
  voice::menu which = menu::none;
  friend bool operator==(const show_menu&, const show_menu&) = default;
};
/// The gateway refused something (JSON `code`, `detail`) and closes the connection.
struct refused {
  std::string json;
  friend bool operator==(const refused&, const refused&) = default;
};
} // namespace client_effects

using client_effect = std::variant<client_effects::send, client_effects::play, client_effects::silence,
                                   client_effects::show, client_effects::show_menu, client_effects::refused>;

/// Single-threaded. After each call the caller takes the effects, in order.
class client_side {
 public:
  void begin_talking();
  /// The microphone stays open from now on. Its samples are mostly silence, so only recognised words count as something
  /// to cancel.
  void open_microphone();
  void microphone(std::string_view samples);
  void end_talking();
  /// The cancel key, Esc, or 4 in a menu.
  void cancel();
  /// '1', '2', '3' or '4'; other keys do nothing.
  void choose(char key);
  void on_gateway_message(const frame& f);
  /// All queued samples have been played.
  void played();

  std::vector<client_effect> take() { return std::exchange(effects_, {}); }
  voice::menu menu() const { return menu_; }
  bool is_talking() const { return is_talking_; }
  bool is_playing() const { return is_playing_; }
  /// Whether an answer, a choice or a `cancelled` is still to come.
  bool waits() const { return has_spoken_ || is_requested_ || owed_ > 0 || menu_ == menu::before_speech; }
  /// Whether an answer is asked for, or not yet played to its end.
  bool is_answering() const { return is_requested_ || is_playing_ || menu_ == menu::before_speech; }
  /// Samples of the last answer that was played, or is playing.
  const std::string& last_answer() const { return answer_; }

 private:
  template <class Effect>
  void effect(Effect e) {
    effects_.emplace_back(std::move(e));
  }
  void send(tag t, std::string payload = {}) { effect(client_effects::send{{t, std::move(payload)}}); }
  void open(voice::menu which);
  void on_text(const std::string& text);
  void noticed(const std::string& text);
  void forget();
  bool is_answer_last() const;

  std::vector<client_effect> effects_;
  voice::menu menu_ = menu::none;
  std::string answer_;
  bool is_talking_ = false;
  bool is_open_ = false;    ///< talking never ends
  bool has_spoken_ = false; ///< audio was sent, and nothing was recognised yet
  bool is_requested_ = false;
  bool is_playing_ = false; ///< the exchange's own speech
  bool is_replaying_ = false;
  bool is_whole_ = false;     ///< the speech that is playing, or was played, is complete
  bool has_answered_ = false; ///< the last exchange was spoken, and has not been cancelled since
  bool drops_speech_ = false; ///< the user talks over a speech: what is on its way of it, up to its 84, is not played
  unsigned owed_ = 0;         ///< number of `cancelled` still to come
};

} // namespace quell::integrations::voice
