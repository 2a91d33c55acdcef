// One interface to every model provider.
//
// Events come on the client's own thread. Retries happen inside the client (429, 5xx, 529, lost connection, and only
// before the first text or call was reported), never after a cancel. So do the wait for a model's turn (its concurrency
// and rate) and the change to a fallback model.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/model_stream.hpp"

namespace quell::integrations {

/// `responses`: OpenAI's Responses API; `openai`: its Chat Completions, and what is compatible.
enum class provider : std::uint8_t { scripted, anthropic, openai, responses };

/// How a model is asked to answer. An absent value is left to the provider.
struct answer_settings {
  std::optional<double> temperature, top_p;
  std::string tool_choice;                      ///< auto, none, any (it must call one), or a tool's name; "" = auto
  std::string schema;                           ///< JSON Schema that the answer's text must fit; "" = none
  bool json = false;                            ///< the answer is a JSON object, without a schema
  std::optional<std::uint32_t> thinking_tokens; ///< that the model may think (Anthropic); 0: none, whatever is under it
  bool adaptive_thinking = false;               ///< as many as it likes
  std::string effort; ///< how hard it thinks: none, minimal, low, medium, high, xhigh or max; "" = its own choice
  bool thinks() const { return adaptive_thinking || thinking_tokens.value_or(0) > 0; }
  friend bool operator==(const answer_settings&, const answer_settings&) = default;
};

/// `over` where it says something, else `under`; without what models of `whose` do not have (a budget of thinking, an
/// effort), because an agent's settings also reach its fallback models.
answer_settings merged(const answer_settings& over, const answer_settings& under, provider whose);

/// Per million tokens, in any one currency. 0: free, or unknown.
struct token_prices {
  double input = 0, output = 0;
  std::optional<double> cached, written; ///< of input read from or written to the cache; absent: as `input`
  bool any() const { return input > 0 || output > 0 || cached || written; }
  friend bool operator==(const token_prices&, const token_prices&) = default;
};
/// In billionths of the currency.
std::uint64_t cost_of(const token_prices& prices, const model_usage& usage);

struct model_settings {
  std::string name; ///< the model's name in the configuration
  integrations::provider provider = provider::scripted;
  std::string model;    ///< the provider's name for it
  std::string base_url; ///< e.g. https://host/v1; any compatible server. scripted: the script's path
  std::string key;      ///< secret; never logged, never stored
  std::uint32_t max_tokens = 8192;
  std::uint32_t context = 128'000; ///< tokens of a request and its answer together
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_event_timeout{120'000};
  std::chrono::milliseconds idle_timeout{60'000};   ///< longest silence; comments of a stream break it, too
  std::chrono::milliseconds whole_timeout{900'000}; ///< all attempts together
  std::uint32_t retries = 4;
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{20'000};
  answer_settings answer;
  bool images = true;                         ///< it is sent images; else a text in their place
  bool documents = true;                      ///< the same for PDF files
  bool prompt_cache = true;                   ///< Anthropic: mark what the provider shall cache
  std::map<std::string, std::string> headers; ///< sent with each request; values are secret, like `key`
  std::uint32_t concurrency = 0;              ///< requests of this model at once; 0 = any number
  std::uint32_t rate = 0;                     ///< requests of this model begun in a minute; 0 = any number
  /// How long a call may wait for its turn at a model with such a limit, all its waits together.
  std::chrono::milliseconds queue_timeout = std::chrono::hours(24);
  token_prices prices;
  std::vector<std::string> fallback;     ///< names of models to ask when this one cannot answer, in this order
  std::vector<model_settings> fallbacks; ///< those models, for a call; theirs are not followed
};

/// Whether another model can perhaps answer a request that failed so, if nothing of an answer was shown. None can that
/// was refused, or was too long.
bool may_another_model_answer(const fault& why);

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
  /// Tokens so far of a call that was cut: what the provider reported, and an estimate of the rest. Any thread.
  virtual model_usage used() const = 0;
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
