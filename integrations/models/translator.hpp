// A provider's translator: turns a request into an HTTP request, and the events of the answer into ours. Pure: no
// network, no clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "integrations/models/history.hpp"
#include "integrations/models/model.hpp"

namespace quell::integrations {

struct http_request {
  std::string url;
  std::string shown_url;            ///< without user, password and query: for display
  std::vector<std::string> headers; ///< contain the key
  std::string body;
};

struct endpoint;
/// The request of both dialects of OpenAI, with the extra headers of the settings last.
http_request post_with_bearer(const model_settings& settings, const endpoint& place, const nlohmann::json& body);

/// The reason why an attempt failed. `why.detail` does not name the model and its place yet.
struct provider_error {
  fault why;
  bool again = false; ///< a retry can succeed
  std::optional<std::chrono::milliseconds> requested_wait;
};

provider_error broken(std::string detail);

/// Reads one answer. It gets nothing more after a provider_error or the finish.
class reply_reader {
 public:
  virtual ~reply_reader() = default;
  /// Takes one event of the stream and appends the resulting events.
  virtual std::optional<provider_error> take(std::string_view name, std::string_view data,
                                             std::vector<model_event>& events) = 0;
  /// The HTTP body has ended.
  virtual std::optional<provider_error> end(std::vector<model_event>& events) = 0;
  bool finished() const { return finished_; }
  /// Only the formal end event is missing: an end of the connection, or silence, is then just as good.
  bool settled() const { return settled_; }
  const model_usage& usage() const { return usage_; }

 protected:
  /// Count received bytes against the limits of one answer.
  std::optional<provider_error> count_text(std::size_t bytes);
  std::optional<provider_error> count_input(std::size_t bytes);
  std::optional<provider_error> count_call();
  /// Passes a piece on, unless it is empty, and counts it as text.
  std::optional<provider_error> tell(std::string piece, std::vector<model_event>& events);
  std::optional<provider_error> think(std::string piece, std::vector<model_event>& events);
  /// The name, cut to our limit.
  static std::string fit_name(const std::string& name);

  bool finished_ = false, settled_ = false;
  model_usage usage_;

 private:
  std::size_t text_bytes_ = 0, input_bytes_ = 0, calls_ = 0;
};

/// Fault: no server would accept the settings or the request.
result<http_request> anthropic_request(const model_settings& settings, const model_request& request);
std::unique_ptr<reply_reader> anthropic_reader(call_ids ids);

result<http_request> openai_request(const model_settings& settings, const model_request& request);
std::unique_ptr<reply_reader> openai_reader(call_ids ids);

result<http_request> responses_request(const model_settings& settings, const model_request& request);
std::unique_ptr<reply_reader> responses_reader(call_ids ids);

} // namespace quell::integrations
