// One request of a web_loop, as libcurl sees it.
#pragma once

#include "integrations/chat/web.hpp"
#include "integrations/models/transfers.hpp"

namespace quell::integrations::chat {

class web_transfer {
 public:
  web_transfer(transfers& network, web_request request, std::function<void(web_response)> done);
  ~web_transfer();
  web_transfer(const web_transfer&) = delete;
  web_transfer& operator=(const web_transfer&) = delete;

  CURL* handle() const { return easy_; }
  /// libcurl has ended the transfer: reports the outcome.
  void finish(CURLcode code);

 private:
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self);
  bool take_header(std::string_view line);
  void set_options();

  transfers& network_;
  web_request request_;
  std::function<void(web_response)> done_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  web_response response_;
  std::size_t header_bytes_ = 0;
  bool is_over_ = false;
};

} // namespace quell::integrations::chat
