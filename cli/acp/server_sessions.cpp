// Sessions: new ones, those that are opened again, and their modes.
#include "cli/acp/server.hpp"
#include "cli/fields.hpp"
#include "cli/url.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"

namespace quell::cli::acp {
namespace {

constexpr std::size_t most_sessions = 256;
constexpr milliseconds read_timeout{30'000};
/// The mode in which the agent answers that serves the scope.
constexpr const char* automatic = "auto";

json modes_of(const json& models, const std::string& current) {
  json modes = json::array({{{"id", automatic}, {"name", "Automatic"}, {"description", "the agent of this place"}}});
  if (const auto& agents = member(models, "data"); agents.is_array())
    for (const auto& one : agents) {
      const auto name = text_of(one, "id");
      if (name != automatic) modes.push_back({{"id", name}, {"name", name}});
    }
  return {{"currentModeId", current}, {"availableModes", std::move(modes)}};
}

} // namespace

server::open_session* server::find(const json& params) {
  const auto found = sessions_.find(text_of(params, "sessionId"));
  return found == sessions_.end() ? nullptr : &found->second;
}

server::open_session& server::enter(const std::string& scope, const std::string& mode) {
  auto& one = sessions_[scope];
  one.scope = scope;
  one.mode = mode;
  return one;
}

/// The agents that this token may use, as modes.
void server::with_modes(const json& id, std::string current, then next) {
  calls_.push_back(api_.call("GET", "/openai/v1/models", nullptr, read_timeout,
                             [this, id, current = std::move(current), next = std::move(next)](answer<json> a) {
                               if (!a) return refuse(id, internal_error, a.error().detail);
                               next(modes_of(*a, current));
                             }));
}

void server::begin_session(const json& id) {
  if (sessions_.size() >= most_sessions)
    return refuse(id, mcp::invalid_request, "256 sessions are open already: close one");
  with_modes(id, agent_.value_or(automatic), [this, id](json modes) {
    const auto scope = below_ + "/" + operation_id::fresh().text();
    enter(scope, text_of(modes, "currentModeId"));
    reply(id, {{"sessionId", scope}, {"modes", std::move(modes)}});
  });
}

/// `session/load` shows the conversation again, `session/resume` does not. A session is its scope, so any conversation
/// that the token sees can be opened.
void server::open_again(const mcp::message& m, bool replays) {
  const auto session = text_of(m.params, "sessionId");
  if (const auto scope = scope_path::parse(session); !scope)
    return refuse(m.id, mcp::invalid_params, "sessionId: " + scope.error().detail);
  if (const auto* one = find(m.params); one && one->work)
    return refuse(m.id, mcp::invalid_request, "a prompt of this session is open");
  if (sessions_.size() >= most_sessions)
    return refuse(m.id, mcp::invalid_request, "256 sessions are open already: close one");
  with_modes(m.id, agent_.value_or(automatic), [this, id = m.id, session, replays](json modes) {
    if (replays) return replay(id, session, "", std::move(modes), false);
    enter(session, text_of(modes, "currentModeId"));
    reply(id, {{"modes", std::move(modes)}});
  });
}

void server::replay(const json& id, const std::string& session, const std::string& cursor, json modes, bool any) {
  auto path = "/v1/messages?limit=1000&scope=" + percent_encoded(session);
  if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
  calls_.push_back(api_.call("GET", path, nullptr, read_timeout, [=, this, modes = std::move(modes)](answer<json> a) {
    if (!a) return refuse(id, internal_error, a.error().detail);
    const auto& messages = member(*a, "messages");
    if (messages.is_array())
      for (const auto& message : messages)
        for (auto& update : replayed(message))
          notify("session/update", {{"sessionId", session}, {"update", std::move(update)}});
    const bool found = any || (messages.is_array() && !messages.empty());
    if (const auto next = text_of(*a, "next_cursor"); !next.empty()) return replay(id, session, next, modes, found);
    if (!found) return refuse(id, not_found, "there is no conversation " + session);
    enter(session, text_of(modes, "currentModeId"));
    reply(id, {{"modes", modes}});
  }));
}

void server::set_mode(const mcp::message& m) {
  auto* one = find(m.params);
  if (!one) return refuse(m.id, not_found, "there is no such session here");
  const auto mode = text_of(m.params, "modeId");
  with_modes(m.id, mode, [this, id = m.id, scope = one->scope, mode](const json& modes) {
    const auto& known = member(modes, "availableModes");
    const bool exists =
        std::any_of(known.begin(), known.end(), [&](const json& k) { return text_of(k, "id") == mode; });
    const auto found = sessions_.find(scope);
    if (!exists || found == sessions_.end())
      return refuse(id, mcp::invalid_params, "there is no agent " + mode.substr(0, 64));
    found->second.mode = mode; // of the next prompt
    reply(id, json::object());
    notify("session/update",
           {{"sessionId", scope}, {"update", {{"sessionUpdate", "current_mode_update"}, {"currentModeId", mode}}}});
  });
}

/// The conversation stays; what still runs there for this session is stopped.
void server::close_session(const mcp::message& m) {
  auto* one = find(m.params);
  if (!one) return refuse(m.id, not_found, "there is no such session here");
  if (one->work)
    one->work->cancel("the session was closed in the editor");
  else
    sessions_.erase(text_of(m.params, "sessionId"));
  reply(m.id, json::object());
}

} // namespace quell::cli::acp
