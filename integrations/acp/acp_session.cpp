// The client's side of ACP over a pair of byte streams.
#include "integrations/acp/acp_session.hpp"

#include <algorithm>

#include "integrations/mcp/limits.hpp"
#include "integrations/mcp/messages.hpp"
#include "integrations/models/text.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

constexpr std::size_t open_questions = 100;
constexpr std::size_t options_of_question = 20;
constexpr std::size_t most_titles = 1'000, most_call_title_bytes = 64 << 10, most_call_id_bytes = 1024;
constexpr std::size_t most_titles_bytes = 4 << 20; ///< of all titles of a prompt
constexpr std::size_t session_id_bytes = 1024;
constexpr std::size_t shown = mcp_limits::shown_characters;

json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

} // namespace

using namespace acp_effects;

struct acp_session::incoming {
  rpc::message message;
};

acp_session::acp_session(const std::string& name, std::string directory)
    : who_("agent \"" + excerpt(name, 80) + "\""), directory_(std::move(directory)), lines_(mcp_limits::line_bytes) {}

std::vector<acp_effect> acp_session::effects() { return std::exchange(effects_, {}); }

void acp_session::send_line(std::string line) {
  line += '\n';
  effects_.emplace_back(send{std::move(line)});
}

void acp_session::complain(std::string what) {
  if (++bad_messages_ <= mcp_limits::bad_messages) effects_.emplace_back(bad_message{who_ + std::move(what)});
}

void acp_session::start() {
  if (phase_ != phase::unstarted) return;
  phase_ = phase::shaking;
  control_id_ = ++next_id_;
  const json files{{"readTextFile", false}, {"writeTextFile", false}};
  send_line(rpc::request(control_id_, "initialize",
                         {{"protocolVersion", 1},
                          {"clientCapabilities", {{"fs", files}, {"terminal", false}}},
                          {"clientInfo", {{"name", "quell"}, {"version", "0.1.0"}}}}));
}

void acp_session::receive(std::string_view bytes) {
  if (phase_ == phase::over) return;
  lines_.take(bytes, {[this](std::string_view line) { take_line(line); },
                      [this](std::string_view, std::string_view) { complain(" sends a message of more than 4 MiB"); }});
}

void acp_session::take_line(std::string_view line) {
  if (phase_ == phase::over || blank(line)) return;
  auto whole = parse_json(line);
  if (!whole) return complain(" prints what is not JSON: " + excerpt(line, 80));
  incoming one{rpc::read(std::move(*whole))};
  switch (one.message.what) {
  case rpc::message::kind::answer:
  case rpc::message::kind::error:
    return take_reply(one);
  case rpc::message::kind::request:
    return take_request(one);
  case rpc::message::kind::notification:
    if (one.message.method == "session/update") take_update(one);
    return;
  case rpc::message::kind::nothing:
    return complain(" sends JSON that is not a message of JSON-RPC");
  }
}

void acp_session::take_reply(incoming& one) {
  const auto id = rpc::own_id(one.message.id);
  const json& body = one.message.body;
  if (id && prompt_id_ != 0 && *id == prompt_id_) return take_end(one);
  if (!id || control_id_ == 0 || *id != control_id_)
    return complain(" answers what nobody asked, or no longer waits for");
  control_id_ = 0;
  if (one.message.what == rpc::message::kind::error)
    return end({"agent_refused",
                who_ + (phase_ == phase::shaking ? " refuses the handshake: " : " opens no session: ") +
                    excerpt(text_member(body, "message"), shown) + "; if it wants a login, log in as the worker's user",
                {}});
  if (phase_ == phase::shaking) {
    if (member(body, "protocolVersion") != json(1))
      return end({"agent_refused", who_ + " does not speak version 1 of ACP, the one that quell knows", {}});
    const json& info = member(body, "agentInfo");
    name_ = excerpt(text_member(info, "name"), 80);
    version_ = excerpt(text_member(info, "version"), 80);
    phase_ = phase::opening;
    control_id_ = ++next_id_;
    return send_line(rpc::request(control_id_, "session/new", {{"cwd", directory_}, {"mcpServers", json::array()}}));
  }
  session_ = text_member(body, "sessionId");
  if (session_.empty() || session_.size() > session_id_bytes)
    return end({"agent_broken", who_ + " opens a session without a usable id", {}});
  phase_ = phase::ready;
  effects_.emplace_back(ready{name_, version_});
  if (prompt_phase_ == prompt_phase::waiting) send_prompt();
}

void acp_session::prompt(std::string text) {
  if (phase_ == phase::over) {
    effects_.emplace_back(failed{over_, false});
  } else if (prompt_phase_ != prompt_phase::nothing) {
    effects_.emplace_back(failed{{"agent_refused", who_ + " is still at another prompt", {}}, false});
  } else {
    prompt_phase_ = prompt_phase::waiting;
    prompt_ = std::move(text);
    if (phase_ == phase::ready) send_prompt();
  }
}

void acp_session::send_prompt() {
  prompt_phase_ = prompt_phase::open;
  titles_.clear();
  title_bytes_ = 0;
  prompt_id_ = ++next_id_;
  send_line(rpc::request(prompt_id_, "session/prompt",
                         {{"sessionId", session_}, {"prompt", json::array({text_block(std::exchange(prompt_, {}))})}}));
}

