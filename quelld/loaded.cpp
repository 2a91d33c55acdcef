// Reads the sections of the configuration one after the other; the first fault ends it.
#include "quelld/loaded.hpp"

#include "quelld/settings/turn_settings.hpp"
#include "quelld/settings/voice_settings.hpp"

namespace quell::controller {

namespace {

result<config> read_config(const configuration_sources& from, const std::map<std::string, std::string>& environment) {
  auto c = load_config(from.file, environment);
  if (!c) return c;
  for (const auto& [key, text] : from.settings)
    if (auto set = set_config(*c, key, text); !set) return tl::unexpected(set.error());
  if (from.insecure) c->http_insecure = true;
  if (auto sound = check_config(*c); !sound) return tl::unexpected(sound.error());
  return c;
}

} // namespace

result<loaded> load_all(const configuration_sources& from, const std::map<std::string, std::string>& environment) {
  auto settings = read_config(from, environment);
  if (!settings) return tl::unexpected(settings.error());
  auto turns = turns::read_turn_settings(from.file, environment);
  if (!turns) return tl::unexpected(turns.error());
  auto chats = chat::read_chat_settings(from.file, environment);
  if (!chats) return tl::unexpected(chats.error());
  if (auto sound = chat::check_agents(*chats, *turns); !sound)
    return failure(sound.error().code, (from.file.empty() ? "" : from.file + ": ") + sound.error().detail);
  auto voice = voice::read_voice_settings(from.file);
  if (!voice) return tl::unexpected(voice.error());
  return loaded{std::move(*settings), std::move(*turns), std::move(*chats), std::move(*voice)};
}

std::string printed_config(const loaded& all) {
  return config_text(all.settings) + turns::turn_settings_text(all.turns) + all.chats.text + all.voice.text;
}

} // namespace quell::controller
