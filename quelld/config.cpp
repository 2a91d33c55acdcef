// One table of keys serves file, environment, flags, --print-config and the check for unknown keys.
#include "quelld/config.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "protocol/duration.hpp"
#include "protocol/nearest.hpp"
#include "protocol/reserved_scopes.hpp"
#include "quelld/chat/settings.hpp"
#include "quelld/config_environment.hpp"
#include "quelld/settings/toml_file.hpp"
#include "quelld/settings/turn_settings.hpp"

namespace quell::controller {

namespace {

config_key text_key(std::string section, std::string name, std::string config::*field, std::string meaning) {
  return {std::move(section), std::move(name), std::move(meaning),
          [field](config& c, const std::string& t) -> result<void> {
            c.*field = t;
            return {};
          },
          [field](const config& c) { return c.*field; }};
}

config_key time_key(std::string section, std::string name, milliseconds config::*field, std::string meaning) {
  return {std::move(section), std::move(name), std::move(meaning),
          [field](config& c, const std::string& t) -> result<void> {
            auto d = parse_duration(t);
            if (!d) return tl::unexpected(d.error());
            c.*field = *d;
            return {};
          },
          [field](const config& c) { return duration_text(c.*field); }};
}

config_key size_key(std::string section, std::string name, std::uint64_t config::*field, std::string meaning) {
  config_key k{std::move(section), std::move(name), std::move(meaning),
               [field](config& c, const std::string& t) -> result<void> {
                 auto n = parse_size(t);
                 if (!n) return tl::unexpected(n.error());
                 c.*field = *n;
                 return {};
               },
               [field](const config& c) { return std::to_string(c.*field); }};
  k.quoted = false;
  return k;
}

config_key flag_key(std::string section, std::string name, bool config::*field, std::string meaning) {
  config_key k{std::move(section), std::move(name), std::move(meaning),
               [field](config& c, const std::string& t) -> result<void> {
                 if (t != "true" && t != "false")
                   return failure(error_code::invalid_field, "'" + t + "' is neither true nor false");
                 c.*field = t == "true";
                 return {};
               },
               [field](const config& c) { return std::string(c.*field ? "true" : "false"); }};
  k.quoted = false;
  return k;
}

config_key scope_key() {
  return {"defaults", "scope", "where an operation belongs whose create names neither scope nor parent",
          [](config& c, const std::string& t) -> result<void> {
            const auto scope = scope_path::parse(t);
            if (!scope) return tl::unexpected(scope.error());
            if (is_reserved(*scope))
              return failure(error_code::invalid_field, "'" + t + "' is reserved for quell's own work");
            c.defaults_scope = t;
            return {};
          },
          [](const config& c) { return c.defaults_scope; }};
}

config_key containment_key() {
  return {"defaults", "min_containment",
          "least containment a task accepts: cgroup+pidns, cgroup, pidns or group (\"\" = any)",
          [](config& c, const std::string& t) -> result<void> {
            c.defaults_min_containment.reset();
            if (t.empty()) return {};
            c.defaults_min_containment = parse_name<containment>(t);
            if (!c.defaults_min_containment)
              return failure(error_code::invalid_field,
                             "'" + t + "' is not a level: cgroup+pidns, cgroup, pidns or group");
            return {};
          },
          [](const config& c) {
            return c.defaults_min_containment ? std::string(name_of(*c.defaults_min_containment)) : std::string();
          }};
}

tl::unexpected<fault> unknown_key(const std::string& key) {
  std::vector<std::string> known;
  for (const auto& k : config_keys()) known.push_back(k.section + "." + k.name);
  return failure(error_code::invalid_field, "unknown key " + key + "; the nearest known one is " + nearest(key, known) +
                                                " (`quelld --print-config` lists all)");
}

/// The sections that turns and chat services read.
std::vector<std::string> sections_read_elsewhere() {
  auto all = turns::turn_sections();
  const auto& chats = chat::chat_sections();
  all.insert(all.end(), chats.begin(), chats.end());
  all.emplace_back("voice");
  return all;
}

/// The error for an unknown `[[section]]`.
std::string unknown_section(const std::string& section) {
  return "[[" + section + "]] is not a known section; the nearest known one is " +
         nearest(section, sections_read_elsewhere()) + " (docs/agents.md and docs/chat list all)";
}

/// The error for `[section]`; "" = it is known, or its keys give a better error.
std::string unknown_table(const std::string& section) {
  const auto elsewhere = sections_read_elsewhere();
  auto known = elsewhere;
  for (const auto& k : config_keys()) known.push_back(k.section);
  const auto like = nearest(section, known);
  if (like == section || std::find(elsewhere.begin(), elsewhere.end(), like) == elsewhere.end()) return {};
  return "[" + section + "] is not a known section; the nearest known one is " + like +
         " (docs/agents.md and docs/chat list all)";
}

bool is_read_elsewhere(std::string_view section) {
  const auto all = sections_read_elsewhere();
  return std::find(all.begin(), all.end(), section) != all.end();
}

/// Collects all strings of the file, since some of them name variables that hold secrets.
void collect_texts(const toml::node& node, std::set<std::string>& into) {
  if (const auto text = node.value_exact<std::string>()) into.insert(*text);
  if (const auto* table = node.as_table())
    for (const auto& [key, child] : *table) collect_texts(child, into);
  if (const auto* list = node.as_array())
    for (const auto& child : *list) collect_texts(child, into);
}

/// A TOML scalar as the text that a flag would have; a list of strings becomes comma separated.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* list = node.as_array()) {
    std::string all;
    for (const auto& item : *list) {
      const auto s = item.value_exact<std::string>();
      if (!s) return std::nullopt;
      all += (all.empty() ? "" : ",") + *s;
    }
    return all;
  }
  if (const auto s = node.value_exact<std::string>()) return *s;
  if (const auto i = node.value_exact<std::int64_t>()) return std::to_string(*i);
  if (const auto b = node.value_exact<bool>()) return *b ? "true" : "false";
  return std::nullopt;
}

