// People who talk: clients of the voice gateway with the production client's side, keys pressed at any instant, lost
// connections; and a brain outside of quelld.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/voice/settings.hpp"
#include "protocol/id.hpp"

namespace quell::simulation {

struct world;
class voice_caller;
class outer_brain;

class voice_callers {
 public:
  explicit voice_callers(world& w);
  ~voice_callers();
  voice_callers(const voice_callers&) = delete;
  voice_callers& operator=(const voice_callers&) = delete;

  /// Plans everything that they do.
  void plan();
  /// The voice gateway is open.
  void opened();
  /// quelld sends the controller the end of an operation.
  void end_is_ordered(const operation_id& id);
  /// Everything is healed: each 07 has its answer, then all hang up.
  void leave();
  bool are_answered() const;
  std::uint64_t waiting() const { return waiting_; }

  /// As this seed has them.
  controller::voice::voice_settings settings() const;

 private:
  friend class voice_caller;
  friend class outer_brain;
  world& world_;
  std::vector<std::unique_ptr<voice_caller>> all_;
  std::unique_ptr<outer_brain> brain_;
  int connections_ = 0, utterances_ = 0;
  std::uint64_t waiting_ = 0;
};

} // namespace quell::simulation
