// A call of `web_search`: a request to the configured provider. A stop closes its connection and ends the call at once.
#include <mutex>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"
#include "integrations/search/search_client.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

/// Shared by the call and the request, whichever ends first.
struct search_state {
  std::mutex guard;
  std::function<void(actors::work_end)> done;
  std::uint64_t number = 0;
  bool is_stopped = false;

  void finish(actors::work_end what) {
    std::function<void(actors::work_end)> then;
    {
      const std::lock_guard lock(guard);
      then.swap(done);
    }
    if (then) then(std::move(what));
  }
};

std::string search_result(const std::string& query, const std::vector<integrations::found_page>& pages) {
  json list = json::array();
  for (const auto& p : pages) list.push_back({{"title", p.title}, {"url", p.url}, {"snippet", p.snippet}});
  return json_text({{"ok", true}, {"result", {{"query", query}, {"results", std::move(list)}}}});
}

class web_search_work final : public actors::tool_work {
 public:
  web_search_work(std::shared_ptr<agent_runtime> runtime, integrations::search_settings settings, json input)
      : runtime_(std::move(runtime)), settings_(std::move(settings)), input_(std::move(input)) {}

  void start(std::function<void(actors::work_end)> done) override {
    {
      const std::lock_guard lock(state_->guard);
      state_->done = std::move(done);
    }
    const auto query = input_.value("query", "");
    const auto count = input_.value("count", integrations::default_search_results);
    const auto number = runtime_->searches->search(
        settings_, query, count,
        [state = state_, texts = runtime_->texts, query](result<std::vector<integrations::found_page>> found) {
          if (!found) return state->finish({false, texts->failed(found.error().code, found.error().detail)});
          state->finish({true, search_result(query, *found)});
        });
    bool is_stopped = false;
    {
      const std::lock_guard lock(state_->guard);
      state_->number = number;
      is_stopped = state_->is_stopped;
    }
    if (is_stopped) cut(number);
  }

  void stop(const std::string&) override {
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(state_->guard);
      state_->is_stopped = true;
      if (!state_->done) return; // not started, or over
      number = state_->number;
    }
    if (number != 0) cut(number);
  }

 private:
  void cut(std::uint64_t number) {
    runtime_->searches->cancel(number);
    state_->finish({false, runtime_->texts->cancelled(), true});
  }

  const std::shared_ptr<agent_runtime> runtime_;
  const integrations::search_settings settings_;
  const json input_;
  const std::shared_ptr<search_state> state_ = std::make_shared<search_state>();
};

} // namespace

std::unique_ptr<actors::tool_work> make_web_search_work(std::shared_ptr<agent_runtime> runtime,
                                                        const tool_definition& tool, const tool_call& what) {
  const auto read = read_input(tool, what.input);
  if (!read) return make_answer({false, runtime->texts->failed(read.error().code, read.error().detail)});
  auto settings = runtime->settings->web_search; // a reload can have changed or removed it
  if (settings.by == integrations::search_settings::provider::none || !runtime->searches)
    return make_answer(
        {false, runtime->texts->failed(failure_code::not_configured, "there is no [web_search] configured")});
  return std::make_unique<web_search_work>(std::move(runtime), std::move(settings),
                                           json::parse(read->json, nullptr, false));
}

} // namespace quell::controller::turns
