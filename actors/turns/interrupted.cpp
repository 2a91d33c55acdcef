// Reads the names from the store.
#include "actors/turns/interrupted.hpp"

#include <algorithm>

#include "actors/turns/speakers.hpp"
#include "protocol/note.hpp"

namespace quell::controller::turns {

std::vector<std::string> names_of(const kept_decision& kept, store_reader& store) {
  std::vector<std::pair<std::string, int>> found;
  for (const auto& id : kept.interrupted) {
    const auto row = store.operation(id);
    if (!row || !*row) continue;
    const auto& o = **row;
    const bool is_reply = o.kind == kind::turn || o.kind == kind::exchange;
    const auto name = is_reply ? std::string("reply") : o.name.empty() ? o.title : o.name;
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.first == name; });
    if (same != found.end())
      ++same->second;
    else if (!name.empty())
      found.emplace_back(name, 1);
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : found) names.push_back(count == 1 ? name : std::to_string(count) + " " + name);
  if (kept.queued > 0)
    names.push_back(std::to_string(kept.queued) + (kept.queued == 1 ? " queued message" : " queued messages"));
  return names;
}

std::vector<records::kept_message> requests_of(const kept_decision& kept, store_reader& store) {
  constexpr std::size_t most = 8;
  constexpr int deepest = 16;
  std::vector<operation_id> turns;
  std::vector<records::kept_message> requests;
  for (const auto& id : kept.interrupted) {
    if (requests.size() >= most) break;
    auto row = store.operation(id);
    // A call says more than its turn, so it is the call that was named. By voice the root is the exchange.
    for (int levels = 0; levels < deepest && row && *row && (*row)->kind != kind::turn && (*row)->parent; ++levels)
      row = store.operation(*(*row)->parent);
    if (!row || !*row || (*row)->kind != kind::turn) continue;
    if (std::find(turns.begin(), turns.end(), (*row)->id) != turns.end()) continue;
    turns.push_back((*row)->id);
    auto& request = requests.emplace_back().message;
    request.role = records::message_role::user;
    request.author = (*row)->owner;
    request.text = (*row)->title;
  }
  return requests;
}

std::vector<std::string> stop_conversation(const std::vector<records::kept_message>& requests, const person& author,
                                           const std::string& stop) {
  auto all = requests;
  auto& last = all.emplace_back().message;
  last.role = records::message_role::user;
  last.author = author;
  last.text = stop;
  const speakers people(all);
  std::vector<std::string> texts;
  if (!requests.empty()) {
    auto& text = texts.emplace_back(note("this was asked for before, and the next message stops it"));
    for (const auto& one : requests) text += "\n" + people.text_of(one.message);
  }
  texts.push_back(people.text_of(all.back().message));
  return texts;
}

std::string plain_name(const std::string& name) {
  constexpr std::size_t most = 64;
  const auto digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const bool has_count = digits > 0 && digits < name.size() && name[digits] == ' ';
  const auto count = has_count ? name.substr(0, digits + 1) : std::string();
  const auto bare = name.substr(count.size());
  if (has_count && (bare == "queued message" || bare == "queued messages")) return name;
  const bool is_name = !bare.empty() && bare.size() <= most &&
                       bare.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/") ==
                           std::string::npos;
  return is_name ? name : count + "other work";
}

} // namespace quell::controller::turns
