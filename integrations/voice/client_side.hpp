// The client's side of the voice exchange: what keys, microphone and frames lead to. Pure: events in, effects out.
//
// From its 07 to the `cancelled` that answers it the client drops what the cancelled exchange still sends: frames carry
// no id, so this is the border between old and new. Where nothing was recognised, asked or played a cancel sends
// nothing.
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
/// Behind what is played already; `silence`: what is not played yet is thrown away, at once.
struct play {
  std::string samples;
  friend bool operator==(const play&, const play&) = default;
};
struct silence {
  friend bool operator==(const silence&, const silence&) = default;
};
/// A line for the person.
struct show {
  std::string text;
  friend bool operator==(const show&, const show&) = default;
};
struct show_menu {
  voice::menu which = menu::none;
  friend bool operator==(const show_menu&, const show_menu&) = default;
};
/// The gateway refused something (JSON `code`, `detail`): it closes.
struct refused {
  std::string json;
  friend bool operator==(const refused&, const refused&) = default;
};
} // namespace client_effects

using client_effect = std::variant<client_effects::send, client_effects::play, client_effects::silence,
                                   client_effects::show, client_effects::show_menu, client_effects::refused>;

/// One thread. After each call the caller takes the effects, in order.
class client_side {
 public:
  void begin_talking();
  void microphone(std::string_view samples);
  void end_talking();
  /// The cancel key, Esc, or 4 in a menu.
  void cancel();
  /// '1', '2', '3' or '4'; others mean nothing.
  void choose(char key);
  void gateway_said(const frame& f);
  /// All that was to be played has been.
  void played();

  std::vector<client_effect> take() { return std::exchange(effects_, {}); }
  voice::menu menu() const { return menu_; }
  bool is_talking() const { return is_talking_; }
  bool is_playing() const { return is_playing_; }
  /// An answer, a choice or a `cancelled` is still to come.
  bool waits() const { return has_spoken_ || is_asked_ || owed_ > 0 || menu_ == menu::before_speech; }
  /// The last answer that was played, or is being; samples.
  const std::string& last_answer() const { return answer_; }

 private:
  template <class Effect>
  void effect(Effect e) {
    effects_.emplace_back(std::move(e));
  }
  void send(tag t, std::string payload = {}) { effect(client_effects::send{{t, std::move(payload)}}); }
  void open(voice::menu which);
  void said(const std::string& text);
  void noticed(const std::string& text);
  void forget();

  std::vector<client_effect> effects_;
  voice::menu menu_ = menu::none;
  std::string answer_;
  bool is_talking_ = false;
  bool has_spoken_ = false; ///< audio left, and nothing was recognised yet
  bool is_asked_ = false;
  bool is_playing_ = false; ///< the exchange's own speech
  bool is_replaying_ = false;
  bool is_whole_ = false;     ///< the speech that is played, or was, has its end
  bool has_answered_ = false; ///< the last exchange was spoken, and not cancelled since
  unsigned owed_ = 0;         ///< `cancelled` still to come
};

} // namespace quell::integrations::voice