bool is_text(const std::string& key) {
  const auto& keys = config_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const config_key& k) { return k.quoted && k.section + "." + k.name == key; });
}

result<void> read_file(config& c, const std::string& file, std::set<std::string>& texts) {
  const auto table = parse_toml_file(file);
  if (!table) return tl::unexpected(table.error());
  collect_texts(*table, texts);
  for (const auto& [section, node] : *table) {
    if (is_read_elsewhere(section.str())) continue; // `read_turn_settings`, `read_chat_settings`
    const auto* keys = node.as_table();
    if (node.is_array_of_tables())
      return failure(error_code::invalid_field, file + ": " + unknown_section(std::string(section.str())));
    if (!keys)
      return failure(error_code::invalid_field,
                     file + ": " + std::string(section.str()) + " stands outside of a [section]");
    if (const auto why = unknown_table(std::string(section.str())); !why.empty())
      return failure(error_code::invalid_field, file + ": " + why);
    for (const auto& [name, value] : *keys) {
      const auto key = std::string(section.str()) + "." + std::string(name.str());
      const auto place = file + ":" + std::to_string(value.source().begin.line) + ": ";
      const auto text = scalar(value);
      if (!text)
        return failure(error_code::invalid_field, place + key + " must be a string, a whole number, true or false");
      if (value.is_boolean() && is_text(key))
        return failure(error_code::invalid_field, place + key + " must be a string, not " + *text);
      if (auto set = set_config(c, key, *text); !set)
        return failure(error_code::invalid_field, place + set.error().detail);
    }
  }
  return {};
}

} // namespace

