// Each step queries the turn's present status: the reply can end between an edit and its effect.
#include "integrations/chat/follow_ups.hpp"

#include <algorithm>
#include <utility>

namespace quell::integrations::chat {

bool follow_ups::message_posted(const std::string& key, const incoming_message& message) {
  if (entries_.contains(key)) return false;
  add(key, {message});
  return true;
}

void follow_ups::add(const std::string& key, entry known) {
  entries_.emplace(key, std::move(known));
  order_.push_back(key);
  if (order_.size() <= most) return;
  entries_.erase(order_.front());
  order_.pop_front();
}

void follow_ups::recall(const std::string& key, std::vector<scope_path> scopes, const std::string& id,
                        std::function<void()> then) {
  const auto at = looked_up_.find(key);
  if (at != looked_up_.end()) {
    if (at->second.size() < most_after) at->second.push_back(std::move(then));
    return;
  }
  if (looked_up_.size() >= most_looked_up)
    return tools_.log("too many edits and deletions at once: one has no effect on what it might end");
  looked_up_[key].push_back(std::move(then));
  tools_.at.find(std::move(scopes), id,
                 [this, run = tools_.runner(), key, id](result<std::optional<known_message>> found) {
                   run([this, key, id, found = std::move(found)] { recalled(key, id, found); });
                 });
}

void follow_ups::recalled(const std::string& key, const std::string& id, result<std::optional<known_message>> found) {
  const auto at = looked_up_.find(key);
  if (at == looked_up_.end()) return;
  const auto waiting = std::move(at->second);
  looked_up_.erase(at);
  if (!found) tools_.log("what an edit or a deletion ends could not be looked up: " + found.error().detail);
  if (found && *found && (*found)->turn && !entries_.contains(key)) {
    entry known;
    known.message.scope = (*found)->scope;
    known.message.id = id;
    known.message.text = std::move((*found)->text);
    known.message.author = std::move((*found)->author);
    known.message.addressed = true; // it began a turn
    known.turn = (*found)->turn;
    known.is_busy = false;
    add(key, std::move(known));
  }
  if (!entries_.contains(key)) return;
  for (const auto& job : waiting) job();
}

void follow_ups::decided(const std::string& key, const result<decision>& what) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  if (what) at->second.turn = what->turn;
  const bool comes_again = !what && is_transient(what.error());
  release(key);
  if (!comes_again || entries_.erase(key) == 0) return;
  if (const auto in_order = std::find(order_.begin(), order_.end(), key); in_order != order_.end())
    order_.erase(in_order);
}

/// The event that the entry waited for has occurred: the next change may proceed.
void follow_ups::release(const std::string& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  at->second.is_busy = false;
  const auto after = std::exchange(at->second.after, {});
  for (const auto& job : after) job();
}

void follow_ups::stop_turn(const std::string& key, const std::string& why, std::function<void()> then) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  if (at->second.is_busy) {
    if (at->second.after.size() < most_after)
      at->second.after.push_back([this, key, why, then = std::move(then)] { stop_turn(key, why, then); });
    return;
  }
  if (!at->second.turn) return;
  at->second.is_busy = true;
  const auto turn = *at->second.turn;
  tools_.at.look({turn}, [this, run = tools_.runner(), key, turn, why, then = std::move(then)](const auto& how) {
    const auto now = how.empty() ? std::nullopt : how.front();
    const bool is_live = now == status::pending || now == status::running || now == status::paused;
    run([this, is_live, key, turn, why, then] {
      if (!is_live) return release(key);
      stop_now(key, turn, why, then);
    });
  });
}

void follow_ups::stop_now(const std::string& key, const operation_id& turn, const std::string& why,
                          const std::function<void()>& then) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  tools_.drop(turn);
  const auto& m = at->second.message;
  tools_.at.stop({m.scope, turn, m.author, why},
                 [this, run = tools_.runner(), key, then](const result<stop_answer>& what) {
                   run([this, key, then, failed = what ? std::string() : what.error().detail] {
                     if (failed.empty()) return then();
                     tools_.log("what an edit or a deletion ends could not be stopped: " + failed);
                     release(key);
                   });
                 });
}

void follow_ups::edited(const std::string& key, incoming_message message, const std::string& stamp, bool is_cancel) {
  const auto known = entries_.find(key);
  // Without its mention it is for somebody else, and it is not answered.
  const bool is_taken_back = known != entries_.end() && !is_cancel && message.addressed == false;
  const bool is_same_text = known != entries_.end() && known->second.message.text == message.text;
  if (is_same_text && !is_taken_back) return; // only a preview was added
  const auto first = message.id;
  const auto edit = key + "/" + stamp;
  message.id += "/" + stamp; // a distinct message, but the same one if it is delivered again
  if (is_cancel) {
    if (message_posted(edit, message)) tools_.say(std::move(message), first);
    return;
  }
  if (entries_.contains(edit) || tools_.rules.edit == on_edit::ignore) return;
  if (known == entries_.end()) {
    message.id = first;
    const auto scope = message.scope;
    return recall(key, {scope}, first,
                  [this, key, stamp, message = std::move(message)] { edited(key, message, stamp, false); });
  }
  if (tools_.rules.edit == on_edit::stop || is_taken_back) {
    known->second.message.text = message.text;
    const char* const why =
        is_taken_back ? "its message was edited, and is not for the bot now" : "its message was edited";
    return stop_turn(key, why, [this, key] { release(key); });
  }
  message.addressed = known->second.message.addressed;
  message.scope = known->second.message.scope;
  known->second.message.text = message.text;
  stop_turn(key, "its message was edited", [this, key, edit, first, message = std::move(message)] {
    if (!message_posted(edit, message)) return release(key);
    // For the user both are one message: later changes concern the new turn.
    entries_.at(edit).after.push_back([this, key, edit] {
      const auto from = entries_.find(edit), to = entries_.find(key);
      if (from != entries_.end() && to != entries_.end()) to->second.turn = from->second.turn;
      release(key);
    });
    tools_.say(message, first);
  });
}

void follow_ups::deleted(const std::string& key, std::vector<scope_path> scopes, const std::string& id) {
  if (tools_.rules.deletion == on_deletion::ignore) return;
  if (!entries_.contains(key)) return recall(key, std::move(scopes), id, [this, key, id] { deleted(key, {}, id); });
  stop_turn(key, "its message was deleted", [this, key] { release(key); });
}

} // namespace quell::integrations::chat
