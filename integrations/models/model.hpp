// Asking a model: one interface for every provider.
//
// Events come on the client's own thread. Retries happen inside (429, 5xx, 529, lost connection, and only before the
// first text or call was told), never after a cancel.
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
  std::string name; ///< how the configuration calls it
  integrations::provider provider = provider::scripted;
  std::string model;    ///< the provider's name of it
  std::string base_url; ///< e.g. https://host/v1; any compatible server. scripted: the path of the script
  std::string key;      ///< secret; never logged, never stored
  std::uint32_t max_tokens = 8192;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_event_timeout{120'000};
  std::chrono::milliseconds idle_timeout{60'000};   ///< between two events
  std::chrono::milliseconds whole_timeout{900'000}; ///< all tries together
  std::uint32_t retries = 4;
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{20'000};
};

/// What is wrong with these settings, if anything; for a configuration to ask before any turn does. Reads the script of
/// a scripted model. The fault names the model and never holds the key.
std::optional<fault> wrong_settings(const model_settings& settings);

/// A running call. Dropping it cancels it. It may outlive its client.
class model_call {
 public:
  virtual ~model_call() = default;
  /// Any thread, any number of times. Once it returns no event is told any more; the connection is closed at once, and
  /// then `closed` is called, exactly once, on the client's thread (also when the call had ended by itself). Waits for
  /// a `listener` of this call that is running at this moment, so the caller must not hold a lock that it takes; from
  /// inside the listener it waits for nothing. After the end of the client `closed` runs on the caller's thread.
  virtual void cancel(std::function<void()> closed) = 0;
};

struct model_client_options {
  /// PEM file of trusted authorities; "": what QUELL_CA_FILE or else CURL_CA_BUNDLE names, or else the system's.
  std::string ca_file;
  /// From 0 to below 1, spreads the back-offs; called on the client's thread. None: a generator of its own.
  std::function<double()> random;
};

/// Owns one thread and all connections. Its end closes every call (`closed` of those already cancelled is called, and
/// nothing is told any more); it must not be dropped on its own thread, that is from a listener.
class model_client {
 public:
  virtual ~model_client() = default;
  static result<std::unique_ptr<model_client>> make();
  static result<std::unique_ptr<model_client>> make(model_client_options options);
  /// Any thread. Never blocks; everything that goes wrong is told as `failed`. `listener` runs on the client's thread
  /// and must only hand over; it must not throw.
  virtual std::unique_ptr<model_call> ask(const model_settings& settings, model_request request,
                                          std::function<void(model_event)> listener) = 0;
};

} // namespace quell::integrations
