// Reads and merges the layers of the worker's configuration.
#include "worker/settings.hpp"

#include "worker/settings_confinement.hpp"

#include "protocol/toml.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace quell::worker {
namespace {

constexpr std::size_t most_settings_bytes = 1024 * 1024;
constexpr std::size_t most_pairs = 64;

tl::unexpected<fault> bad(std::string detail) { return failure("bad_config", std::move(detail)); }

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

constexpr auto known_keys = std::to_array<std::string_view>(
    {"worker.name", "worker.slots", "worker.labels", "worker.work_dir", "worker.containment", "worker.env",
     "worker.users", "worker.user", "worker.sandbox", "worker.capabilities", "worker.hide", "worker.workspaces",
     "worker.workspaces_per_guild", "worker.memory", "worker.pids", "worker.cpu", "controller.join"});

std::string nearest(std::string_view key) {
  return std::string(*std::min_element(known_keys.begin(), known_keys.end(), [&](auto a, auto b) {
    return distance(key.substr(0, 64), a) < distance(key.substr(0, 64), b);
  }));
}

/// One key with its value as text, number or pairs; `where` is for the error message.
struct value {
  std::optional<std::string> text;
  std::optional<std::int64_t> number;
  std::optional<std::map<std::string, std::string>> pairs;
  std::optional<std::vector<std::string>> list;
};

result<void> set(settings_layer& s, const std::string& key, value v, const std::string& where) {
  const auto wrong = [&](const char* wanted) { return bad(where + ": " + key + " must be " + wanted); };
  if (key == "worker.slots") {
    if (!v.number) return wrong("a whole number");
    auto slots = parse_slots(*v.number);
    if (!slots) return bad(where + ": " + key + " " + slots.error().detail);
    s.slots = *slots;
  } else if (key == "worker.labels" || key == "worker.env") {
    if (!v.pairs) return wrong("a table of strings, such as { gpu = \"1\" }");
    if (v.pairs->size() > most_pairs) return wrong("a table of at most 64 entries");
    (key == "worker.env" ? s.env : s.labels) = std::move(*v.pairs);
  } else if (key == "worker.users") {
    if (!v.list || v.list->size() > most_pairs) return wrong("a list of at most 64 user names");
    for (const auto& name : *v.list)
      if (name.empty() || name.size() > 32) return wrong("a list of user names of 1 to 32 characters");
    s.users = std::move(v.list);
  } else if (is_confinement_key(key)) {
    confinement_value v2{v.text, v.number, std::move(v.list)};
    if (auto why = set_confinement(s, key, std::move(v2)); !why.empty()) return bad(where + ": " + key + " " + why);
  } else if (key == "worker.name" || key == "worker.work_dir" || key == "worker.containment" ||
             key == "controller.join") {
    if (!v.text) return wrong("a string");
    if (v.text->empty()) return wrong("a string that is not empty");
    if (key == "worker.name")
      s.name = std::move(v.text);
    else if (key == "worker.work_dir")
      s.work_dir = std::move(v.text);
    else if (key == "controller.join")
      s.join = std::move(v.text);
    else {
      auto level = parse_containment(*v.text);
      if (!level) return bad(where + ": " + level.error().detail);
      s.least = *level;
    }
  } else {
    return bad(where + ": unknown key " + key + "; the nearest known one is " + nearest(key));
  }
  return {};
}

} // namespace

