// Sessions: new ones, those that are opened again, and their modes.
#include "cli/acp/server.hpp"
#include "cli/fields.hpp"
#include "cli/url.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"

namespace quell::cli::acp {
namespace {

constexpr std::size_t most_sessions = 256, most_calls = 64;
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
  return found == sessions_.end() || found->second.is_closed ? nullptr : &found->second;
}

/// Looked at again when the controller has answered: many can have been asked for at once.
server::open_session* server::enter(const json& id, const std::string& scope, const std::string& mode) {
  const auto known = sessions_.find(scope);
  if (known != sessions_.end() && known->second.work) {
    refuse(id, mcp::invalid_request, "a prompt of this session is open, or still ending");
    return nullptr;
  }
  if (known == sessions_.end() && sessions_.size() >= most_sessions) {
    refuse(id, mcp::invalid_request, "256 sessions are open already: close one");
    return nullptr;
  }
  auto& one = sessions_[scope];
  one.scope = scope;
  one.mode = mode;
  return &one;
}

bool server::is_busy(const json& id) {
  if (calls_.size() < most_calls) return false;
  refuse(id, mcp::invalid_request, "64 requests wait for quelld already: wait for their answers");
  return true;
}

void server::get(const std::string& path, const json& id, std::function<void(const json& answer)> then) {
  const auto own = std::make_shared<event_loop::handle>(0);
  *own = api_.call("GET", path, nullptr, read_timeout, [this, id, own, then = std::move(then)](answer<json> a) {
    calls_.erase(*own);
    if (!a) return refuse(id, internal_error, a.error().detail);
    then(*a);
  });
  calls_.insert(*own);
}

/// The agents that this token may use, as modes.
void server::with_modes(const json& id, std::string current, then next) {
  if (is_busy(id)) return;
  get("/openai/v1/models", id,
      [current = std::move(current), next = std::move(next)](const json& models) { next(modes_of(models, current)); });
}

void server::begin_session(const json& id) {
  with_modes(id, agent_.value_or(automatic), [this, id](json modes) {
    const auto scope = below_ + "/" + operation_id::fresh().text();
    if (!enter(id, scope, text_of(modes, "currentModeId"))) return;
    reply(id, {{"sessionId", scope}, {"modes", std::move(modes)}});
  });
}

/// `session/load` shows the conversation again, `session/resume` does not. A session is its scope, so any conversation
/// that the token sees can be opened.
void server::open_again(const mcp::message& m, reopened how) {
  const auto session = text_of(m.params, "sessionId");
  if (const auto scope = scope_path::parse(session); !scope)
    return refuse(m.id, mcp::invalid_params, "sessionId: " + scope.error().detail);
  with_modes(m.id, agent_.value_or(automatic), [this, id = m.id, session, how](json modes) {
    if (how == reopened::with_history) return replay(id, session, "", std::move(modes), {});
    if (!enter(id, session, text_of(modes, "currentModeId"))) return;
    reply(id, {{"modes", std::move(modes)}});
  });
}

/// Shown when all of it is known: what a later message says can take an earlier one out.
void server::replay(const json& id, const std::string& session, const std::string& cursor, json modes,
                    shown_past past) {
  auto path = "/v1/messages?limit=200&scope=" + percent_encoded(session);
  if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
  get(path, id, [=, this, modes = std::move(modes), past = std::move(past)](const json& page) mutable {
    if (const auto& messages = member(page, "messages"); messages.is_array())
      for (const auto& message : messages) past.take(message);
    if (const auto next = text_of(page, "next_cursor"); !next.empty())
      return replay(id, session, next, std::move(modes), std::move(past));
    if (past.is_empty()) return refuse(id, not_found, "there is no conversation " + session);
    if (!enter(id, session, text_of(modes, "currentModeId"))) return;
    for (auto& update : std::move(past).updates())
      notify("session/update", {{"sessionId", session}, {"update", std::move(update)}});
    reply(id, {{"modes", std::move(modes)}});
  });
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
  if (one->work) {
    one->is_closed = true;
    one->work->cancel("the session was closed in the editor");
  } else {
    sessions_.erase(text_of(m.params, "sessionId"));
  }
  reply(m.id, json::object());
}

} // namespace quell::cli::acp
