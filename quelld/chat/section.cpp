// Secrets and addresses of a section.
#include "quelld/chat/section.hpp"

#include <algorithm>
#include <fstream>

#include "protocol/blanks.hpp"
#include "protocol/duration.hpp"

namespace quell::controller::chat {
namespace {

constexpr std::size_t most_secret_bytes = 16 << 10, path_bytes = 4096, url_bytes = 2048, variable_bytes = 256;

} // namespace

std::string section_reader::secret(const char* key, need how) {
  const auto env_key = std::string(key) + "_env", file_key = std::string(key) + "_file";
  const auto variable = keys.text(env_key.c_str(), variable_bytes), file = keys.text(file_key.c_str(), path_bytes);
  lines.text(env_key.c_str(), variable);
  lines.text(file_key.c_str(), file);
  if (!variable.empty() && !file.empty()) {
    keys.wrong(file_key, "stands beside " + env_key + "; give one of the two");
    return {};
  }
  std::string value;
  if (!variable.empty()) {
    const auto found = environment.find(variable);
    if (found == environment.end() || found->second.empty())
      keys.wrong(env_key, "names the environment variable " + variable + ", which is not set; set it for quelld");
    else
      value = trimmed(found->second);
  } else if (!file.empty()) {
    std::ifstream in(file, std::ios::binary);
    value.resize(most_secret_bytes + 1);
    in.read(value.data(), static_cast<std::streamsize>(value.size()));
    value.resize(static_cast<std::size_t>(in.gcount()));
    if (value.size() > most_secret_bytes) {
      keys.wrong(file_key, "names " + file + ", which is too long for a secret");
      return {};
    }
    value = std::string(trimmed(value));
    if (value.empty())
      keys.wrong(file_key, "names " + file + ", which cannot be read or is empty; check the path and its rights");
  } else if (how == need::required) {
    keys.wrong("", "needs " + env_key + " (the name of an environment variable) or " + file_key +
                       " (a file); a secret never stands in the configuration itself");
  }
  return value;
}

std::string section_reader::url(const char* key, const std::string& otherwise) {
  auto url = keys.text_if(key, url_bytes).value_or(otherwise);
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    keys.wrong(key, "must begin with http:// or https://");
  while (url.ends_with('/')) url.pop_back();
  lines.text(key, url);
  return url;
}

std::vector<std::string> section_reader::origins(const char* key, std::vector<std::string> otherwise) {
  constexpr std::size_t most = 16;
  if (keys.has(key)) otherwise = keys.texts(key, most, most * url_bytes);
  for (auto& url : otherwise) {
    if (!url.starts_with("http://") && !url.starts_with("https://"))
      keys.wrong(key, "has \"" + url + "\"; each must begin with http:// or https://");
    while (url.ends_with('/')) url.pop_back();
  }
  lines.plain(key, turns::toml_list(otherwise)); // also an empty one, which is not the default
  return otherwise;
}

std::map<std::string, std::string> section_reader::secrets(const char* key, std::size_t most) {
  const auto variables = keys.pairs(key, most);
  lines.table(key, variables);
  std::map<std::string, std::string> values;
  for (const auto& [name, variable] : variables) {
    const auto found = environment.find(variable);
    if (found == environment.end() || found->second.empty())
      keys.wrong(key, "names the variable " + variable + ", which is not set; set it for quelld");
    else
      values.emplace(name, found->second);
  }
  return values;
}

void section_reader::text(const char* key, std::string& value) {
  if (keys.has(key)) value = keys.text(key, path_bytes);
  lines.text(key, value);
}

void section_reader::texts(const char* key, std::vector<std::string>& value, std::size_t most, std::size_t most_bytes) {
  if (keys.has(key)) value = keys.texts(key, most, most_bytes);
  lines.texts(key, value);
}

void section_reader::flag(const char* key, bool& value) {
  value = keys.flag(key, value);
  lines.flag(key, value);
}

std::size_t section_reader::choice(const char* key, const std::vector<std::string>& words, std::size_t otherwise) {
  if (keys.has(key)) {
    const auto word = keys.text(key, 64);
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) {
      std::string all;
      for (const auto& one : words) all += (all.empty() ? "\"" : ", \"") + one + "\"";
      keys.wrong(key, "must be one of " + all);
    } else {
      otherwise = static_cast<std::size_t>(at - words.begin());
    }
  }
  lines.text(key, words[otherwise]);
  return otherwise;
}

integrations::chat::change_rules section_reader::changes(reported what) {
  using namespace integrations::chat;
  change_rules rules;
  if (what == reported::edits_and_deletions)
    rules.deletion = static_cast<on_deletion>(choice("on_delete", {"stop", "ignore"}, 0));
  rules.edit = static_cast<on_edit>(choice("on_edit", {"ask", "stop", "ignore"}, 0));
  return rules;
}

void section_reader::time(const char* key, milliseconds& value, milliseconds least) {
  value = keys.duration(key, value, least);
  lines.text(key, duration_text(value));
}

} // namespace quell::controller::chat
