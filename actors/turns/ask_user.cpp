// ask_user: a model's question to the people of its conversation. The call is paused until one of them answers, says
// no, or stops it; it asks nothing twice. A question without an answer outlives the process, under its id.
#include <nlohmann/json.hpp>

#include "actors/turns/ask_user.hpp"
#include "actors/turns/call_questions.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/tool_input.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

std::string answer_form(const json& input) {
  json field{{"type", "string"}, {"title", "Answer"}};
  if (input.contains("choices")) field["enum"] = input.at("choices");
  if (input.contains("default")) field["default"] = input.at("default");
  // `asked_by` tells the ledger that the question outlives the process.
  return json_text(
      {{"type", "object"}, {"asked_by", "agent"}, {"properties", {{"answer", field}}}, {"required", {"answer"}}});
}

namespace {

using integrations::mcp_answer;

class ask_user_work final : public actors::tool_work {
 public:
  ask_user_work(std::shared_ptr<turn_port> port, const operation_id& call, tool_definition tool, tool_call what,
                std::string question)
      : port_(std::move(port)), call_(call), tool_(std::move(tool)), what_(std::move(what)),
        question_(std::move(question)) {}

  void start(std::function<void(actors::work_end)> done) override {
    const auto input = read_input(tool_, what_.input);
    if (!input) return done({false, port_->failed_text(input.error().code, input.error().detail)});
    const auto given = json::parse(input->json);
    if (const auto why = wrong_choice(given); !why.empty())
      return done({false, port_->failed_text(failure_code::invalid_input, "the input of ask_user is wrong: " + why)});
    {
      const std::lock_guard lock(state_->guard);
      state_->done = std::move(done);
      state_->questions = std::make_shared<call_questions>(
          port_, call_, what_, port_->who().agent.name,
          [state = std::weak_ptr(state_)](std::uint64_t, const mcp_answer& given_answer) {
            if (const auto held = state.lock()) held->finish({true, result_of(given_answer)});
          });
    }
    const auto text = utf8_prefix(given.at("question").get<std::string>(), most_question_bytes);
    const auto id = operation_id::parse(question_);
    state_->questions->ask({1, std::string(text), answer_form(given)}, id ? *id : operation_id::fresh());
  }

  void stop(const std::string&) override {
    state_->finish({false, port_->failed_text(failure_code::cancelled, "cancelled before it was answered"), true});
  }

 private:
  static constexpr std::size_t most_question_bytes = 4'000;

  static std::string wrong_choice(const json& given) {
    if (!given.contains("choices") || !given.contains("default")) return {};
    const auto& choices = given.at("choices");
    const bool is_one = std::find(choices.begin(), choices.end(), given.at("default")) != choices.end();
    return is_one ? std::string() : "`default` must be one of `choices`";
  }

  static std::string result_of(const mcp_answer& given) {
    json out{{"answered", given.what == mcp_answer::action::accept}};
    if (given.what == mcp_answer::action::accept)
      out["answer"] = json::parse(given.values).at("answer");
    else
      out["why"] = given.what == mcp_answer::action::cancel ? "the question was dismissed" : "the answer is no";
    return json_text({{"ok", true}, {"result", std::move(out)}});
  }

  std::shared_ptr<turn_port> port_;
  operation_id call_;
  tool_definition tool_;
  tool_call what_;
  std::string question_; ///< the id of the open question of an earlier life; "" = none
  std::shared_ptr<asking_call> state_ = std::make_shared<asking_call>();
};

} // namespace

std::unique_ptr<actors::tool_work> make_ask_user_work(std::shared_ptr<turn_port> port, const operation_id& call,
                                                      const tool_definition& tool, const tool_call& what,
                                                      const std::string& open_question) {
  return std::make_unique<ask_user_work>(std::move(port), call, tool, what, open_question);
}

} // namespace quell::controller::turns
