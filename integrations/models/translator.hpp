// What a provider's translation is: a request into an HTTP request, and the events of the answer into ours. Pure: no
// network, no clock.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/models/history.hpp"
#include "integrations/models/model.hpp"

namespace quell::integrations {

struct http_request {
  std::string url;
  std::string shown_url;            ///< without user, password and query: for people
  std::vector<std::string> headers; ///< hold the key
  std::string body;
};

/// Why a try has failed. `why.detail` does not say yet which model at which place.
struct mishap {
  fault why;
  bool again = false; ///< another try may do better
  std::optional<std::chrono::milliseconds> asked_wait;
};

mishap broken(std::string detail);

/// Reads one answer. After a mishap or the finish it is given nothing more.
class reply_reader {
 public:
  virtual ~reply_reader() = default;
  /// One event of the stream; appends what there is to tell.
  virtual std::optional<mishap> take(std::string_view name, std::string_view data, std::vector<model_event>& told) = 0;
  /// The body has ended as HTTP sees it.
  virtual std::optional<mishap> end(std::vector<model_event>& told) = 0;
  bool finished() const { return finished_; }
  /// All is there but the last formality: an end of the connection, or silence, is as good as the end event.
  bool settled() const { return settled_; }
  const model_usage& usage() const { return usage_; }

 protected:
  /// Count what came against the limits of one answer.
  std::optional<mishap> count_text(std::size_t bytes);
  std::optional<mishap> count_input(std::size_t bytes);
  std::optional<mishap> count_call();
  /// At most so much of a name as we keep.
  static std::string fit_name(const std::string& name);

  bool finished_ = false, settled_ = false;
  model_usage usage_;

 private:
  std::size_t text_bytes_ = 0, input_bytes_ = 0, calls_ = 0;
};

/// Fault: the settings or the request are such that no server would take it.
result<http_request> anthropic_request(const model_settings& settings, const model_request& request);
std::unique_ptr<reply_reader> anthropic_reader(call_ids ids);

result<http_request> openai_request(const model_settings& settings, const model_request& request);
std::unique_ptr<reply_reader> openai_reader(call_ids ids);

} // namespace quell::integrations
