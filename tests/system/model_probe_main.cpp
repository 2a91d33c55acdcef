// Asks a model from the command line and prints its events, one per line: for tests against other people's servers.
//
// model_probe PROVIDER BASE_URL MODEL TEXT [--cancel-after-texts N] [--cancel-on-input yes] [--tool NAME]
//             [--result TEXT] [--key KEY]
//
// It ends when its standard input does, so that a server's record of a hang-up is not that of the program's end.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "integrations/models/model.hpp"

using namespace quell;

namespace {

struct line_printer {
  void operator()(const model_events::text& e) const { std::printf("text %s\n", e.delta.c_str()); }
  void operator()(const model_events::call_begun& e) const {
    std::printf("begun %s %s\n", e.call.c_str(), e.name.c_str());
  }
  void operator()(const model_events::call& e) const {
    std::printf("call %s %s %s\n", e.what.call.c_str(), e.what.name.c_str(), e.what.input.c_str());
  }
  void operator()(const model_events::retrying& e) const {
    std::printf("retrying %u %lld %s\n", e.attempt, static_cast<long long>(e.after.count()), e.why.c_str());
  }
  void operator()(const model_events::finished& e) const {
    const char* names[] = {"end", "calls", "length", "refusal", "content_filter"};
    std::printf("finished %s %llu %llu\n", names[static_cast<int>(e.why)],
                static_cast<unsigned long long>(e.usage.input_tokens),
                static_cast<unsigned long long>(e.usage.output_tokens));
  }
  void operator()(const model_events::failed& e) const {
    std::printf("failed %s %s\n", e.why.code.c_str(), e.why.detail.c_str());
  }
  void operator()(const model_events::thinking& e) const { std::printf("thinking %s\n", e.delta.c_str()); }
  void operator()(const model_events::thought&) const { std::puts("thought"); }
  void operator()(const model_events::queued& e) const { std::printf("queued %u\n", e.ahead); }
  void operator()(const model_events::admitted& e) const { std::printf("asked %s\n", e.model.c_str()); }
  void operator()(const model_events::fell_back& e) const { std::printf("fallback %s\n", e.to.c_str()); }
};

} // namespace

int main(int count, char** words) {
  if (count < 5) return std::fputs("usage: model_probe PROVIDER BASE_URL MODEL TEXT [flags]\n", stderr), 2;
  integrations::model_settings settings;
  settings.name = "probe";
  const std::string provider = words[1];
  settings.provider = provider == "anthropic"   ? integrations::provider::anthropic
                      : provider == "openai"    ? integrations::provider::openai
                      : provider == "responses" ? integrations::provider::responses
                                                : integrations::provider::scripted;
  settings.base_url = words[2];
  settings.model = words[3];
  settings.first_backoff = std::chrono::milliseconds(20);
  model_request request;
  request.messages.emplace_back(user_message{words[4]});
  long cancel_after = -1;
  bool cancel_on_input = false;
  std::string tool;
  for (int i = 5; i + 1 < count; i += 2) {
    const std::string flag = words[i], value = words[i + 1];
    if (flag == "--cancel-after-texts") cancel_after = std::atol(value.c_str());
    if (flag == "--cancel-on-input") cancel_on_input = true;
    if (flag == "--key") settings.key = value;
    if (flag == "--tool") request.tools.push_back({tool = value, "a tool", R"({"type":"object","properties":{}})"});
    if (flag == "--result") {
      request.messages.emplace_back(assistant_message{"", {{"call_of_before", tool, "{}"}}, false});
      request.messages.emplace_back(tool_results{{{"call_of_before", tool, true, false, value}}});
    }
  }
  auto client = integrations::model_client::make();
  if (!client) return std::fprintf(stderr, "%s\n", client.error().detail.c_str()), 1;

  std::mutex guard;
  std::condition_variable changed;
  long texts = 0;
  bool ended = false, closed = false;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto call = (*client)->ask(settings, request, [&](model_event event) {
    std::visit(line_printer{}, event);
    const std::lock_guard lock(guard);
    texts += std::holds_alternative<model_events::text>(event) ? 1 : 0;
    ended |=
        std::holds_alternative<model_events::finished>(event) || std::holds_alternative<model_events::failed>(event);
    changed.notify_all();
  });
  if (cancel_on_input) {
    std::getchar();
    cancel_after = 0;
  }
  std::unique_lock lock(guard);
  changed.wait(lock, [&] { return ended || (cancel_after >= 0 && texts >= cancel_after); });
  if (!ended) {
    lock.unlock(); // a running listener takes the lock, and cancel waits for the listener
    call->cancel([&] {
      const std::lock_guard inside(guard);
      closed = true;
      changed.notify_all();
    });
    lock.lock();
    changed.wait(lock, [&] { return closed; });
    std::puts("closed");
  }
  lock.unlock();
  while (std::getchar() != EOF) {
  }
  return 0;
}
