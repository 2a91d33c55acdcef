// One interface to every model provider.
//
// Events come on the client's own thread. Retries happen inside the client (429, 5xx, 529, lost connection, and only
// before the first text or call was reported), never after a cancel.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocol/fault.hpp"
#include "protocol/model_stream.hpp"

namespace quell::integrations {

enum class provider : std::uint8_t { scripted, anthropic, openai };

struct model_settings {
  std::string name; ///< the model's name in the configuration
  integrations::provider provider = provider::scripted;
  std::string model;    ///< the provider's name for it
  std::string base_url; ///< e.g. https://host/v1; any compatible server. scripted: the script's path
  std::string key;      ///< secret; never logged, never stored
  std::uint32_t max_tokens = 8192;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_event_timeout{120'000};
  std::chrono::milliseconds idle_timeout{60'000};   ///< longest gap between two events
  std::chrono::milliseconds whole_timeout{900'000}; ///< all attempts together
  std::uint32_t retries = 4;
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{20'000};
};

/// The error in these settings, if any, so that a configuration is checked before a turn uses it. Reads the script of a
/// scripted model. The fault names the model and never contains the key.
std::optional<fault> wrong_settings(const model_settings& settings);

/// A running call. Destroying it cancels it. It can outlive its client.
class model_call {
 public:
  virtual ~model_call() = default;
  /// Any thread, any number of times. No event is delivered after it returns; the connection is closed at once, and
  /// then `closed` is called exactly once on the client's thread (also if the call had already ended). Waits for a
  /// `listener` of this call that is running now, so the caller must not hold a lock that the listener takes; from
  /// inside the listener it does not wait. After the end of the client `closed` runs on the caller's thread.
  virtual void cancel(std::function<void()> closed) = 0;
};

struct model_client_options {
  /// PEM file of trusted authorities; "": the file that QUELL_CA_FILE or else CURL_CA_BUNDLE names, otherwise the
  /// system's.
  std::string ca_file;
  /// Returns 0 to below 1 to spread the back-offs; called on the client's thread. Empty: the client uses its own
  /// generator.
  std::function<double()> random;
};

/// Owns one thread and all connections. Its destructor closes every call (it calls `closed` of calls already cancelled,
/// and delivers no further event); it must not run on the client's own thread, that is from a listener.
class model_client {
 public:
  virtual ~model_client() = default;
  static result<std::unique_ptr<model_client>> make();
  static result<std::unique_ptr<model_client>> make(model_client_options options);
  /// Any thread. Never blocks; every error is reported as `failed`. `listener` runs on the client's thread; it must
  /// only hand the event over and must not throw.
  virtual std::unique_ptr<model_call> ask(const model_settings& settings, model_request request,
                                          std::function<void(model_event)> listener) = 0;
};

} // namespace quell::integrations
