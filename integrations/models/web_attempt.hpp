// One attempt over HTTP: sends a request and reads its event stream as it arrives.
#pragma once

#include "integrations/models/attempt.hpp"
#include "integrations/models/provider_errors.hpp"
#include "integrations/models/sse.hpp"
#include "integrations/models/transfers.hpp"

namespace quell::integrations {

/// State shared by all attempts of one call.
struct web_plan {
  http_request request;
  std::unique_ptr<reply_reader> (*reader)(call_ids ids) = nullptr;
  call_ids ids; ///< ids that the conversation already uses
  std::chrono::milliseconds connect_timeout{0};
  std::string ca_file; ///< "": the library's default
};

class web_attempt final : public attempt {
 public:
  web_attempt(attempt_host& host, transfers& network, std::shared_ptr<const web_plan> plan);
  ~web_attempt() override;
  web_attempt(const web_attempt&) = delete;
  web_attempt& operator=(const web_attempt&) = delete;

  /// The network library has timers of its own.
  model_clock::time_point wake() const override { return model_clock::time_point::max(); }
  void tick(model_clock::time_point) override {}
  void conclude() override;
  model_usage usage() const override { return reader_->usage(); }

  /// Called when the transfer of this handle has ended.
  static void done(CURL* easy, CURLcode code);

 private:
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self);
  void set_options();
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);
  bool take_events(std::string_view bytes);
  bool is_stream();
  void finish(CURLcode code);
  std::optional<provider_error> outcome(CURLcode code, std::vector<model_event>& events);

  attempt_host& host_;
  transfers& network_;
  std::shared_ptr<const web_plan> plan_;
  std::unique_ptr<reply_reader> reader_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  sse_decoder decoder_;
  refusal response_;
  std::size_t header_bytes_ = 0, body_bytes_ = 0;
  bool any_event_ = false, over_ = false;
  std::optional<provider_error> provider_error_; ///< why we broke off the transfer
};

} // namespace quell::integrations
