// State shared by all parts of the voice gateway.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "actors/turns/turn_scheduler.hpp"
#include "actors/voice/callers.hpp"
#include "actors/voice/parted_cancels.hpp"
#include "actors/voice/presence.hpp"
#include "actors/voice/settings.hpp"
#include "integrations/voice/loop.hpp"

namespace quell::controller::voice {

class exchange_table;

struct voice_context {
  voice_settings settings;
  caller_lookup caller_of;
  turns::turn_scheduler& turn_scheduler;
  std::shared_ptr<turns::agent_runtime> work;
  std::shared_ptr<integrations::voice::voice_loop> loop;
  std::shared_ptr<exchange_table> exchanges;
  std::set<operation_id> recognisers{}; ///< live recognisers, which make no scope active
  presence present{};
  parted_cancels parted{};
};
using voice_context_ref = std::shared_ptr<voice_context>;

} // namespace quell::controller::voice
