// Finds the ids in a message and writes the object with its keys in reading order.
#include "integrations/host/log_line.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>

#include <nlohmann/json.hpp>

#include "protocol/printable.hpp"

namespace quell::host {

namespace {

constexpr std::array ids{"request", "operation", "cancel", "turn"};
constexpr std::size_t id_length = 36, longest_name = 64;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_id(std::string_view text) {
  if (text.size() != id_length) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

/// The first token that follows `word` and one space and that `taken` accepts (returns its length; 0 = not accepted).
template <class Taken>
std::optional<std::string> behind(std::string_view text, std::string_view word, Taken taken) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    auto rest = text.substr(at + word.size());
    if (rest.empty() || rest.front() != ' ') continue;
    rest.remove_prefix(1);
    if (const auto length = taken(rest); length > 0) return std::string(rest.substr(0, length));
  }
  return std::nullopt;
}

std::size_t length_of_name(std::string_view rest) {
  std::size_t length = 0;
  bool has_digit = false;
  while (length < rest.size() && (is_word(rest[length]) || rest[length] == '-' || rest[length] == '.')) {
    has_digit = has_digit || (rest[length] >= '0' && rest[length] <= '9');
    ++length;
  }
  while (length > 0 && rest[length - 1] == '.') --length; // the end of the sentence
  // `worker is gone`: a plain word cannot be told apart from a name, so a name must contain a digit.
  return has_digit && length <= longest_name ? length : 0;
}

} // namespace

std::string log_time(wall_time at) {
  const auto since = std::chrono::floor<milliseconds>(at.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(since / 1000 - (since % 1000 < 0 ? 1 : 0));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>((since % 1000 + 1000) % 1000));
  return text.data();
}

std::string text_log_line(wall_time at, std::string_view level, std::string_view message) {
  std::string line = log_time(at) + ' ' + std::string(level) + ' ';
  while (true) {
    const auto end = message.find('\n');
    line += printable(message.substr(0, end));
    if (end == std::string_view::npos) return line;
    line += "\n  ";
    message.remove_prefix(end + 1);
  }
}

std::string json_log_line(wall_time at, std::string_view level, std::string_view message) {
  nlohmann::ordered_json line = {{"time", log_time(at)}, {"level", level}, {"message", message}};
  for (const auto* word : ids)
    if (auto id = behind(message, word, [](auto rest) { return is_id(rest.substr(0, id_length)) ? id_length : 0; }))
      line[word] = *id;
  if (auto name = behind(message, "worker", length_of_name)) line["worker"] = *name;
  constexpr bool only_ascii = true; // marks of direction and C1 controls reach no terminal
  return line.dump(-1, ' ', only_ascii, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace quell::host
