// An MCP server over HTTP: its thread, and the handles by which other threads hold its calls.
#include "integrations/mcp/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>

#include "integrations/ca_file.hpp"
#include "integrations/mcp/held_call.hpp"
#include "integrations/mcp/http_conversation.hpp"
#include "integrations/mcp/server_code.hpp"

namespace quell::integrations {
namespace {

using time_of_talk = transfers::clock::time_point;

class server final : public mcp_server {
 public:
  server(std::unique_ptr<transfers> network, http_conversation::settings what)
      : thread_(std::move(network), http_exchange::done) {
    what.post = [to = std::weak_ptr(thread_.jobs())](talk_jobs<http_conversation>::job later) {
      if (const auto held = to.lock()) held->put(std::move(later));
    };
    what.random = [this] { return std::uniform_real_distribution<double>(0, 1)(generator_); };
    thread_.jobs()->put([](http_conversation& talk, time_of_talk now) { talk.begin_handshake(now); });
    thread_.begin([&](transfers& over) { return std::make_unique<http_conversation>(over, std::move(what)); });
  }

  void tools(tools_reply reply) override {
    thread_.jobs()->put(
        [reply = std::move(reply)](http_conversation& talk, time_of_talk now) { talk.list(reply, now); });
  }
  std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener, const std::string& operation) override {
    auto channel = std::make_shared<mcp_call_channel>(std::move(listener));
    const http_conversation::call_number number = ++numbers_;
    thread_.jobs()->put([=](http_conversation& talk, time_of_talk now) {
      talk.begin(number, channel, tool, input_json, operation, now);
    });
    return std::make_unique<held_call<http_conversation>>(thread_.jobs(), std::move(channel), number);
  }
  std::unique_ptr<mcp_call> follow(const std::string&, std::function<void(mcp_call_event)>) override { return {}; }
  void ask_end(const std::string&, late_result_listener tell) override { tell("ignored"); }

 private:
  std::mt19937_64 generator_{std::random_device{}()}; ///< used by the thread
  std::atomic<http_conversation::call_number> numbers_ = 0;
  talk_thread<http_conversation> thread_;
};

std::optional<fault> wrong_address(const std::string& name, const std::string& url, const std::string& key) {
  const std::string who = mcp::who_is(name);
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  char* scheme = nullptr;
  bool web = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
             curl_url_get(parsed.get(), CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
  web = web && (std::string_view(scheme) == "http" || std::string_view(scheme) == "https");
  curl_free(scheme);
  if (!web)
    return failure_of(server_code::mcp_refused,
                      who + ": its url is not an http or https URL; write it like https://host/mcp");
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return failure_of(server_code::mcp_refused,
                      who +
                          ": its key holds white space or other characters that no key has: check the file or variable "
                          "that it comes from");
  return std::nullopt;
}

} // namespace

result<std::unique_ptr<mcp_server>> mcp_http_server(std::string name, std::string url, std::string key,
                                                    mcp_http_options options, mcp_hooks hooks) {
  if (auto wrong = wrong_address(name, url, key)) return tl::unexpected(std::move(*wrong));
  auto network = transfers::make();
  if (!network) return tl::unexpected(std::move(network.error()));
  if (options.ca_file.empty()) options.ca_file = named_ca_file();
  return std::make_unique<server>(
      std::move(*network),
      http_conversation::settings{
          std::move(name), std::move(url), std::move(key), std::move(options), std::move(hooks), {}, {}});
}

} // namespace quell::integrations
