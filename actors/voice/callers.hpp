// The identity of a voice client: from its hello, or the default for a client without one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "actors/voice/settings.hpp"
#include "controller/message_order.hpp"
#include "controller/orders.hpp"

namespace quell::controller::voice {

struct speaker {
  caller by;
  scope_path scope;
  records::person author;
  std::optional<std::uint32_t> humans_present{};
  std::string token{}; ///< secret; "" = none
};

/// The words of a speaker during an exchange, as a message for the turn scheduler.
turns::message_order spoken_order(const speaker& who, const std::optional<operation_id>& exchange, std::string text);

/// The caller of a token's secret. Fault `unauthorized`: who cannot converse, and why.
using caller_lookup = std::function<result<caller>(const std::string& secret)>;

/// A client on loopback without a hello.
speaker nobody_in_particular(const voice_settings& settings, const std::string& session);

/// `json`: the text of a hello. A token is looked up by `caller_of`; without one the client must be on
/// loopback, and stays below the configured scope. Faults: `unauthorized`, `bad_frame` (with the JSON pointer of what
/// is wrong: an unknown field, another type, too long or too many).
result<speaker> speaker_of(std::string_view json, const voice_settings& settings, const caller_lookup& caller_of,
                           const std::string& session, bool is_loopback);

} // namespace quell::controller::voice
