// Access to elements, and escaping.
#include "integrations/chat/xmpp/xml.hpp"

#include <algorithm>

#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// U+FFFE and U+FFFF are valid UTF-8 but not allowed in XML.
bool is_no_character(std::string_view text, std::size_t at) {
  return text.substr(at).starts_with("\xEF\xBF\xBE") || text.substr(at).starts_with("\xEF\xBF\xBF");
}

} // namespace

std::string_view element::attribute(std::string_view wanted) const {
  const auto it = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == wanted; });
  return it == attributes.end() ? std::string_view() : std::string_view(it->second);
}

const element* element::child(std::string_view wanted, std::string_view in) const {
  const auto it = std::find_if(children.begin(), children.end(),
                               [&](const element& e) { return e.name == wanted && (in.empty() || e.space == in); });
  return it == children.end() ? nullptr : &*it;
}

std::string escaped(std::string_view raw) {
  const auto text = repaired(raw);
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '&':
      safe += "&amp;";
      break;
    case '\'':
      safe += "&apos;";
      break;
    case '"':
      safe += "&quot;";
      break;
    default:
      if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r') {
        safe += replacement;
      } else if (is_no_character(text, i)) {
        safe += replacement;
        i += 2;
      } else {
        safe += c;
      }
    }
  }
  return safe;
}

std::string with(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "='" + escaped(value) + "'";
}

} // namespace quell::integrations::chat::xmpp
