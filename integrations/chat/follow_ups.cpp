// Each step queries the turn's present status: the reply can end between an edit and its effect.
#include "integrations/chat/follow_ups.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace quell::integrations::chat {

namespace {

std::size_t hash_of(const std::string& text) { return std::hash<std::string>{}(text); }

std::size_t bytes_of(const incoming_message& message) {
  std::size_t bytes = sizeof message + message.id.size() + message.text.size() + message.scope.text().size();
  for (const auto& name : message.bot_names) bytes += sizeof name + name.size();
  return bytes + message.files.size() * 4096;
}

} // namespace

follow_ups::entry follow_ups::posted(const incoming_message& message) {
  return {
      .scope = message.scope, .author = message.author, .addressed = message.addressed, .text = hash_of(message.text)};
}

void follow_ups::put(change& waiting, change newer) {
  if (waiting.job && !newer.edit.empty() && waiting.edit == newer.edit) return; // it came twice
  if (!waiting.job || !waiting.only_stops) std::swap(waiting, newer);
  if (newer.job && !newer.edit.empty()) overtaken_.add(newer.edit);
}

follow_ups::held_message follow_ups::hold(incoming_message message) {
  const auto bytes = bytes_of(message);
  if (held_bytes_->load() + bytes > most_held_bytes) {
    tools_.log("too many edits at once: one is not answered");
    return nullptr;
  }
  *held_bytes_ += bytes;
  return {new incoming_message(std::move(message)), [all = held_bytes_, bytes](const incoming_message* over) {
            delete over;
            *all -= bytes;
          }};
}

bool follow_ups::message_posted(const std::string& key, const incoming_message& message) {
  if (entries_.contains(key)) return false;
  add(key, posted(message));
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
                        change look_up::*which, change then) {
  const auto at = looked_up_.find(key);
  if (at != looked_up_.end()) return put(at->second.*which, std::move(then));
  if (looked_up_.size() >= most_looked_up)
    return tools_.log("too many edits and deletions at once: one has no effect on what it might end");
  looked_up_[key].*which = std::move(then);
  tools_.at.find(std::move(scopes), id, [this, run = tools_.runner(), key](result<std::optional<known_message>> found) {
    run([this, key, found = std::move(found)] { recalled(key, found); });
  });
}

void follow_ups::recalled(const std::string& key, result<std::optional<known_message>> found) {
  const auto at = looked_up_.find(key);
  if (at == looked_up_.end()) return;
  const auto waiting = std::move(at->second);
  looked_up_.erase(at);
  if (!found) tools_.log("what an edit or a deletion ends could not be looked up: " + found.error().detail);
  if (found && *found && (*found)->turn && !entries_.contains(key))
    add(key, {.scope = (*found)->scope,
              .author = std::move((*found)->author),
              .addressed = true, // it began a turn
              .text = hash_of((*found)->text),
              .turn = (*found)->turn,
              .is_busy = false});
  if (!entries_.contains(key)) return;
  if (waiting.edit.job) waiting.edit.job();
  if (waiting.deletion.job) waiting.deletion.job();
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
  const auto continuation = std::exchange(at->second.continuation, nullptr);
  const auto waiting = std::exchange(at->second.waiting, {});
  if (continuation) continuation();
  if (waiting.job) waiting.job();
}

void follow_ups::stop_turn(const std::string& key, const std::string& why, change then) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  if (at->second.is_busy) {
    change again{{}, then.only_stops, then.edit};
    again.job = [this, key, why, then = std::move(then)] { stop_turn(key, why, then); };
    return put(at->second.waiting, std::move(again));
  }
  if (!at->second.turn) return;
  at->second.is_busy = true;
  const auto turn = *at->second.turn;
  tools_.at.look({turn}, [this, run = tools_.runner(), key, turn, why, then = std::move(then.job)](const auto& how) {
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
  tools_.at.stop({at->second.scope, turn, at->second.author, why},
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
  const bool is_unaddressed = !is_cancel && message.addressed == false;
  const bool is_taken_back = known != entries_.end() && is_unaddressed;
  const auto text = hash_of(message.text);
  if (known != entries_.end() && known->second.text == text && !is_taken_back) return; // only a preview was added
  const auto first = message.id;
  const auto edit = key + "/" + stamp;
  if (is_cancel) {
    message.id += "/" + stamp; // a distinct message, but the same one if it is delivered again
    if (message_posted(edit, message)) tools_.say(std::move(message), first);
    return;
  }
  if (entries_.contains(edit) || overtaken_.contains(edit) || tools_.rules.edit == on_edit::ignore) return;
  if (known == entries_.end()) {
    const auto scope = message.scope;
    const auto held = hold(std::move(message));
    if (!held) return;
    const bool only_stops = is_unaddressed || tools_.rules.edit == on_edit::stop;
    return recall(key, {scope}, first, &look_up::edit,
                  {[this, key, stamp, held] { edited(key, *held, stamp, false); }, only_stops, edit});
  }
  if (tools_.rules.edit == on_edit::stop || is_taken_back) {
    known->second.text = text;
    const char* const why =
        is_taken_back ? "its message was edited, and is not for the bot now" : "its message was edited";
    return stop_turn(key, why, {[this, key] { release(key); }, true});
  }
  message.id += "/" + stamp;
  message.addressed = known->second.addressed;
  message.scope = known->second.scope;
  const auto held = hold(std::move(message));
  known->second.text = text;
  if (!held) return stop_turn(key, "its message was edited", {[this, key] { release(key); }, true});
  overtaken_.add(edit); // it does not come through here again
  const auto say = [this, key, edit, first, held] {
    if (!message_posted(edit, *held)) return release(key);
    // For the user both are one message: later changes concern the new turn.
    entries_.at(edit).continuation = [this, key, edit] {
      const auto from = entries_.find(edit), to = entries_.find(key);
      if (from != entries_.end() && to != entries_.end()) to->second.turn = from->second.turn;
      release(key);
    };
    tools_.say(*held, first);
  };
  stop_turn(key, "its message was edited", {say, false, edit});
}

void follow_ups::deleted(const std::string& key, std::vector<scope_path> scopes, const std::string& id) {
  if (tools_.rules.deletion == on_deletion::ignore) return;
  if (!entries_.contains(key))
    return recall(key, std::move(scopes), id, &look_up::deletion, {[this, key, id] { deleted(key, {}, id); }, true});
  stop_turn(key, "its message was deleted", {[this, key] { release(key); }, true});
}

} // namespace quell::integrations::chat
