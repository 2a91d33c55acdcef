// Keys of [voice], [voice.hear] and [voice.speak].
#include "quelld/settings/voice_settings.hpp"

#include <algorithm>

#include "quelld/settings/toml_file.hpp"
#include "quelld/settings/toml_lines.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::voice {
namespace {

constexpr std::size_t short_bytes = 256, most_words = 64, most_command_bytes = 16 << 10;

/// `{wpm}` and `{speed}` are filled in for each answer; espeak-ng counts words per minute, and 175 is its default.
const std::vector<std::string>& default_speak() {
  static const std::vector<std::string> command = {"sh", "-c",
                                                   "espeak-ng -v en-us -s {wpm} --stdin --stdout | sox -q "
                                                   "--ignore-length -t wav - -t raw -r 16000 -e signed -b 16 -c 1 -"};
  return command;
}

const std::vector<std::string>& default_hear() {
  static const std::vector<std::string> command = {"quell-ear"};
  return command;
}

/// The command that asks an OpenAI-compatible server: a task on a worker like any other command, so that a cancel ends
/// it with proof.
struct web_service {
  const char* program;
  std::vector<const char*> flags; ///< texts that are handed on under the same name
};
const web_service web_ear{"quell-ear", {"url", "model", "language", "key_file"}};
const web_service web_mouth{"quell-mouth", {"url", "model", "voice", "key_file"}};

std::vector<std::string> web_command(const web_service& service, turns::toml_table& keys, turns::toml_lines& lines) {
  std::vector<std::string> command = {service.program};
  for (const std::string name : service.flags) {
    auto value = keys.text(name.c_str(), short_bytes);
    lines.text(name.c_str(), value);
    if (name == "url") {
      while (value.ends_with('/')) value.pop_back();
      if (!value.starts_with("http://") && !value.starts_with("https://"))
        keys.wrong("url", "is not an http or https URL, such as http://127.0.0.1:8000/v1");
    }
    if (name == "model" && value.empty()) keys.wrong("model", "is missing; name the model that the server shall use");
    if (value.empty()) continue;
    command.push_back(name == "key_file" ? "--key-file" : "--" + name);
    command.push_back(value);
  }
  return command;
}

std::vector<std::string> web_hearing(turns::toml_table& keys, turns::toml_lines& lines) {
  auto command = web_command(web_ear, keys, lines);
  const bool has_confidence = keys.flag("confidence", true);
  lines.flag("confidence", has_confidence);
  if (!has_confidence) command.insert(command.end(), {"--plain", "yes"});
  return command;
}

std::vector<std::string> web_speaking(turns::toml_table& keys, turns::toml_lines& lines) {
  constexpr std::uint32_t usual_rate = 24000, our_rate = 16000;
  auto command = web_command(web_mouth, keys, lines);
  const auto rate = keys.number("rate", usual_rate, 4000, 192000);
  lines.plain("rate", std::to_string(rate));
  command.insert(command.end(), {"--speed", "{speed}"});
  if (rate == our_rate) return command;
  const std::string resample = "quell-mouth \"$@\" | sox -q --buffer 1024 -t raw -r " + std::to_string(rate) +
                               " -e signed -b 16 -c 1 - -t raw -r 16000 -";
  command.insert(command.begin(), {"bash", "-o", "pipefail", "-c", resample});
  return command;
}

void read_command(turns::toml_table& keys, const char* key, const char* head, std::vector<std::string>& command,
                  turns::file_trouble& trouble, turns::toml_lines& lines) {
  const auto* table = keys.table(key);
  if (!table) return lines.texts("command", command);
  turns::toml_table inner(*table, head, trouble);
  if (inner.has("url")) {
    if (inner.has("command")) inner.wrong("command", "stands beside url; keep one of them");
    command = std::string_view(key) == "hear" ? web_hearing(inner, lines) : web_speaking(inner, lines);
  } else {
    if (inner.has("command")) command = inner.texts("command", most_words, most_command_bytes);
    if (command.empty()) inner.wrong("command", "is empty; name a program, or leave the key out for the default");
    lines.texts("command", command);
  }
  inner.end();
}

} // namespace

result<voice_settings> read_voice_settings(const std::string& file) {
  voice_settings s;
  s.scope = *scope_path::parse("voice");
  s.hear = default_hear();
  s.speak = default_speak();
  const auto root = file.empty() ? result<toml::table>(toml::table{}) : parse_toml_file(file);
  if (!root) return tl::unexpected(root.error());
  turns::file_trouble trouble(file);
  const auto* node = root->get("voice");
  if (!node) {
    s.text = "\n# [voice] is not configured; docs/voice.md says how\n";
    return s;
  }
  const auto* table = node->as_table();
  if (!table) {
    trouble.say(node->source().begin.line, "voice must be one table: write [voice]");
    return tl::unexpected(*trouble.first());
  }
  turns::toml_table keys(*table, "[voice]", trouble);
  turns::toml_lines lines, hear, speak;
  s.listen = keys.text("listen", short_bytes);
  if (keys.has("brain")) s.brain = keys.text("brain", short_bytes);
  if (s.brain != "builtin" && !s.brain.starts_with("unix:")) keys.wrong("brain", "is neither builtin nor unix:PATH");
  if (const auto scope = keys.text_if("scope", 512)) {
    const auto parsed = scope_path::parse(*scope);
    if (parsed)
      s.scope = *parsed;
    else
      keys.wrong("scope", parsed.error().detail);
  }
  s.agent = keys.text("agent", short_bytes);
  s.feedback = keys.flag("feedback", s.feedback);
  s.clients = keys.number("clients", s.clients, 1, 1000);
  s.clients_per_token = keys.number("clients_per_token", s.clients_per_token, 1, 1000);
  s.on = keys.pairs("on", most_words);
  lines.text("listen", s.listen);
  lines.text("brain", s.brain);
  lines.text("scope", s.scope.text());
  lines.text("agent", s.agent);
  lines.flag("feedback", s.feedback);
  lines.plain("clients", std::to_string(s.clients));
  lines.plain("clients_per_token", std::to_string(s.clients_per_token));
  lines.table("on", s.on);
  read_command(keys, "hear", "[voice.hear]", s.hear, trouble, hear);
  read_command(keys, "speak", "[voice.speak]", s.speak, trouble, speak);
  keys.end();
  s.text = "\n[voice]\n" + lines.all() + "[voice.hear]\n" + hear.all() + "[voice.speak]\n" + speak.all();
  if (trouble.first()) return tl::unexpected(*trouble.first());
  return s;
}

} // namespace quell::controller::voice
