// One section of the configuration that connects a chat service: its reader, and the connector that it makes.
//
// Each service has a reader in `<service>_settings.cpp` (declared in sections.hpp), and a row in the table of
// sections.cpp. For .cpp files that read TOML.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"
#include "quelld/settings/toml_lines.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::chat {

/// Objects that every connector gets when it starts.
struct connector_tools {
  integrations::chat::host& at;
  /// True if the text is a cancel by the configured words; `bot_names` in addition to the configured ones. Any thread.
  std::function<bool(std::string_view text, const std::vector<std::string>& bot_names)> is_cancel;
  /// Writes a sentence to the log. Any thread.
  std::function<void(const std::string&)> log;
  /// The memory of the connector with this name.
  std::function<integrations::chat::memory(const std::string& name)> memory_of;
};

/// A section that was read; its connector is started later.
struct configured_connector {
  std::string name; ///< the section's name, which is the first segment of its scopes
  std::string text; ///< the keys as TOML lines, without the `[section]` and without secrets
  std::function<result<std::unique_ptr<integrations::chat::connector>>(const connector_tools&, const std::string& name)>
      start;
  /// Why the service hears nobody in this place; "" = it can. Empty: it is not known.
  std::function<std::string(const scope_path& place)> deaf_in{};
};

/// A table of the file, with its secrets. Report errors with `keys.wrong`; the caller of the reader calls `keys.end()`.
struct section_reader {
  turns::toml_table& keys;
  const std::map<std::string, std::string>& environment;
  turns::toml_lines& lines; ///< the section as --print-config shows it

  /// The secret `key`, from `<key>_env` (a variable of quelld) or `<key>_file` (a file's first 16 KiB, trimmed); writes
  /// the one that is used to `lines`. "" if neither is set, which is an error if it is required. The value itself is
  /// never written anywhere.
  enum class need : std::uint8_t { optional, required };
  std::string secret(const char* key, need how);
  /// A base URL, http or https, without a slash at its end.
  std::string url(const char* key, const std::string& otherwise);
  /// A list of such URLs; none if the key is there and empty.
  std::vector<std::string> origins(const char* key, std::vector<std::string> otherwise);
  /// Secrets by name: `key` is a table of names and of the variables that hold their values.
  std::map<std::string, std::string> secrets(const char* key, std::size_t most);
  // An absent key leaves the value unchanged.
  void text(const char* key, std::string& value);
  void texts(const char* key, std::vector<std::string>& value, std::size_t most, std::size_t most_bytes);
  void flag(const char* key, bool& value);
  void time(const char* key, milliseconds& value, milliseconds least = milliseconds{0});
  /// One of the words, by its place among them; "" in the file or absent: `otherwise`.
  std::size_t choice(const char* key, const std::vector<std::string>& words, std::size_t otherwise);
  /// The changes of sent requests that a service reports.
  enum class reported : std::uint8_t { edits, edits_and_deletions };
  /// `on_edit`, and `on_delete` if the service reports deletions.
  integrations::chat::change_rules changes(reported what);
  template <class Number>
  void number(const char* key, Number& value, std::uint32_t least, std::uint32_t most) {
    value = static_cast<Number>(keys.number(key, static_cast<std::uint32_t>(value), least, most));
    lines.plain(key, std::to_string(value));
  }
};

/// The rate of messages to a line-based service, and the time to wait for it.
template <class Settings>
void read_pace_and_timeouts(section_reader& from, Settings& s) {
  from.time("pace", s.pace, milliseconds{0});
  from.number("burst", s.burst, 1, 100);
  from.time("silence", s.silence, milliseconds{1000});
  from.time("rejoin", s.rejoin, milliseconds{100});
  from.time("retry_first", s.retry_first, milliseconds{10});
  from.time("retry_most", s.retry_most, milliseconds{10});
}

/// The connector of these settings; `start` makes it once there is a host.
template <class Settings, class Start>
configured_connector connected_by(Settings settings, Start start) {
  return {{}, {}, [settings = std::move(settings), start](const connector_tools& tools, const std::string& name) {
            auto own = settings;
            own.is_cancel = tools.is_cancel;
            own.log = tools.log;
            if constexpr (requires { own.memory; }) own.memory = tools.memory_of(name);
            if constexpr (requires { own.positions; }) own.positions = tools.memory_of(name + "-heard");
            return start(std::move(own), tools.at);
          }};
}

} // namespace quell::controller::chat
