// Redirects are not followed, so that no address leads elsewhere than to the origins of the service.
#include "integrations/chat/web_files.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <curl/curl.h>

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_file_url = 4096, most_first_answer = 64 << 10;

/// The bytes, or in words why there are none.
result<std::string> file_of(web_response r, std::size_t most) {
  const auto failed = [](const std::string& why) { return failure("not_fetched", "it could not be fetched: " + why); };
  if (r.is_too_large) return failure(error_code::too_large, "it is larger than " + std::to_string(most) + " bytes");
  if (r.what != web_end::answered) return failed("the service gave no complete answer");
  if (r.status >= 300 && r.status <= 399) return failed("the service answers with a redirect, which is not followed");
  if (r.status != 200) return failed("the service answers with status " + std::to_string(r.status));
  if (r.body.empty()) return failed("it is empty");
  return std::move(r.body);
}

class web_files final : public file_source, public std::enable_shared_from_this<web_files> {
 public:
  explicit web_files(file_tools tools) : tools_(std::move(tools)) {}

  void fetch(std::uint64_t number, const offered_file& file, const file_limits& limits,
             std::function<void(result<std::string>)> done) override {
    tools_.run([self = shared_from_this(), number, file, limits, done = std::move(done)](web_loop& loop) {
      if (self->stopped_.contains(number)) return;
      auto request = self->tools_.request_of(file);
      if (!request) return done(tl::unexpected(request.error()));
      const auto until = web_loop::now() + limits.time;
      if (!self->tools_.second_of) return self->get(number, std::move(*request), limits, until, done);
      request->timeout = std::min(request->timeout, limits.time);
      request->most_body = most_first_answer;
      self->running_[number] =
          loop.fetch(std::move(*request), [self, number, limits, until, done](const web_response& r) {
            auto second = self->tools_.second_of(r);
            if (!second) return done(tl::unexpected(second.error()));
            self->get(number, std::move(*second), limits, until, done);
          });
    });
  }

  void stop(std::uint64_t number) override {
    tools_.run([self = shared_from_this(), number](web_loop& loop) {
      self->stopped_.insert(number);
      const auto running = self->running_.find(number);
      if (running == self->running_.end()) return;
      loop.cancel(running->second);
      self->running_.erase(running);
    });
  }

  void tell(const std::string& sentence) override {
    tools_.run([self = shared_from_this(), sentence](web_loop&) { self->tools_.tell(sentence); });
  }

 private:
  void get(std::uint64_t number, web_request request, const file_limits& limits, boot_time until,
           const std::function<void(result<std::string>)>& done) {
    request.timeout = std::max(milliseconds{1}, std::chrono::duration_cast<milliseconds>(until - web_loop::now()));
    request.most_body = limits.bytes;
    tools_.run(
        [self = shared_from_this(), number, request = std::move(request), most = limits.bytes, done](web_loop& loop) {
          if (self->stopped_.contains(number)) return;
          self->running_[number] = loop.fetch(request, [self, number, most, done](web_response r) {
            self->running_.erase(number);
            done(file_of(std::move(r), most));
          });
        });
  }

  const file_tools tools_;
  // Used on the loop's thread only:
  std::map<std::uint64_t, std::uint64_t> running_; ///< the loop's number of each
  std::set<std::uint64_t> stopped_;
};

struct address_parts {
  std::string scheme, host, port, path;
};

/// The parts as libcurl, which fetches it, reads them.
std::optional<address_parts> parts_of(const std::string& url) {
  const bool is_plain =
      !url.empty() && url.size() <= most_file_url &&
      std::all_of(url.begin(), url.end(), [](unsigned char c) { return c > ' ' && c < 0x7f && c != '\\'; });
  if (!is_plain) return std::nullopt;
  const std::unique_ptr<CURLU, void (*)(CURLU*)> read(curl_url(), &curl_url_cleanup);
  if (!read || curl_url_set(read.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const auto part = [&](CURLUPart which, unsigned flags) -> std::optional<std::string> {
    char* text = nullptr;
    if (curl_url_get(read.get(), which, &text, flags) != CURLUE_OK) return std::nullopt;
    std::string copy(text);
    curl_free(text);
    return copy;
  };
  if (part(CURLUPART_USER, 0) || part(CURLUPART_PASSWORD, 0)) return std::nullopt;
  auto scheme = part(CURLUPART_SCHEME, 0), host = part(CURLUPART_HOST, 0), path = part(CURLUPART_PATH, 0);
  auto port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || !host || !port || !path) return std::nullopt;
  std::transform(host->begin(), host->end(), host->begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return address_parts{std::move(*scheme), std::move(*host), std::move(*port), std::move(*path)};
}

} // namespace

std::shared_ptr<file_source> make_web_files(file_tools tools) { return std::make_shared<web_files>(std::move(tools)); }

bool is_at_origin(const std::string& url, const std::vector<std::string>& origins) {
  const auto wanted = parts_of(url);
  if (!wanted || (wanted->scheme != "https" && wanted->scheme != "http")) return false;
  return std::any_of(origins.begin(), origins.end(), [&](const std::string& origin) {
    const auto allowed = parts_of(origin);
    return allowed && allowed->scheme == wanted->scheme && allowed->host == wanted->host &&
           allowed->port == wanted->port && wanted->path.starts_with(allowed->path);
  });
}

} // namespace quell::integrations::chat