const std::vector<config_key>& config_keys() {
  static const std::vector<config_key> keys = {
      text_key("http", "listen", &config::http_listen, "address of the HTTP API; port 0 = a free one"),
      text_key("http", "cors_origins", &config::http_cors_origins,
               "web pages that may call the API: origins such as https://bots.example, comma separated"),
      text_key("http", "push_origins", &config::http_push_origins,
               "where A2A's push notifications may go although the address is not public: origins such as "
               "http://10.1.2.3:8080, comma separated"),
      text_key("http", "hosts", &config::http_hosts,
               "further names by which requests may call quelld (Host), such as quell.example behind a proxy; comma "
               "separated"),
      text_key("http", "advertise_url", &config::http_advertise_url,
               "the URL that clients are told; \"\" = from listen"),
      text_key("http", "tls_cert", &config::http_tls_cert, "PEM certificate chain; with tls_key switches TLS on"),
      text_key("http", "tls_key", &config::http_tls_key, "PEM private key"),
      flag_key("http", "metrics_public", &config::http_metrics_public, "/metrics without a token"),
      flag_key("http", "insecure", &config::http_insecure, "allow HTTP without TLS off loopback"),
      text_key("workers", "listen", &config::workers_listen, "control socket for workers"),
      text_key("workers", "output_listen", &config::workers_output_listen,
               "bulk socket for workers: output, input, relayed HTTP"),
      text_key("workers", "advertise_host", &config::workers_advertise_host,
               "host name in join lines; \"\" = from listen"),
      time_key("workers", "heartbeat", &config::workers_heartbeat, "how often workers ask for their lease"),
      time_key("workers", "lease", &config::workers_lease, "how long a worker's tasks live without contact"),
      time_key("workers", "handover", &config::workers_handover, "the lease granted at a planned stop"),
      text_key("store", "dir", &config::store_dir, "state directory; \"\" = ~/.local/state/quell"),
      time_key("store", "keep_operations", &config::store_keep_operations,
               "how long ended operations, their output, cancels and events are kept; 0 = for ever"),
      size_key("store", "keep_events", &config::store_keep_events, "events kept for watchers that resume"),
      time_key("store", "keep_audit", &config::store_keep_audit, "how long the audit is kept; 0 = for ever"),
      size_key("store", "keep_output", &config::store_keep_output_bytes,
               "bytes of output kept per stream of an operation"),
      size_key("store", "reserve", &config::store_reserve_bytes, "free bytes below which starts are refused"),
      time_key("store", "keep_blobs", &config::store_keep_blobs,
               "how long uploaded files are kept since a message named them last; 0 = for ever"),
      scope_key(),
      time_key("defaults", "timeout", &config::defaults_timeout,
               "how long a task or external operation may run whose create does not say; 0 = no limit"),
      time_key("defaults", "grace", &config::defaults_grace, "between SIGTERM and the kill"),
      containment_key(),
      time_key("defaults", "tombstones", &config::defaults_tombstones,
               "how long a cancel of an unknown id wins over its create"),
      size_key("limits", "operations", &config::limits_operations, "live operations at once"),
      size_key("limits", "bytes_per_day", &config::limits_bytes_per_day,
               "bytes that one token sends in a day; cancels always pass; 0 = no limit"),
      size_key("limits", "bytes_per_day_per_author", &config::limits_bytes_per_day_per_author,
               "bytes that one author, as one token or chat service names them, sends in a day; 0 = no limit"),
      size_key("limits", "bytes_per_day_per_scope", &config::limits_bytes_per_day_per_scope,
               "bytes that a scope, with those below it, receives in a day; 0 = no limit"),
      size_key("limits", "operations_per_token", &config::limits_operations_per_token,
               "live operations at once that one token started, itself or by what it started; 0 = no limit"),
      size_key("limits", "operations_per_author", &config::limits_operations_per_author,
               "live operations of one author (owner) at once; 0 = no limit"),
      size_key("limits", "operations_per_scope", &config::limits_operations_per_scope,
               "live operations at once in a scope and below it; 0 = no limit"),
      size_key("limits", "turns_per_token", &config::limits_turns_per_token,
               "turns that run or wait, of messages that one token or chat service brought; 0 = no limit"),
      size_key("limits", "turns_per_author", &config::limits_turns_per_author,
               "turns of one author that run or wait; 0 = no limit"),
      size_key("limits", "turns_per_scope", &config::limits_turns_per_scope,
               "turns that run or wait in a scope and below it; 0 = no limit"),
      size_key("limits", "slots_per_guild", &config::limits_slots_per_guild,
               "slots of workers that tasks of one guild (the first two segments of a scope), or of one token, hold at "
               "once; 0 = no limit"),
      size_key("limits", "connections", &config::limits_connections, "HTTP connections at once"),
      size_key("limits", "requests_per_second", &config::limits_requests_per_second,
               "HTTP requests of one token, twice as many at once; cancels always pass; 0 = no limit"),
      size_key("limits", "streams_per_token", &config::limits_streams_per_token,
               "event streams, output streams and long polls of one token at once; 0 = no limit"),
      size_key("limits", "blob_bytes", &config::limits_blob_bytes, "bytes of one uploaded file, at most 32 MiB"),
      size_key("limits", "blob_bytes_per_token", &config::limits_blob_bytes_per_token,
               "bytes of all files that one token uploaded; 0 = no limit"),
      size_key("limits", "blob_bytes_per_scope", &config::limits_blob_bytes_per_scope,
               "bytes of all files of one scope; 0 = no limit"),
      size_key("limits", "blob_bytes_in_all", &config::limits_blob_bytes_in_all, "bytes of all files; 0 = no limit"),
      text_key("log", "level", &config::log_level, "debug, info, warn or error"),
      text_key("log", "format", &config::log_format, "text, or json: one object per line"),
  };
  return keys;
}

