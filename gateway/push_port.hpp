// Push notifications as the gateway sees them: begun with it, told of events, stopped before it.
#pragma once

#include <functional>
#include <memory>

#include "controller/records/records.hpp"

namespace quell::controller::http {

struct gateway_context;

/// Any thread.
class push_port {
 public:
  virtual ~push_port() = default;
  /// A committed event; cheap.
  virtual void on_event(const records::event_record& event) = 0;
  /// Aborts running deliveries; they are repeated in the next life. Idempotent.
  virtual void stop() = 0;
};

} // namespace quell::controller::http
