// XML as this connector reads and writes it: elements with attributes, children and text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quell::integrations::chat::xmpp {

struct element {
  std::string space, name; ///< namespace and local name
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<element> children;
  std::string text; ///< the element's direct text

  std::string_view attribute(std::string_view name) const;
  /// The first child of this name; `space` "" = any namespace. Null: none.
  const element* child(std::string_view name, std::string_view space = {}) const;
};

/// Escapes text, or attribute values in either kind of quotes. Bytes that are invalid in XML become U+FFFD.
std::string escaped(std::string_view text);

/// ` name='value'`.
std::string with(std::string_view name, std::string_view value);

} // namespace quell::integrations::chat::xmpp
