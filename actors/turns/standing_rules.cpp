// The file is written before a change counts: what a human took back stays taken back.
#include "actors/turns/standing_rules.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "integrations/host/private_file.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

std::string key_of(const scope_path& scope, const std::string& agent, const std::string& tool,
                   const std::string& input) {
  return json_text(json::array({scope.text(), agent, tool, sha256_hex(input)}));
}

json written(const standing_rule& r) {
  return {{"id", r.id},
          {"scope", r.scope.text()},
          {"agent", r.agent},
          {"tool", r.tool},
          {"input", r.input},
          {"rule", r.rule},
          {"by", {{"id", r.by.id}, {"name", r.by.name}}},
          {"created_at_ms", r.created_at.time_since_epoch().count()},
          {"expires_at_ms", r.expires_at.time_since_epoch().count()}};
}

/// Throws what the parser throws if the file has another shape.
standing_rule read_rule(const json& from) {
  standing_rule r;
  const auto scope = scope_path::parse(from.at("scope").get<std::string>());
  if (!scope) throw std::invalid_argument("it has a scope that is none");
  r.scope = *scope;
  r.id = from.at("id").get<std::string>();
  r.agent = from.at("agent").get<std::string>();
  r.tool = from.at("tool").get<std::string>();
  r.input = from.at("input").get<std::string>();
  r.rule = from.at("rule").get<std::string>();
  r.by.id = from.at("by").at("id").get<std::string>();
  r.by.name = from.at("by").at("name").get<std::string>();
  r.created_at = wall_time{wall_time::duration{from.at("created_at_ms").get<std::int64_t>()}};
  r.expires_at = wall_time{wall_time::duration{from.at("expires_at_ms").get<std::int64_t>()}};
  return r;
}

/// The limit that leaves no room for one more rule in this scope, in words; "" = none.
std::string why_full(const std::map<std::string, standing_rule>& rules, const scope_path& scope) {
  using limits = standing_rules;
  if (rules.size() >= limits::most_rules) return std::to_string(limits::most_rules) + " calls";
  const auto guild = scope.guild();
  std::size_t of_scope = 0, of_guild = 0, bytes = 0, bytes_of_guild = 0;
  for (const auto& [key, rule] : rules) {
    bytes += rule.input.size();
    bytes_of_guild += rule.scope.guild() == guild ? rule.input.size() : 0;
    of_scope += rule.scope == scope ? 1 : 0;
    of_guild += rule.scope.guild() == guild ? 1 : 0;
  }
  if (bytes >= limits::most_bytes || bytes_of_guild >= limits::most_bytes_of_guild)
    return std::to_string((bytes >= limits::most_bytes ? limits::most_bytes : limits::most_bytes_of_guild) >> 20) +
           " MiB of calls";
  if (of_scope >= limits::most_of_scope)
    return std::to_string(limits::most_of_scope) + " calls in scope " + scope.text();
  const auto share = rules.size() < limits::most_rules / 2 ? limits::most_of_guild : limits::small_guild;
  if (of_guild >= share) return std::to_string(share) + " calls in scope " + guild.text() + " and below";
  return {};
}

} // namespace

std::string sorted_input(const std::string& input) {
  const auto read = json::parse(input, nullptr, false);
  return read.is_discarded() ? input : json_text(read);
}

std::optional<standing_rule> standing_rule_for(const records::operation_record& call, const std::string& agent) {
  const auto block = json::parse(call.kind_data, nullptr, false);
  if (!block.is_object() || !block.contains("input")) return std::nullopt;
  const auto rule = block.find("approval");
  if (rule == block.end() || !rule->is_string() || agent.empty()) return std::nullopt;
  standing_rule r;
  r.scope = call.scope;
  r.agent = agent;
  r.tool = call.name;
  r.input = json_text(block["input"]);
  r.rule = rule->get<std::string>();
  return r;
}

result<std::shared_ptr<standing_rules>> standing_rules::open(const std::string& directory) {
  auto opened = std::make_shared<standing_rules>();
  if (directory.empty()) return opened;
  opened->file_ = directory + "/approval_rules.json";
  std::error_code error;
  if (!std::filesystem::exists(opened->file_, error)) return opened;
  try {
    std::ifstream file(opened->file_);
    const auto read = json::parse(file); // outlives the loop over a part of it
    for (const auto& one : read.at("rules")) {
      auto rule = read_rule(one);
      auto key = key_of(rule.scope, rule.agent, rule.tool, rule.input);
      opened->rules_.emplace(std::move(key), std::move(rule));
    }
  } catch (const std::exception& e) {
    return failure(error_code::storage_unavailable, opened->file_ + " cannot be read: " + e.what() +
                                                        "; repair it, or remove it: then humans are asked again");
  }
  return opened;
}

result<void> standing_rules::replace(by_key rules) {
  if (!file_.empty()) {
    auto list = json::array();
    for (const auto& [key, rule] : rules) list.push_back(written(rule));
    if (auto done = write_private_file(file_, json_text({{"rules", std::move(list)}}) + "\n"); !done) return done;
  }
  const std::lock_guard lock(guard_);
  rules_ = std::move(rules);
  return {};
}

result<standing_rule> standing_rules::add(standing_rule rule, wall_time now) {
  if (rule.input.size() > most_input_bytes)
    return failure(error_code::invalid_field, "the call's input is larger than 16 KiB: it cannot be allowed for good");
  const std::lock_guard one_by_one(writing_);
  by_key next;
  {
    const std::lock_guard lock(guard_);
    next = rules_;
  }
  std::erase_if(next, [&](const auto& entry) { return entry.second.expires_at <= now; });
  const auto key = key_of(rule.scope, rule.agent, rule.tool, rule.input);
  const auto same = next.find(key);
  if (same == next.end())
    if (const auto full = why_full(next, rule.scope); !full.empty())
      return failure(error_code::too_many_operations, full + " are allowed for good already; revoke some (`quell "
                                                             "approvals`)");
  rule.id = same == next.end() ? operation_id::fresh().text() : same->second.id;
  rule.created_at = same == next.end() ? now : same->second.created_at;
  next.insert_or_assign(key, rule);
  if (auto done = replace(std::move(next)); !done) return tl::unexpected(done.error());
  return rule;
}

std::vector<standing_rule> standing_rules::all(wall_time now) const {
  std::vector<standing_rule> live;
  {
    const std::lock_guard lock(guard_);
    for (const auto& [key, rule] : rules_)
      if (rule.expires_at > now) live.push_back(rule);
  }
  std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) { return a.id < b.id; }); // ids grow with time
  return live;
}

result<bool> standing_rules::revoke(const std::string& id, wall_time now) {
  const std::lock_guard one_by_one(writing_);
  by_key next;
  {
    const std::lock_guard lock(guard_);
    next = rules_;
  }
  std::erase_if(next, [&](const auto& entry) { return entry.second.expires_at <= now; });
  if (std::erase_if(next, [&](const auto& entry) { return entry.second.id == id; }) == 0) return false;
  if (auto done = replace(std::move(next)); !done) return tl::unexpected(done.error());
  return true;
}

bool standing_rules::covers(const scope_path& scope, const std::string& agent, const std::string& tool,
                            const std::string& input, const std::string& rule, wall_time now) const {
  const std::lock_guard lock(guard_);
  if (rules_.empty() || input.size() > 2 * most_input_bytes) return false;
  const auto sorted = sorted_input(input);
  const auto at = rules_.find(key_of(scope, agent, tool, sorted));
  return at != rules_.end() && at->second.expires_at > now && at->second.rule == rule && at->second.input == sorted;
}

} // namespace quell::controller::turns
