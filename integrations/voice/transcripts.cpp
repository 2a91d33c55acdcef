// Splits lines and reads each one.
#include "integrations/voice/transcripts.hpp"

#include <nlohmann/json.hpp>

namespace quell::integrations::voice {
namespace {

std::optional<recognised> recognised_in(const std::string& line) {
  const auto line_json = nlohmann::json::parse(line, nullptr, false);
  if (!line_json.is_object()) return std::nullopt;
  recognised r;
  if (const auto text = line_json.find("text"); text != line_json.end() && text->is_string())
    r.text = text->get<std::string>();
  if (const auto last = line_json.find("final"); last != line_json.end() && last->is_boolean())
    r.is_final = last->get<bool>();
  if (const auto sure = line_json.find("confidence"); sure != line_json.end() && sure->is_number())
    r.confidence = sure->get<double>();
  if (const auto from = line_json.find("from"); from != line_json.end() && from->is_number_unsigned())
    r.from = from->get<std::uint64_t>();
  return r;
}

} // namespace

std::vector<recognised> transcript_reader::read(std::string_view bytes) {
  std::vector<recognised> all;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    is_too_long_ = is_too_long_ || line_.size() + part.size() > most_text_bytes;
    if (!is_too_long_) line_ += part;
    if (end == std::string_view::npos) break;
    if (auto r = is_too_long_ ? std::nullopt : recognised_in(line_)) all.push_back(std::move(*r));
    line_.clear();
    is_too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
  if (is_too_long_) line_.clear();
  return all;
}

} // namespace quell::integrations::voice
