// The limits of one answer, shared by the readers of all providers.
#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {

provider_error broken(std::string detail) {
  return {failure_of(failure_code::model_broken, std::move(detail)), false, {}};
}

std::optional<provider_error> reply_reader::count_text(std::size_t bytes) {
  if ((text_bytes_ += bytes) <= limits::text_bytes) return std::nullopt;
  return broken("the answer's text is longer than " + std::to_string(limits::text_bytes >> 20) +
                " MiB; the model does not seem to end");
}

std::optional<provider_error> reply_reader::tell(std::string piece, std::vector<model_event>& events) {
  if (piece.empty()) return std::nullopt;
  if (auto over = count_text(piece.size())) return over;
  events.emplace_back(model_events::text{std::move(piece)});
  return std::nullopt;
}

std::optional<provider_error> reply_reader::think(std::string piece, std::vector<model_event>& events) {
  if (piece.empty()) return std::nullopt;
  if (auto over = count_text(piece.size())) return over;
  events.emplace_back(model_events::thinking{std::move(piece)});
  return std::nullopt;
}

std::optional<provider_error> reply_reader::count_input(std::size_t bytes) {
  if ((input_bytes_ += bytes) <= limits::input_bytes) return std::nullopt;
  return broken("the inputs of the tool calls are longer than " + std::to_string(limits::input_bytes >> 20) + " MiB");
}

std::optional<provider_error> reply_reader::count_call() {
  if (++calls_ <= limits::calls) return std::nullopt;
  return broken("the answer has more than " + std::to_string(limits::calls) + " tool calls");
}

std::string reply_reader::fit_name(const std::string& name) {
  return name.size() <= limits::name_bytes ? name : repaired(name.substr(0, limits::name_bytes));
}

} // namespace quell::integrations
