// Finds places that no chat service leads to.
#include <algorithm>

#include "quelld/chat/sections.hpp"
#include "quelld/chat/settings.hpp"

namespace quell::controller::chat {
namespace {

bool is_service(const std::string& name) {
  const auto& all = sections();
  return std::any_of(all.begin(), all.end(), [&](const section& s) { return s.connector && s.name == name; });
}

} // namespace

std::vector<std::string> places_without_service(const chat_settings& chats, const turns::turn_settings& turns) {
  std::vector<std::string> notes;
  for (const auto& place : turns.chat.places) {
    const std::string service(place.scope.segments().front());
    const auto at = std::find_if(chats.connectors.begin(), chats.connectors.end(),
                                 [&](const configured_connector& c) { return c.name == service; });
    std::string why;
    if (at != chats.connectors.end())
      why = at->deaf_in ? at->deaf_in(place.scope) : std::string();
    else if (is_service(service))
      why = "there is no [" + service + "]";
    if (!why.empty()) notes.push_back("[[place]] \"" + place.scope.text() + "\": nobody is heard there: " + why);
  }
  return notes;
}

} // namespace quell::controller::chat
