// The thread of one remote agent, and the handles of its calls.
#include "integrations/a2a/agent_server.hpp"

#include <algorithm>
#include <atomic>

#include "integrations/a2a/agent_talk.hpp"
#include "integrations/ca_file.hpp"
#include "integrations/mcp/held_call.hpp"
#include "integrations/mcp/server_code.hpp"

namespace quell::integrations::a2a {
namespace {

using agent_time = agent_talk::time_point;

class agent_server final : public mcp_server {
 public:
  agent_server(std::unique_ptr<transfers> network, agent_talk::settings what)
      : thread_(std::move(network), http_exchange::done) {
    thread_.begin([&](transfers& over) { return std::make_unique<agent_talk>(over, std::move(what)); });
  }

  void tools(tools_reply reply) override {
    thread_.jobs()->put([reply = std::move(reply)](agent_talk& talk, agent_time now) { talk.list(reply, now); });
  }
  std::unique_ptr<mcp_call> call(const std::string&, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener, const std::string& operation) override {
    return begin(input_json, std::move(listener), operation, {});
  }
  std::unique_ptr<mcp_call> follow(const std::string& task, std::function<void(mcp_call_event)> listener) override {
    return begin({}, std::move(listener), {}, task);
  }
  void ask_end(const std::string& task, late_result_listener tell) override {
    auto channel = std::make_shared<mcp_call_channel>(nullptr);
    channel->hear(std::move(tell));
    const bool is_put = thread_.jobs()->put([number = ++numbers_, channel, task](agent_talk& talk, agent_time now) {
      talk.ask_end(number, channel, task, now);
    });
    if (!is_put) channel->became("ignored");
  }

 private:
  std::unique_ptr<mcp_call> begin(const std::string& input_json, std::function<void(mcp_call_event)> listener,
                                  const std::string& operation, const std::string& task) {
    auto channel = std::make_shared<mcp_call_channel>(std::move(listener));
    const agent_talk::call_number number = ++numbers_;
    thread_.jobs()->put(
        [=](agent_talk& talk, agent_time now) { talk.begin(number, channel, input_json, operation, task, now); });
    return std::make_unique<held_call<agent_talk>>(thread_.jobs(), std::move(channel), number);
  }

  std::atomic<agent_talk::call_number> numbers_ = 0;
  talk_thread<agent_talk> thread_;
};

} // namespace
} // namespace quell::integrations::a2a

namespace quell::integrations {

result<std::unique_ptr<mcp_server>> a2a_agent_server(std::string name, std::string url, std::string key,
                                                     a2a_options options) {
  const auto who = "remote agent " + name;
  if (a2a::origin_of(url).empty())
    return failure(server_code::a2a_refused,
                   who + ": its url is not an http or https URL; write it like https://host/agent");
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return failure(server_code::a2a_refused,
                   who + ": its key holds white space or other characters that no key has: check the "
                         "file or variable that it comes from");
  auto network = transfers::make();
  if (!network) return tl::unexpected(std::move(network.error()));
  if (options.ca_file.empty()) options.ca_file = named_ca_file();
  a2a::agent_talk::settings what;
  what.name = std::move(name);
  what.url = std::move(url);
  what.key = std::move(key);
  what.ca_file = std::move(options.ca_file);
  return std::make_unique<a2a::agent_server>(std::move(*network), std::move(what));
}

} // namespace quell::integrations
