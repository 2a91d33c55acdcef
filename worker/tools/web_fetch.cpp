// web_fetch: one page over HTTP(S), with limits on size, time, redirects and address.
//
// The address is checked when libcurl opens the socket, after the name was resolved: a name that points to a private
// address, or that changes between two look-ups, does not get through.
#include <curl/curl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include "protocol/failure_code.hpp"
#include "protocol/public_address.hpp"
#include "protocol/utf8.hpp"
#include "worker/tools/input_reader.hpp"
#include "worker/tools/tool.hpp"

namespace quell::worker::tools {

using nlohmann::json;

namespace {

struct page {
  const tool_limits* limits = nullptr;
  std::size_t most = 0;
  std::string body;
  bool truncated = false;
  bool refused = false;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
  auto& p = *static_cast<page*>(user);
  const std::size_t bytes = size * count, room = p.most - p.body.size();
  p.body.append(data, std::min(bytes, room));
  if (bytes > room) p.truncated = true;
  return p.truncated ? 0 : bytes; // 0 ends the transfer: the size limit is reached
}

curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* address) {
  auto& p = *static_cast<page*>(user);
  if (!p.limits->private_addresses && !is_public_address(&address->addr)) {
    p.refused = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

std::string information(CURL* easy, CURLINFO what) {
  const char* text = nullptr;
  return curl_easy_getinfo(easy, what, &text) == CURLE_OK && text ? text : "";
}

} // namespace

result<json> web_fetch(const workspace&, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto url = in.text("url");
  const auto most = in.number("max_bytes", std::min<std::size_t>(limits.result_bytes, 100'000), 1, limits.result_bytes);
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return failure(failure_code::invalid_input, "`url` must begin with http:// or https://");
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), curl_easy_cleanup);
  if (!easy) return failure(error_code::internal, "no HTTP client could be made");
  page p;
  p.limits = &limits;
  p.most = most;
  char why[CURL_ERROR_SIZE] = {};
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, ""); // a proxy would resolve the name for us
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT, 15L);
  curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_TIME, 30L);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, 300L);
  curl_easy_setopt(easy.get(), CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "quell/0.1");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &p);
  curl_easy_setopt(easy.get(), CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy.get(), CURLOPT_OPENSOCKETDATA, &p);
  const CURLcode code = curl_easy_perform(easy.get());
  if (p.refused)
    return failure("address_refused", url + " leads to a private or local address, which this tool may not visit");
  if (code != CURLE_OK && !p.truncated)
    return failure("fetch_failed", url + ": " + (*why ? why : curl_easy_strerror(code)));
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (!is_utf8(p.body)) {
    // A cut in the middle of a character is ours; any other invalid byte means that the body is not text.
    std::size_t end = p.body.size();
    for (int back = 0; p.truncated && back < 3 && end > 0 && !is_utf8({p.body.data(), end}); ++back) --end;
    if (!is_utf8({p.body.data(), end}))
      return failure(failure_code::not_text, url + " is not UTF-8 text (" +
                                                 information(easy.get(), CURLINFO_CONTENT_TYPE) + ", " +
                                                 std::to_string(p.body.size()) + " bytes)");
    p.body.resize(end);
  }
  return json{{"url", information(easy.get(), CURLINFO_EFFECTIVE_URL)},
              {"status", status},
              {"content_type", information(easy.get(), CURLINFO_CONTENT_TYPE)},
              {"text", std::move(p.body)},
              {"truncated", p.truncated}};
}

} // namespace quell::worker::tools
