// Speeds and error texts.
#include "integrations/voice/words.hpp"

#include <charconv>

#include <nlohmann/json.hpp>

namespace quell::integrations::voice {

paced_text read_speed(std::string_view answer) {
  constexpr std::string_view head = "[SPEED:";
  constexpr double slowest = 0.5, fastest = 2.0;
  paced_text read{std::string(answer), 1.0};
  const auto end = answer.find(']');
  if (!answer.starts_with(head) || end == std::string_view::npos) return read;
  const auto number = answer.substr(head.size(), end - head.size());
  double speed = 0;
  const auto [at, bad] = std::from_chars(number.data(), number.data() + number.size(), speed);
  if (bad == std::errc{} && at == number.data() + number.size() && speed >= slowest && speed <= fastest)
    read.speed = speed;
  auto rest = answer.substr(end + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  read.text = std::string(rest);
  return read;
}

std::string error_json(std::string_view code, std::string_view detail) {
  const nlohmann::json error_fields = {{"code", code}, {"detail", detail}};
  return error_fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::integrations::voice
