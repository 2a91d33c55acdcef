// Reads the sections of chat services from the configuration file one by one.
#include "quelld/chat/settings.hpp"

#include <algorithm>

#include "quelld/chat/sections.hpp"
#include "quelld/settings/toml_file.hpp"

namespace quell::controller::chat {
namespace {

constexpr std::size_t most_entries = 64; ///< for [[webhooks]]

void read_table(const toml::table& table, const section& s, const std::string& head,
                const std::map<std::string, std::string>& environment, turns::file_trouble& trouble,
                chat_settings& to) {
  turns::toml_table keys(table, head, trouble);
  turns::toml_lines lines;
  section_reader from{keys, environment, lines};
  if (s.connector) {
    auto made = s.connector(from);
    made.name = s.name;
    made.text = lines.all();
    to.connectors.push_back(std::move(made));
    to.text += "\n[" + s.name + "]\n" + lines.all();
  } else {
    s.entry(from, to);
    to.text += "\n[[" + s.name + "]]\n" + lines.all();
  }
  keys.end();
}

void read_section(const toml::node& node, const section& s, const std::map<std::string, std::string>& environment,
                  turns::file_trouble& trouble, chat_settings& to) {
  const auto line = node.source().begin.line;
  if (s.connector) {
    if (const auto* table = node.as_table()) return read_table(*table, s, "[" + s.name + "]", environment, trouble, to);
    return trouble.say(line, s.name + " must be one table: write [" + s.name + "]");
  }
  const auto* list = node.as_array();
  if (!list || !std::all_of(list->begin(), list->end(), [](const toml::node& n) { return n.is_table(); }))
    return trouble.say(line, s.name + " must be a list of tables: write [[" + s.name + "]] with two brackets");
  if (list->size() > most_entries)
    return trouble.say(line, "there are " + std::to_string(list->size()) + " [[" + s.name + "]]; at most " +
                                 std::to_string(most_entries) + " are taken");
  for (std::size_t i = 0; i < list->size(); ++i)
    read_table(*(*list)[i].as_table(), s, "[[" + s.name + "]] number " + std::to_string(i + 1), environment, trouble,
               to);
}

} // namespace

const std::vector<std::string>& chat_sections() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& s : sections()) names.push_back(s.name);
    return names;
  }();
  return all;
}

namespace {

/// So that --print-config names every section, including those that are not configured.
std::string not_configured(const section& s) {
  return "\n# " + (s.connector ? "[" + s.name + "]" : "[[" + s.name + "]]") +
         " is not configured; docs/chat says how\n";
}

} // namespace

result<chat_settings> read_chat_settings(const std::string& file,
                                         const std::map<std::string, std::string>& environment) {
  chat_settings settings;
  if (file.empty()) {
    for (const auto& s : sections()) settings.text += not_configured(s);
    return settings;
  }
  const auto root = parse_toml_file(file);
  if (!root) return tl::unexpected(root.error());
  turns::file_trouble trouble(file);
  for (const auto& s : sections())
    if (const auto* node = root->get(s.name))
      read_section(*node, s, environment, trouble, settings);
    else
      settings.text += not_configured(s);
  if (trouble.first()) return tl::unexpected(*trouble.first());
  return settings;
}

} // namespace quell::controller::chat
