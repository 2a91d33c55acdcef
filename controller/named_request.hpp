// How a client's request is known again after a restart (`stream_client::request`).
#pragma once

#include <string_view>

namespace quell::controller {

/// Begins the text of a request that names its message: an equal one is a repeat, also in a conversation that quell
/// keeps. Of other requests it may be the next message.
inline constexpr std::string_view names_its_message = "named:";

} // namespace quell::controller
