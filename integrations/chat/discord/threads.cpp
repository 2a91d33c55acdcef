// Records threads and their channels.
#include "integrations/chat/discord/threads.hpp"

#include "integrations/chat/discord/json_access.hpp"
#include "integrations/chat/discord/read.hpp"

namespace quell::integrations::chat::discord {

void threads::learn(const nlohmann::json& thread) {
  const auto id = text_of(thread, "id"), parent = text_of(thread, "parent_id");
  if (!is_snowflake(id) || !is_snowflake(parent)) return;
  parents_.insert_or_assign(id, parent);
  if (parents_.size() > most) parents_.erase(parents_.begin());
}

void threads::hear(std::string_view type, const nlohmann::json& data) {
  if (type == "THREAD_DELETE") {
    parents_.erase(text_of(data, "id"));
  } else if (type == "THREAD_CREATE" || type == "THREAD_UPDATE") {
    learn(data);
  } else if (type == "GUILD_CREATE" || type == "THREAD_LIST_SYNC") {
    const auto& list = member_of(data, "threads");
    if (!list.is_array()) return;
    for (const auto& one : list) learn(one);
  }
}

std::vector<std::string> threads::below(const std::string& channel) const {
  std::vector<std::string> all;
  for (const auto& [id, parent] : parents_)
    if (parent == channel) all.push_back(id);
  return all;
}

} // namespace quell::integrations::chat::discord
