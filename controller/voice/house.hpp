// State shared by all parts of the voice gateway.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "controller/service.hpp"
#include "controller/turns/swarm.hpp"
#include "controller/voice/settings.hpp"
#include "integrations/voice/loop.hpp"

namespace quell::controller::voice {

class exchange_table;

struct voice_house {
  voice_settings settings;
  std::string state_directory;
  service& controller;
  turns::swarm& swarm;
  std::shared_ptr<turns::shared_parts> work;
  std::shared_ptr<integrations::voice::voice_loop> loop;
  std::shared_ptr<exchange_table> exchanges;
  std::set<operation_id> recognisers{}; ///< live recognisers, which make no scope active
};
using house_ref = std::shared_ptr<voice_house>;

} // namespace quell::controller::voice