result<std::pair<std::string, std::string>> parse_pair(const std::string& text, const std::string& what) {
  const auto at = text.find('=');
  if (at == 0 || at == std::string::npos || at > 128)
    return bad(what + " must look like key=value, not " + text.substr(0, 100));
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

result<std::uint32_t> parse_slots(std::int64_t value) {
  if (value < 1 || value > 100'000) return bad("must be from 1 to 100000, not " + std::to_string(value));
  return static_cast<std::uint32_t>(value);
}

result<containment> parse_containment(const std::string& text) {
  if (const auto level = parse_name<containment>(text)) return *level;
  return bad("containment must be one of cgroup+pidns, cgroup, pidns, group, not " + text.substr(0, 100));
}

result<settings_layer> settings_from_toml(const std::string& text, const std::string& file) {
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return bad(file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  } catch (const std::exception& error) {
    return bad(file + ": " + error.what());
  }
  settings_layer s;
  for (auto&& [section, node] : root) {
    const auto line = [&](const toml::node& n) { return file + ":" + std::to_string(n.source().begin.line); };
    const std::string name(section.str());
    const auto* table = node.as_table();
    if (!table || (name != "worker" && name != "controller"))
      return bad(line(node) + ": unknown key " + name + "; the nearest known one is " + nearest(name));
    for (auto&& [key, child] : *table) {
      value v;
      v.text = child.value_exact<std::string>();
      v.number = child.value_exact<std::int64_t>();
      if (const auto* inner = child.as_table()) {
        v.pairs.emplace();
        for (auto&& [k, leaf] : *inner) {
          const auto leaf_text = leaf.value_exact<std::string>();
          if (!leaf_text)
            return bad(line(leaf) + ": " + name + "." + std::string(key.str()) + "." + std::string(k.str()) +
                       " must be a string");
          (*v.pairs)[std::string(k.str())] = *leaf_text;
        }
      }
      if (const auto* list = child.as_array()) {
        v.list.emplace();
        for (auto&& leaf : *list) {
          const auto leaf_text = leaf.value_exact<std::string>();
          if (!leaf_text) return bad(line(leaf) + ": " + name + "." + std::string(key.str()) + " must hold strings");
          v.list->push_back(*leaf_text);
        }
      }
      if (auto done = set(s, name + "." + std::string(key.str()), std::move(v), line(child)); !done)
        return tl::unexpected(done.error());
    }
  }
  return s;
}

result<settings_layer> settings_from_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return bad("cannot read the configuration " + file + "; check the path given to --config");
  std::string text(most_settings_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > most_settings_bytes) return bad("the configuration " + file + " is larger than 1 MiB");
  return settings_from_toml(text, file);
}

result<settings_layer> settings_from_environment(const std::map<std::string, std::string>& environment) {
  constexpr std::string_view prefix = "QUELL_WORKER_";
  settings_layer s;
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(prefix)) continue;
    std::string key = name.substr(prefix.size());
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto at = key.find('_'); at != std::string::npos) key[at] = '.';
    if (key == "log.level" || key == "log.format") continue; // the same as --log-level and --log-format
    const bool has_pairs = key == "worker.labels" || key == "worker.env";
    value v;
    if (has_pairs) {
      v.pairs.emplace();
      std::istringstream list(text);
      for (std::string item; std::getline(list, item, ',');) {
        auto pair = parse_pair(item, "environment variable " + name);
        if (!pair) return tl::unexpected(pair.error());
        v.pairs->insert(std::move(*pair));
      }
    } else if (key == "worker.users" || key == "worker.capabilities" || key == "worker.hide") {
      v.list.emplace();
      std::istringstream list(text);
      for (std::string item; std::getline(list, item, ',');) v.list->push_back(std::move(item));
    } else {
      v.text = text;
      char* end = nullptr;
      const long long number = std::strtoll(text.c_str(), &end, 10);
      if (!text.empty() && *end == '\0') v.number = number;
    }
    if (auto done = set(s, key, std::move(v), "environment variable " + name); !done)
      return tl::unexpected(done.error());
  }
  return s;
}

settings_layer merged(settings_layer under, const settings_layer& over) {
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  take(under.name, over.name);
  take(under.slots, over.slots);
  take(under.work_dir, over.work_dir);
  take(under.least, over.least);
  take(under.join, over.join);
  take(under.users, over.users);
  take(under.user, over.user);
  take(under.sandbox, over.sandbox);
  take(under.capabilities, over.capabilities);
  take(under.hide, over.hide);
  take(under.workspaces, over.workspaces);
  take(under.workspaces_per_guild, over.workspaces_per_guild);
  take(under.memory_bytes, over.memory_bytes);
  take(under.pids, over.pids);
  take(under.cpu_millis, over.cpu_millis);
  for (const auto& [k, v] : over.labels) under.labels[k] = v;
  for (const auto& [k, v] : over.env) under.env[k] = v;
  return under;
}

std::string settings_as_toml(const settings_layer& s) {
  toml::table worker;
  worker.insert("name", s.name.value_or(""));
  worker.insert("slots", static_cast<std::int64_t>(s.slots.value_or(0)));
  worker.insert("work_dir", s.work_dir.value_or(""));
  worker.insert("containment", s.least ? std::string(name_of(*s.least)) : std::string("strongest"));
  toml::table labels, env;
  for (const auto& [k, v] : s.labels) labels.insert(k, v);
  for (const auto& [k, v] : s.env) env.insert(k, "(not shown)");
  worker.insert("labels", std::move(labels));
  worker.insert("env", std::move(env));
  toml::array users;
  if (s.users)
    for (const auto& name : *s.users) users.push_back(name);
  worker.insert("users", std::move(users));
  for (auto& [name, value] : confinement_as_toml(s)) worker.insert(name, std::move(value));
  std::ostringstream text;
  text << toml::table{{"worker", std::move(worker)},
                      {"controller", toml::table{{"join", s.join ? "(not shown)" : "(none)"}}}}
       << "\n";
  return text.str();
}

} // namespace quell::worker
