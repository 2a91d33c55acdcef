// A call of `web_search`: a request to the configured provider. A stop closes its connection and ends the call at once.
#include <nlohmann/json.hpp>
#include <utility>

#include "actors/turns/json_text.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"
#include "integrations/search/search_client.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

std::string search_result(const std::string& query, const std::vector<integrations::found_page>& pages) {
  json list = json::array();
  for (const auto& p : pages) list.push_back({{"title", p.title}, {"url", p.url}, {"snippet", p.snippet}});
  return json_text({{"ok", true}, {"result", {{"query", query}, {"results", std::move(list)}}}});
}

class web_search_work final : public actors::tool_work {
 public:
  web_search_work(std::shared_ptr<agent_runtime> runtime, integrations::search_settings settings, json input)
      : runtime_(std::move(runtime)), settings_(std::move(settings)), input_(std::move(input)) {}

  ~web_search_work() override {
    if (done_) runtime_->searches->cancel(number_);
  }
  web_search_work(const web_search_work&) = delete;
  web_search_work& operator=(const web_search_work&) = delete;

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    if (is_stopped_) return done(cancelled());
    done_ = std::move(done);
    const auto query = input_.value("query", "");
    number_ = runtime_->searches->search(
        settings_, query, input_.value("count", integrations::default_search_results),
        [this, post = std::move(post), query](result<std::vector<integrations::found_page>> found) {
          post([this, query, found = std::move(found)] {
            if (!found) return finish({false, runtime_->texts->failed(found.error().code, found.error().detail)});
            finish({true, search_result(query, *found)});
          });
        });
  }

  void stop(const std::string&) override {
    is_stopped_ = true;
    if (!done_) return; // not started, or over
    runtime_->searches->cancel(number_);
    finish(cancelled());
  }

 private:
  actors::work_end cancelled() const { return {false, runtime_->texts->cancelled(), true}; }
  void finish(actors::work_end what) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(what));
  }

  const std::shared_ptr<agent_runtime> runtime_;
  const integrations::search_settings settings_;
  const json input_;
  std::function<void(actors::work_end)> done_; ///< while it runs
  std::uint64_t number_ = 0;
  bool is_stopped_ = false;
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
