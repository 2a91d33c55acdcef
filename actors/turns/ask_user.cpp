// ask_user: a model's question to the people of its conversation. The call is paused until one of them answers, says
// no, or stops it. The answer is the call's result, stored with it; a question without an answer outlives the process.
#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "actors/turns/ask_user.hpp"
#include "actors/turns/call_questions.hpp"
#include "actors/turns/folded_text.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/tool_input.hpp"
#include "protocol/blanks.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

std::string answer_form(const json& input) {
  json field{{"type", "string"}, {"title", "Answer"}};
  if (input.contains("choices")) field["enum"] = input.at("choices");
  if (input.contains("default")) field["default"] = input.at("default");
  return json_text({{"type", "object"}, {"properties", {{"answer", field}}}, {"required", {"answer"}}});
}

namespace {

/// Of a call's operation; the longest message fits.
constexpr std::size_t most_end_bytes = 64 << 10;

/// A recogniser ends each sentence, and people do.
std::string without_stop(const std::string& text) { return text.substr(0, text.find_last_not_of(".!? ") + 1); }

} // namespace

std::string values_of_message(const std::string& form, const std::string& text) {
  const auto reply = std::string(trimmed(text));
  const auto field = json::parse(form).at("properties").at("answer");
  if (!field.contains("enum")) return json_text({{"answer", reply}});
  const auto choices = field.at("enum").get<std::vector<std::string>>();
  const auto chosen = [&](auto is_it) {
    const auto at = std::find_if(choices.begin(), choices.end(), is_it);
    return at == choices.end() ? std::string() : json_text({{"answer", *at}});
  };
  // Its words first: one choice can be the number of another one.
  auto found = chosen([&](const auto& one) { return folded_text(one) == folded_text(reply); });
  const auto bare = folded_text(without_stop(reply));
  if (found.empty() && !bare.empty())
    found = chosen([&](const auto& one) { return folded_text(without_stop(one)) == bare; });
  for (std::size_t i = 0; found.empty() && i < choices.size(); ++i)
    if (bare == std::to_string(i + 1)) found = json_text({{"answer", choices[i]}});
  if (!found.empty()) return found;
  return json_text({{"answer", reply}, {"in_own_words", true}});
}

own_outcome end_by_answer(const human_answer& given) {
  json out{{"answered", given.accepts}};
  if (given.accepts)
    out.update(json::parse(given.values));
  else
    out["why"] = given.is_dismissed ? "the question was dismissed" : "the answer is no";
  own_outcome end;
  end.result = bounded_result(json_text({{"ok", true}, {"result", std::move(out)}}), most_end_bytes);
  end.call = records::call_outcome{true, false, end.result};
  return end;
}

namespace {

class ask_user_work final : public actors::tool_work {
 public:
  ask_user_work(std::shared_ptr<turn_port> port, const operation_id& call, tool_definition tool, tool_call what,
                std::string question)
      : port_(std::move(port)), call_(call), tool_(std::move(tool)), what_(std::move(what)),
        question_(std::move(question)) {}

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    const auto input = read_input(tool_, what_.input);
    if (!input) return done({false, port_->failed_text(input.error().code, input.error().detail)});
    const auto given = json::parse(input->json);
    if (const auto why = wrong_choice(given); !why.empty())
      return done({false, port_->failed_text(failure_code::invalid_input, "the input of ask_user is wrong: " + why)});
    if (is_stopped_) return done(unanswered(*port_));
    asks_.done = std::move(done);
    asks_.questions = std::make_shared<call_questions>(
        port_, post, call_, what_, port_->who().agent.name,
        [this](std::uint64_t, const integrations::mcp_answer& how) {
          using action = integrations::mcp_answer::action;
          human_answer answer;
          answer.accepts = how.what == action::accept;
          answer.is_dismissed = how.what == action::cancel;
          answer.values = how.values;
          // The ledger has ended the call with this result.
          asks_.finish({true, end_by_answer(answer).result, false, {}, true});
        },
        question_source::agent);
    // After a restart the answer, or a stop, can come before the agent.
    if (!question_.empty())
      asks_.questions->when_refused([this, post, port = port_, call = call_] {
        port->read_end(call, [this, post, port](const std::optional<std::string>& result) {
          post([this, port, result] {
            asks_.finish(result ? actors::work_end{true, *result, false, {}, true} : unanswered(*port));
          });
        });
      });
    const auto whole = given.at("question").get<std::string>();
    const auto text = utf8_prefix(whole, most_question_bytes);
    const auto id = operation_id::parse(question_);
    asks_.questions->ask({1, std::string(text), answer_form(given)}, id ? *id : operation_id::fresh());
  }

  void stop(const std::string&) override {
    is_stopped_ = true;
    asks_.finish(unanswered(*port_));
  }

 private:
  static constexpr std::size_t most_question_bytes = 4'000;

  static actors::work_end unanswered(const turn_port& port) {
    return {false, port.failed_text(failure_code::cancelled, "cancelled before it was answered"), true};
  }

  static std::string wrong_choice(const json& given) {
    if (!given.contains("choices") || !given.contains("default")) return {};
    const auto& choices = given.at("choices");
    const bool is_one = std::find(choices.begin(), choices.end(), given.at("default")) != choices.end();
    return is_one ? std::string() : "`default` must be one of `choices`";
  }

  std::shared_ptr<turn_port> port_;
  operation_id call_;
  tool_definition tool_;
  tool_call what_;
  std::string question_; ///< the id of the open question of an earlier life; "" = none
  asking_call asks_;
  bool is_stopped_ = false;
};

} // namespace

std::unique_ptr<actors::tool_work> make_ask_user_work(std::shared_ptr<turn_port> port, const operation_id& call,
                                                      const tool_definition& tool, const tool_call& what,
                                                      const std::string& open_question) {
  return std::make_unique<ask_user_work>(std::move(port), call, tool, what, open_question);
}

} // namespace quell::controller::turns
