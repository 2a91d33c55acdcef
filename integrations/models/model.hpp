// Asking a model: one interface for every provider.
//
// Events come on the client's own thread. Retries happen inside (429, 5xx, 529, lost connection, and only before the
// first text or call was told), never after a cancel.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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

/// A running call. Dropping it cancels it.
class model_call {
 public:
  virtual ~model_call() = default;
  /// Any thread, any number of times. Once it returns no event is told any more; the connection is closed at once, and
  /// then `closed` is called, exactly once, on the client's thread (also when the call had ended by itself).
  virtual void cancel(std::function<void()> closed) = 0;
};

class model_client {
 public:
  virtual ~model_client() = default;
  static result<std::unique_ptr<model_client>> make();
  /// Any thread. Never blocks; everything that goes wrong is told as `failed`. `listener` runs on the client's thread
  /// and must only hand over.
  virtual std::unique_ptr<model_call> ask(const model_settings& settings, model_request request,
                                          std::function<void(model_event)> listener) = 0;
};

} // namespace quell::integrations
