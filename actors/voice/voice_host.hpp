// The voice gateway of quelld: listens, admits clients and brains, and passes on the controller's notices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "actors/voice/callers.hpp"
#include "actors/voice/settings.hpp"
#include "controller/local_operations.hpp"
#include "integrations/voice/loop.hpp"

namespace quell::controller::turns {
class turn_scheduler;
}

namespace quell::controller::voice {

struct voice_options {
  voice_settings settings;
  caller_lookup caller_of;
  std::string tls_cert, tls_key; ///< the files of HTTP
  bool insecure = false;         ///< allow plain connections off loopback
};

/// Any thread.
class voice_host {
 public:
  /// `turn_scheduler` must outlive it. Faults: `address_in_use`, `bad_address`, `bad_tls`, `insecure_listen`,
  /// `invalid_field`.
  static result<std::unique_ptr<voice_host>> start(voice_options options, turns::turn_scheduler& turn_scheduler);
  /// The same on an existing loop.
  static result<std::unique_ptr<voice_host>> start_on(std::shared_ptr<integrations::voice::voice_loop> loop,
                                                      voice_options options, turns::turn_scheduler& turn_scheduler);
  virtual ~voice_host() = default;

  /// HOST:PORT in use.
  virtual std::string address() const = 0;
  // Notices from the controller, on its thread:
  virtual void signal(const actor_signal& s) = 0;
  virtual void on_event(const records::event_record& e) = 0;
  /// Closes all connections; later notices have no effect.
  virtual void stop() = 0;
};

} // namespace quell::controller::voice