result<void> set_config(config& c, const std::string& key, const std::string& text) {
  for (const auto& k : config_keys()) {
    if (k.section + "." + k.name != key) continue;
    if (auto read = k.read(c, text); !read) return failure(error_code::invalid_field, key + ": " + read.error().detail);
    return {};
  }
  return unknown_key(key);
}

result<config> load_config(const std::string& file, const std::map<std::string, std::string>& environment) {
  config c;
  c.store_dir = default_state_directory(environment);
  std::set<std::string> texts;
  if (!file.empty())
    if (auto read = read_file(c, file, texts); !read) return tl::unexpected(read.error());
  if (auto known = check_variables(environment, texts); !known) return tl::unexpected(known.error());
  for (const auto& k : config_keys()) {
    const auto variable = variable_of(k);
    const auto it = environment.find(variable);
    if (it == environment.end()) continue;
    if (auto read = k.read(c, it->second); !read)
      return failure(error_code::invalid_field, variable + ": " + read.error().detail);
  }
  return c;
}

std::string config_text(const config& c) {
  std::ostringstream out;
  std::string section;
  for (const auto& k : config_keys()) {
    if (k.section != section) out << (section.empty() ? "" : "\n") << "[" << k.section << "]\n";
    section = k.section;
    const auto value = k.print(c);
    out << k.name << " = " << (k.quoted ? "\"" + value + "\"" : value) << "  # " << k.meaning << "\n";
  }
  return out.str();
}

std::string default_state_directory(const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto it = environment.find(name);
    return it == environment.end() ? std::string() : it->second;
  };
  if (auto given = value("QUELL_STATE"); !given.empty()) return given;
  if (auto given = value("STATE_DIRECTORY"); !given.empty()) return given; // systemd's StateDirectory=
  if (auto base = value("XDG_STATE_HOME"); !base.empty()) return base + "/quell";
  if (auto home = value("HOME"); !home.empty()) return home + "/.local/state/quell";
  return "/var/lib/quell";
}

} // namespace quell::controller
