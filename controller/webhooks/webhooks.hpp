// Events on their way out: every configured webhook is told what is committed, in order, at least once, also what was
// committed before a restart or while the receiver was away. Nothing waits for a receiver.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/webhooks/delivery.hpp"
#include "integrations/chat/webhook/settings.hpp"
#include "storage/queries.hpp"

namespace quell::controller::webhooks {

class outgoing {
 public:
  using read_done = std::function<void(result<page>)>;
  struct edges {
    std::string state_directory;
    std::uint64_t newest = 0; ///< the newest event now: where a webhook begins that never was here before
    /// Reads and renders what is kept behind `filter.after`. Any thread; answers once, on any other.
    std::function<void(storage::event_filter filter, read_done done)> read;
  };
  /// Fault: a position that cannot be read or written, or no thread.
  static result<std::unique_ptr<outgoing>> start(std::vector<integrations::chat::outgoing_webhook> to, edges e);
  virtual ~outgoing() = default;

  /// A committed event. Any thread; cheap.
  virtual void heard(const storage::event_record& event) = 0;
  /// Name and state of each, for people. Any thread.
  virtual std::vector<std::pair<std::string, std::string>> states() const = 0;
  /// What is under way is broken off, and comes again after the next start. Twice does no harm.
  virtual void stop() = 0;
};

} // namespace quell::controller::webhooks
