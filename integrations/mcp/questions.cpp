// The questions that the server of one call asks a human.
#include "integrations/mcp/questions.hpp"

#include "integrations/mcp/form.hpp"
#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/messages.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/models/text.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations {
namespace {

constexpr std::int64_t invalid_params = -32602;
constexpr std::int64_t not_now = -32603;

/// The reason why this question is not put to a human; nullopt: it is.
std::optional<std::string> wrong_question(const json& params) {
  const std::string mode = text_member(params, "mode");
  if (!mode.empty() && mode != "form") return "quell asks people for forms only, not in mode " + excerpt(mode, 40);
  const json& message = member(params, "message");
  if (!message.is_string() || blank(message.get_ref<const std::string&>()))
    return std::string("it does not say in words what it asks");
  if (message.get_ref<const std::string&>().size() > mcp_limits::question_bytes)
    return "its message is longer than " + std::to_string(mcp_limits::question_bytes) + " bytes";
  return mcp::wrong_form(member(params, "requestedSchema"));
}

mcp_call_events::question question_of(std::uint64_t number, const json& params) {
  return {number, text_member(params, "message"), dump_json(member(params, "requestedSchema"))};
}

json response_of(const mcp_answer& what) {
  switch (what.what) {
  case mcp_answer::action::accept:
    return {{"action", "accept"}, {"content", parse_json(what.values).value_or(json::object())}};
  case mcp_answer::action::decline:
    return {{"action", "decline"}};
  case mcp_answer::action::cancel:
    break;
  }
  return {{"action", "cancel"}};
}

mcp_questions::step ended_by(const std::string& who, std::string why) {
  mcp_questions::step done;
  done.tell.emplace_back(
      mcp_call_events::failed{failure_of(server_code::mcp_refused, who + ": the tool wants input: " + why), true});
  return done;
}

} // namespace

mcp_questions::step mcp_questions::on_request(const json& id, const json& params) {
  step done;
  if (auto wrong = wrong_question(params)) {
    done.send = rpc::refusal(id, invalid_params, *wrong);
  } else if (question_count_ >= mcp_limits::questions || open_.size() >= mcp_limits::open_questions) {
    done.send = rpc::refusal(id, not_now,
                             "one call may ask " + std::to_string(mcp_limits::questions) + " questions, and " +
                                 std::to_string(mcp_limits::open_questions) + " at once");
  } else {
    open_.emplace(++question_count_, dump_json(id));
    done.tell.emplace_back(question_of(question_count_, params));
  }
  return done;
}

mcp_questions::step mcp_questions::required(const std::string& who, const json& result) {
  const json& requests = member(result, "inputRequests");
  const json& state = member(result, "requestState");
  open_.clear();
  responses_.clear();
  state_.reset();
  if (++rounds_ > mcp_limits::rounds) return ended_by(who, "it does so for ever");
  if (!state.is_null()) {
    if (!state.is_string() || state.get_ref<const std::string&>().size() > mcp_limits::request_state_bytes)
      return ended_by(who, "its state is not text, or too long");
    state_ = state.get<std::string>();
  }
  if (!requests.is_null() && !requests.is_object()) return ended_by(who, "what it asks for cannot be read");
  if ((requests.is_null() || requests.empty()) && !state_) return ended_by(who, "it does not say which");
  step done;
  if (requests.is_null() || requests.empty()) {
    done.repeat = true;
    return done;
  }
  if (requests.size() > mcp_limits::open_questions || question_count_ + requests.size() > mcp_limits::questions)
    return ended_by(who, "it asks too many questions");
  for (const auto& [key, request] : requests.items()) {
    const std::string method = text_member(request, "method");
    auto wrong = method == "elicitation/create" ? wrong_question(member(request, "params"))
                                                : "quell does not do " + excerpt(method, 80) + " for servers";
    if (key.size() > mcp_limits::form_name_bytes) wrong = "the name of a question is too long";
    if (wrong) {
      open_.clear();
      return ended_by(who, *wrong);
    }
    open_.emplace(++question_count_, key);
    done.tell.emplace_back(question_of(question_count_, member(request, "params")));
  }
  return done;
}

mcp_questions::step mcp_questions::took_back(const json& id) {
  step done;
  const std::string text = dump_json(id);
  for (auto at = open_.begin(); at != open_.end(); ++at) {
    if (at->second != text) continue;
    done.tell.emplace_back(mcp_call_events::withdrawn{at->first});
    open_.erase(at);
    break;
  }
  return done;
}

mcp_questions::step mcp_questions::answered(std::uint64_t number, const mcp_answer& what) {
  step done;
  const auto found = open_.find(number);
  if (found == open_.end()) return done;
  const std::string key = std::move(found->second);
  open_.erase(found);
  if (rounds_ == 0) {
    done.send = rpc::response(parse_json(key).value_or(json()), response_of(what));
    return done;
  }
  responses_[key] = dump_json(response_of(what));
  done.repeat = open_.empty();
  return done;
}

void mcp_questions::add_to(json& params) const {
  if (!responses_.empty()) {
    json all = json::object();
    for (const auto& [key, text] : responses_) all[key] = parse_json(text).value_or(json::object());
    params["inputResponses"] = std::move(all);
  }
  if (state_) params["requestState"] = *state_;
}

} // namespace quell::integrations
