// Reads the messages of a stateless client and writes the earlier ones as text.
#include "gateway/compat/prior_messages.hpp"

#include <algorithm>
#include <array>

#include "protocol/attachment.hpp"
#include "protocol/blanks.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t most_wrong_messages = 64;
constexpr std::array roles{"system", "developer", "user", "assistant", "tool", "function"};

bool is_instruction(const prior_message& m) { return m.role == "system" || m.role == "developer"; }

std::string role_of(const nlohmann::json& message) {
  const auto at = message.find("role");
  return at != message.end() && at->is_string() ? at->get<std::string>() : std::string();
}

} // namespace

std::string context_text(const std::vector<prior_message>& before) {
  std::string instructions, earlier;
  for (const auto& m : before) {
    if (m.text.empty()) continue;
    if (is_instruction(m))
      instructions += m.text + "\n";
    else
      earlier += "<message role=\"" + m.role + "\">\n" + m.text + "\n</message>\n";
  }
  std::string text;
  if (!instructions.empty()) text += "<client_instructions>\n" + instructions + "</client_instructions>\n";
  if (!earlier.empty()) text += "<earlier_messages>\n" + earlier + "</earlier_messages>\n";
  if (!earlier.empty()) text += "The newest message of this conversation follows.";
  return text;
}

void add_image(const nlohmann::json* url, const std::string& pointer, prior_message& into,
               std::vector<field_error>& errors) {
  if (errors.size() >= most_wrong_messages) return;
  const auto wrong = [&](std::string why) { errors.push_back({error_code::invalid_field, pointer, std::move(why)}); };
  if (into.role != "user") return wrong("only messages of a user may hold images");
  if (!url || !url->is_string()) return wrong("must be a data: URL");
  auto image = read_data_url(url->get_ref<const std::string&>());
  if (!image) return wrong(std::move(image.error()));
  image->pointer = pointer;
  into.images.push_back(std::move(*image));
}

sent_conversation read_conversation(const nlohmann::json* messages, message_content read_content,
                                    std::vector<field_error>& errors) {
  sent_conversation found;
  if (!messages || !messages->is_array() || messages->empty()) {
    errors.push_back({error_code::invalid_field, "/messages", "must be a list with at least one message"});
    return found;
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const auto& one = (*messages)[i];
    const auto pointer = "/messages/" + std::to_string(i);
    const auto role = one.is_object() ? role_of(one) : std::string();
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) {
      errors.push_back(
          {error_code::invalid_field, pointer + "/role", "must be system, developer, user, assistant or tool"});
    } else {
      found.before.push_back({.role = role});
      read_content(one, pointer, found.before.back(), errors);
      total += found.before.back().text.size();
    }
    if (errors.size() >= most_wrong_messages) return found;
  }
  if (!errors.empty()) return found;
  const auto last = "/messages/" + std::to_string(messages->size() - 1);
  if (found.before.back().role != "user") {
    errors.push_back(
        {error_code::invalid_field, last + "/role", "the last message must be the user's: it is what is answered"});
    return found;
  }
  found.text = std::move(found.before.back().text);
  found.images = std::move(found.before.back().images);
  found.before.pop_back();
  if (found.images.size() > most_attachments)
    errors.push_back({error_code::invalid_field, found.images[most_attachments].pointer,
                      "a message has at most " + std::to_string(most_attachments) + " images"});
  if (found.images.empty() && is_blank(found.text)) errors.push_back({error_code::invalid_field, last, "has no text"});
  if (found.text.size() > max_message_bytes)
    errors.push_back({error_code::invalid_field, last, "is larger than 64 KiB"});
  if (total - found.text.size() > max_prior_bytes)
    errors.push_back({error_code::too_large, "/messages",
                      "the earlier messages have more than 256 KiB: send fewer, or let quell keep the conversation "
                      "(name its scope)"});
  return found;
}

} // namespace quell::controller::http