void acp_session::take_end(incoming& one) {
  prompt_id_ = 0;
  const bool answered = one.message.what == rpc::message::kind::answer;
  const std::string why = excerpt(text_member(one.message.body, "stopReason"), 40);
  const bool cancelled = std::exchange(prompt_phase_, prompt_phase::nothing) == prompt_phase::cancelled;
  // Permissions that are still open will never be answered by a person: the prompt has ended without them.
  for (const auto& [number, question] : std::exchange(questions_, {})) answer_question(question.id, std::nullopt);
  if (cancelled) {
    effects_.emplace_back(late{!answered || why == "cancelled" ? "done" : "too_late"});
  } else if (!answered) {
    const std::string words = excerpt(text_member(one.message.body, "message"), shown);
    effects_.emplace_back(
        failed{{"agent_refused", who_ + " fails: " + (words.empty() ? "it does not say why" : words), {}}});
  } else if (why.empty()) {
    effects_.emplace_back(failed{{"agent_broken", who_ + " ends without a stop reason", {}}});
  } else {
    effects_.emplace_back(finished{why});
  }
}

void acp_session::take_update(incoming& one) {
  if (prompt_phase_ != prompt_phase::open || text_member(one.message.body, "sessionId") != session_) return;
  const json& update = member(one.message.body, "update");
  const std::string kind = text_member(update, "sessionUpdate");
  if (kind == "agent_message_chunk") {
    std::string delta = text_member(member(update, "content"), "text");
    if (!delta.empty()) effects_.emplace_back(text{std::move(delta)});
  } else if (kind == "tool_call" || kind == "tool_call_update") {
    // A permission request may name its call by the id alone.
    const auto call = text_member(update, "toolCallId");
    const auto title = text_member(update, "title");
    if (!title.empty()) keep_title(call, title);
    effects_.emplace_back(
        activity{excerpt(text_member(update, "title"), 200), excerpt(text_member(update, "status"), 40)});
  }
}

/// A call without room for its title has none: an old one could hide what the call is about now.
void acp_session::keep_title(const std::string& call, const std::string& title) {
  if (call.empty() || call.size() > most_call_id_bytes) return;
  auto found = titles_.find(call);
  if (found == titles_.end() && titles_.size() >= most_titles) return;
  if (found == titles_.end()) found = titles_.emplace(call, std::string()).first;
  title_bytes_ -= found->second.size();
  found->second = title.size() <= std::min(most_call_title_bytes, most_titles_bytes - title_bytes_) ? title : "";
  title_bytes_ += found->second.size();
}

void acp_session::take_request(incoming& one) {
  if (one.message.method == "session/request_permission") return take_question(one);
  send_line(rpc::refusal(one.message.id, rpc::method_not_found,
                         "quell does not do " + excerpt(one.message.method, 80) + " for agents"));
}

void acp_session::take_question(incoming& one) {
  const json& body = one.message.body;
  const std::string id = dump_json(one.message.id);
  // A permission request that crosses our cancel must be answered too, or the agent waits for ever.
  const bool ours = prompt_phase_ == prompt_phase::open && text_member(body, "sessionId") == session_;
  if (!ours || questions_.size() >= open_questions) return answer_question(id, std::nullopt);
  const json& call = member(body, "toolCall");
  auto title = text_member(call, "title");
  if (const auto known = titles_.find(text_member(call, "toolCallId")); title.empty() && known != titles_.end())
    title = known->second;
  if (title.size() > most_call_title_bytes) title.clear(); // the end of it could be what a rule is about
  permission asking{++next_question_, std::move(title), {}};
  question kept{id, {}};
  if (const json& options = member(body, "options"); options.is_array())
    for (const json& option : options) {
      if (asking.options.size() >= options_of_question) break;
      asking.options.push_back({text_member(option, "optionId"), excerpt(text_member(option, "name"), 200),
                                excerpt(text_member(option, "kind"), 40)});
      kept.options.push_back(asking.options.back().id);
    }
  questions_.emplace(asking.number, std::move(kept));
  effects_.emplace_back(std::move(asking));
}

void acp_session::permit(std::uint64_t number, const std::optional<std::string>& option) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const question pending = std::move(found->second);
  questions_.erase(found);
  const bool given =
      option && std::find(pending.options.begin(), pending.options.end(), *option) != pending.options.end();
  answer_question(pending.id, given ? option : std::nullopt);
}

void acp_session::answer_question(const std::string& id, const std::optional<std::string>& option) {
  json outcome{{"outcome", option ? "selected" : "cancelled"}};
  if (option) outcome["optionId"] = *option;
  send_line(rpc::response(parse_json(id).value_or(nullptr), {{"outcome", std::move(outcome)}}));
}

bool acp_session::cancel() {
  if (prompt_phase_ == prompt_phase::waiting) {
    prompt_phase_ = prompt_phase::nothing;
    prompt_ = {};
    effects_.emplace_back(late{"not_sent"});
    return true;
  }
  if (prompt_phase_ != prompt_phase::open) return false;
  prompt_phase_ = prompt_phase::cancelled;
  send_line(rpc::notification("session/cancel", {{"sessionId", session_}}));
  for (const auto& [number, question] : std::exchange(questions_, {})) answer_question(question.id, std::nullopt);
  return true;
}

void acp_session::stop_waiting() {
  if (prompt_phase_ != prompt_phase::cancelled) return;
  end(failure_of(failure_code::agent_unreachable, who_ + " has not answered its cancel"));
}

void acp_session::close(const std::string& reason) {
  end(failure_of(failure_code::agent_unreachable, who_ + " is gone: " + excerpt(reason, shown)));
}

void acp_session::end(fault why) {
  if (phase_ == phase::over) return;
  phase_ = phase::over;
  over_ = std::move(why);
  questions_.clear();
  const prompt_phase was = std::exchange(prompt_phase_, prompt_phase::nothing);
  if (was == prompt_phase::cancelled) effects_.emplace_back(late{"ignored"});
  if (was == prompt_phase::open || was == prompt_phase::waiting)
    effects_.emplace_back(failed{over_, was == prompt_phase::open});
}

} // namespace quell::integrations
