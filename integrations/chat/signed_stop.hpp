// Stops that may be replayed: a service's signed request is good for some minutes, for whoever has recorded it.
#pragma once

#include <functional>
#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

struct signed_stop {
  stop_order order;
  std::string signature; ///< the same signature asks for the same stop, which is performed once, for good
  wall_time signed_at{};
  bool is_from_before = false; ///< signed before the connector could remember it: an earlier life may have done it
};

/// A host that knows what earlier lives did. Beside `host`, under its rules.
class signed_stops {
 public:
  virtual ~signed_stops() = default;
  /// The outcome `repeated` says that an earlier life did it.
  virtual void stop_once(signed_stop order, std::function<void(result<stop_answer>)> done) = 0;
};

} // namespace quell::integrations::chat
