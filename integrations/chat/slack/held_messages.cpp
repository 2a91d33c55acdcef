// Held messages as JSON.
#include "integrations/chat/slack/held_messages.hpp"

#include <utility>

#include "integrations/chat/json_text.hpp"

namespace quell::integrations::chat::slack {
namespace {

using nlohmann::json;

std::size_t bytes_of(const std::string& key, const message& m) {
  constexpr std::size_t of_members = 200;
  std::size_t bytes = of_members + 2 * key.size() + m.stamp.size() + m.thread.size() + m.user.size() + m.text.size() +
                      m.attached.size();
  for (const auto& f : m.files) bytes += of_members + f.name.size() + f.type.size() + f.place.size();
  return bytes;
}

json json_of(const message& m) {
  json files = json::array();
  for (const auto& f : m.files) {
    json one{{"name", f.name}, {"type", f.type}, {"place", f.place}};
    if (f.bytes) one["bytes"] = *f.bytes;
    files.push_back(std::move(one));
  }
  return {{"team", m.team},         {"channel", m.channel},   {"ts", m.ts},
          {"thread", m.thread},     {"user", m.user},         {"text", m.text},
          {"attached", m.attached}, {"files", files},         {"stamp", m.stamp},
          {"direct", m.is_direct},  {"meant", m.is_addressed}};
}

bool is_true(const json& from, const char* name) { return member_of(from, name) == json(true); }

message message_of(const json& from) {
  message m;
  m.team = text_of(from, "team");
  m.channel = text_of(from, "channel");
  m.ts = text_of(from, "ts");
  m.thread = text_of(from, "thread");
  m.user = text_of(from, "user");
  m.text = text_of(from, "text");
  m.attached = text_of(from, "attached");
  m.stamp = text_of(from, "stamp");
  m.is_direct = is_true(from, "direct");
  m.is_addressed = is_true(from, "meant");
  for (const auto& f : member_of(from, "files")) {
    offered_file one{text_of(f, "name"), text_of(f, "type"), {}, text_of(f, "place")};
    if (const auto& bytes = member_of(f, "bytes"); bytes.is_number_unsigned()) one.bytes = bytes.get<std::uint64_t>();
    m.files.push_back(std::move(one));
  }
  return m;
}

} // namespace

bool held_messages::has_room_for(const std::string& key, const message& m) const {
  const auto before = all_.find(key);
  const auto freed = before == all_.end() ? 0 : bytes_of(key, before->second);
  return bytes_ - freed + bytes_of(key, m) <= most_bytes;
}

void held_messages::drop(const std::string& key) {
  const auto at = all_.find(key);
  if (at == all_.end()) return;
  bytes_ -= bytes_of(key, at->second);
  all_.erase(at);
  ++changes_;
}

void held_messages::put(const std::string& key, message m) {
  drop(key);
  bytes_ += bytes_of(key, m);
  all_.emplace(key, std::move(m));
  ++changes_;
}

void held_messages::decided(const std::string& key) { drop(key); }

void held_messages::leave_out(const std::string& key) {
  drop(key);
  if (left_out_.add(key)) ++changes_;
}

json held_messages::to_keep() const {
  json held = json::object();
  for (const auto& [key, m] : all_) held[key] = json_of(m);
  return {{"waiting", std::move(held)}, {"left_out", left_out_.in_order()}};
}

void held_messages::recall(const json& kept) {
  for (const auto& [key, m] : member(kept, "waiting").items()) {
    auto known = message_of(m);
    if (!known.ts.empty() && has_room_for(key, known)) put(key, std::move(known));
  }
  for (const auto& key : member_of(kept, "left_out"))
    if (key.is_string()) left_out_.add(key.get<std::string>());
}

} // namespace quell::integrations::chat::slack
