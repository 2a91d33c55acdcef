// The effect of deleting or editing a message on its turn while that waits or runs.
#pragma once

#include <cstdint>

namespace quell::integrations::chat {

enum class on_deletion : std::uint8_t {
  stop,   ///< the turn, as if its author had stopped it
  ignore, ///< the reply goes on
};

enum class on_edit : std::uint8_t {
  ask,    ///< stops the turn and asks the new text in its place
  stop,   ///< stops the turn; the new text is not asked
  ignore, ///< the reply goes on, about the first text
};

/// Both only change the turn of a request. A word to stop stays said, whatever becomes of its message; an edit into
/// such a word is always a stop.
struct change_rules {
  on_deletion deletion = on_deletion::stop;
  on_edit edit = on_edit::ask;
};

} // namespace quell::integrations::chat
