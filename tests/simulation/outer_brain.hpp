// A brain that is a program of somebody else: it answers late, asks first, answers twice, and disconnects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/voice_loop.hpp"

namespace quell::simulation {

struct world;

class outer_brain {
 public:
  explicit outer_brain(world& w);
  void connect();

 private:
  void take(const integrations::voice::frame& f);
  void answer(const std::string& words);
  void send_later(instant delay, integrations::voice::frame f);

  world& world_;
  random_stream random_;
  std::shared_ptr<voice_peer> peer_;
  std::string open_; ///< the words of the current exchange
  std::uint64_t exchange_ = 0, connections_ = 0;
};

} // namespace quell::simulation
