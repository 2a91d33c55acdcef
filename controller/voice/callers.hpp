// The identity of a voice client: from its hello, or the default for a client without one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/orders.hpp"
#include "controller/turns/message_order.hpp"
#include "controller/voice/settings.hpp"

namespace quell::controller::voice {

struct speaker {
  caller by;
  scope_path scope;
  storage::person author;
  std::optional<std::uint32_t> humans_present{};
};

/// What a speaker said during an exchange, as a message for the swarm.
turns::message_order spoken_order(const speaker& who, const std::optional<operation_id>& exchange, std::string text);

/// A client on loopback without a hello.
speaker nobody_in_particular(const voice_settings& settings, const std::string& session);

/// `json`: the text of a hello. A token is looked up in the state directory; without one the client must be on
/// loopback, and stays below the configured scope. Faults: `unauthorized`, `bad_frame` (with the error in the JSON).
/// Reads files.
result<speaker> speaker_of(std::string_view json, const voice_settings& settings, const std::string& state_directory,
                           const std::string& session, bool is_loopback);

} // namespace quell::controller::voice
