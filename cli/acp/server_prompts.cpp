// Prompts, and the questions that their turns ask.
#include "cli/acp/server.hpp"
#include "cli/fields.hpp"

namespace quell::cli::acp {

void server::begin_prompt(mcp::message m) {
  auto* one = find(m.params);
  if (!one) return refuse(m.id, not_found, "there is no such session here: begin or load one");
  if (one->work) return refuse(m.id, mcp::invalid_request, "a prompt of this session is open: cancel it, or wait");
  if (is_leaving_) return refuse(m.id, mcp::invalid_request, "quell acp is ending");
  std::string why;
  auto content = prompt_content_of(member(m.params, "prompt"), why);
  if (!content) return refuse(m.id, mcp::invalid_params, why);
  const auto& text = content->text;
  const bool is_empty = text.find_first_not_of(" \t\r\n") == std::string::npos && content->images.empty();
  if (is_empty || text.size() > most_message_text)
    return refuse(m.id, mcp::invalid_params, "a prompt has 1 byte to 64 KiB of text, or an image");
  const bool is_automatic = one->mode == "auto";
  auto message = message_body(one->scope, text, is_automatic ? std::nullopt : std::optional(one->mode), s_.env,
                              "queue"); // an editor waits for an answer of its own
  const auto session = one->scope;
  one->request = m.id;
  prompt::callbacks to;
  to.update = [this, session](json update) {
    notify("session/update", {{"sessionId", session}, {"update", std::move(update)}});
  };
  to.ask = [this, session](const std::string& key, editor_request how, json params,
                           std::function<void(const json&)> answered) {
    ask(session, key, how, std::move(params), std::move(answered));
  };
  to.take_back = [this, session](const std::string& key) { take_back(session, key); };
  to.answered = [this, session, id = m.id](json result) {
    reply(id, std::move(result));
    end_prompt(session);
  };
  to.failed = [this, session, id = m.id](const std::string& what, json data) {
    channel_->send(to_line({{"jsonrpc", "2.0"},
                            {"id", id},
                            {"error", {{"code", internal_error}, {"message", what}, {"data", std::move(data)}}}}) +
                   "\n");
    end_prompt(session);
  };
  to.has_room = [this] { return !channel_->is_full(); };
  to.warn = [this](const std::string& words) { s_.warn("acp: " + words); };
  one->work = std::make_unique<prompt>(api_, std::move(message), std::move(content->images), reconnect_, editor_,
                                       std::move(to));
  one->work->start();
}

void server::ask(const std::string& session, const std::string& key, editor_request how, json params,
                 std::function<void(const json&)> answered) {
  const auto id = next_request_++;
  questions_.emplace(id, open_question{session, key, std::move(answered)});
  params["sessionId"] = session;
  channel_->send(to_line({{"jsonrpc", "2.0"}, {"id", id}, {"method", name_of(how)}, {"params", std::move(params)}}) +
                 "\n");
}

/// A request that the editor has answered is no longer among them.
void server::take_back(const std::string& session, const std::string& key) {
  drop_questions([&](const open_question& q) { return q.session == session && q.key == key; });
}

/// Called from inside the prompt, which is destroyed later. An editor that still shows its requests takes them away.
void server::end_prompt(const std::string& session) {
  drop_questions([&](const open_question& q) { return q.session == session; });
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || !found->second.work) return;
  over_.push_back(std::move(found->second.work));
  if (found->second.is_closed) sessions_.erase(found);
}

void server::drop_questions(const std::function<bool(const open_question&)>& fits) {
  for (auto it = questions_.begin(); it != questions_.end();) {
    if (fits(it->second)) {
      notify("$/cancel_request", {{"requestId", it->first}});
      it = questions_.erase(it);
    } else {
      ++it;
    }
  }
}

} // namespace quell::cli::acp
