// Stops that can be replayed: a service's signed request is valid for some minutes, also for someone who recorded it.
#pragma once

#include <functional>
#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

struct signed_stop {
  stop_order order;
  std::string signature; ///< the same signature means the same stop, which is performed only once, ever
  wall_time signed_at{};
  bool is_from_before = false; ///< signed before this process could record it: an earlier process may have performed it
};

/// A host that knows which stops earlier processes performed. Used in addition to `host`, under its rules.
class signed_stops {
 public:
  virtual ~signed_stops() = default;
  /// The outcome `repeated` means that an earlier process performed it.
  virtual void stop_once(signed_stop order, std::function<void(result<stop_answer>)> done) = 0;
};

} // namespace quell::integrations::chat
