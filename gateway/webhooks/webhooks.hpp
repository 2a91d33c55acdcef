// Outgoing events: every configured webhook gets the committed events in order, at least once, including those
// committed before a restart or while the receiver was away. Nothing waits for a receiver.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/store_reader.hpp"
#include "gateway/webhooks/delivery.hpp"
#include "integrations/chat/webhook/settings.hpp"

namespace quell::controller::webhooks {

class outgoing {
 public:
  using read_done = std::function<void(result<page>)>;
  struct edges {
    std::string state_directory;
    std::uint64_t newest = 0; ///< the newest event now, at which a new webhook begins
    /// Reads and renders the stored events after `filter.after`. Any thread; answers once, on any other.
    std::function<void(records::event_filter filter, read_done done)> read;
  };
  /// Fault: a position that cannot be read or written, or no thread.
  static result<std::unique_ptr<outgoing>> start(std::vector<integrations::chat::outgoing_webhook> to, edges e);
  virtual ~outgoing() = default;

  /// A committed event. Any thread; cheap.
  virtual void on_event(const records::event_record& event) = 0;
  /// Name and state of each webhook, for display. Any thread.
  virtual std::vector<std::pair<std::string, std::string>> states() const = 0;
  /// Aborts running deliveries; they are repeated after the next start. Idempotent.
  virtual void stop() = 0;
};

} // namespace quell::controller::webhooks
