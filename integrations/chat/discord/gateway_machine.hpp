// One bot's session with Discord's gateway: its input, its output, and the times of its retries. Pure: no socket, no
// clock, no randomness.
//
// A session outlives its connections. Discord numbers its events (seq); after a disconnection the bot resumes with the
// session's id and the last number that it has seen, and gets the missed events. Only if Discord has forgotten the
// session does a new one begin, and then the events in between are lost.
//
// A connection that this machine hangs up is over for it at once: its driver reports nothing more about it. Rules and
// numbers: https://discord.com/developers/docs/events/gateway
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/time.hpp"

namespace quell::integrations::chat::discord {

namespace gateway_effects {
/// Ask the service for the gateway's address (GET /gateway/bot); answer with `found_address` or `no_address`.
struct find_address {};
/// Connect; answer with `connected` or `lost`.
struct connect {
  std::string url;
};
struct send {
  std::string text;
};
/// Close the connection with this code, which keeps the session alive.
struct hang_up {
  std::uint16_t code = 4000;
};
/// A dispatch of a used type (`is_listened_to`), and its `d` as JSON text.
struct dispatch {
  std::string type;
  std::string data;
};
/// A retry cannot help: wrong token, or intents that are not granted.
struct gave_up {
  std::string why;
};
} // namespace gateway_effects

using gateway_effect = std::variant<gateway_effects::find_address, gateway_effects::connect, gateway_effects::send,
                                    gateway_effects::hang_up, gateway_effects::dispatch, gateway_effects::gave_up>;

/// Single-threaded. Each input returns the actions to take now, in order. `jitter` is a fresh random number from 0 to
/// 1.
class gateway_machine {
 public:
  using effects = std::vector<gateway_effect>;

  /// Intents: GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT. `address` "": requested from the service.
  gateway_machine(std::string token, std::string address);

  effects start(boot_time now);
  effects found_address(std::string url, boot_time now);
  /// `wait`: requested by the service; `is_final`: the token is invalid.
  effects no_address(std::string why, bool is_final, milliseconds wait, boot_time now, double jitter);
  effects connected(boot_time now);
  effects received(std::string_view text, boot_time now, double jitter);
  /// The connection has ended or could not be made. `code`: of the close frame, 0 = there was none.
  effects lost(std::uint16_t code, std::string why, boot_time now, double jitter);
  effects tick(boot_time now, double jitter);

  /// The time of the next useful `tick`; nullopt: not before the next input.
  std::optional<boot_time> next_at() const;
  /// One line for display.
  std::string state(boot_time now) const;
  bool is_ready() const { return stage_ == stage::ready; }
  const std::string& own_id() const { return own_id_; }
  const std::string& own_name() const { return own_name_; }

 private:
  enum class stage : std::uint8_t { idle, waiting, asking, connecting, greeting, entering, ready, over };
  struct session {
    std::string id, url;
  };

  effects begin(boot_time now);
  effects greeted(std::int64_t interval_ms, boot_time now, double jitter);
  void became_ready(boot_time now);
  effects beat(boot_time now);
  effects dropped(std::string why, milliseconds least, boot_time now, double jitter);
  effects hung_up(std::string why, milliseconds least, boot_time now, double jitter);
  effects over(std::string why);
  std::string entrance() const;

  const std::string token_, address_;
  stage stage_ = stage::idle;
  std::optional<session> session_;
  std::uint64_t seq_ = 0; ///< of the session; 0 = no event was received
  std::string own_id_, own_name_, why_;
  boot_time due_{}; ///< while waiting: when to begin; in the stages up to ready: when to give up
  boot_time beat_at_{};
  boot_time beaten_at_{}, ready_at_{};
  std::chrono::nanoseconds interval_{};
  bool is_answered_ = true; ///< whether the last heartbeat was acknowledged
  unsigned failures_ = 0;   ///< consecutive ones
};

} // namespace quell::integrations::chat::discord
