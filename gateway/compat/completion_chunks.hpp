// A turn in the shapes of OpenAI's chat completions.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/compat/turn_translator.hpp"

namespace quell::controller::http {

/// The fields that every chunk of an answer repeats.
struct completion_head {
  std::string id;           ///< `chatcmpl-` and the id of the turn
  std::int64_t created = 0; ///< seconds since 1970
  std::string model;        ///< the agent's name
};

class completion_chunks final : public turn_translator {
 public:
  completion_chunks(const operation_id& turn, completion_head head, bool wants_usage)
      : turn_translator(turn), head_(std::move(head)), wants_usage_(wants_usage) {}
  /// The first chunk, which names the role.
  std::string first() const;
  /// A whole answer with this text, for a message that was not a turn.
  std::string only(const std::string& text) const;

 private:
  std::string on_text(const std::string& text) override;
  std::string on_thinking(const std::string& text) override;
  std::string on_call(const shown_call&) override { return {}; }
  std::string on_result(const shown_call&) override { return {}; }
  std::string on_approval(event_type, const nlohmann::json&) override { return {}; }
  std::string on_end(const turn_end& end) override;
  nlohmann::ordered_json chunk(nlohmann::ordered_json delta, nlohmann::ordered_json finish) const;

  completion_head head_;
  bool wants_usage_;
};

/// `stop`, `length` or `content_filter`.
std::string finish_reason_of(const std::string& stop_reason);
/// The document of an answer that is not streamed.
std::string whole_completion(const completion_head& head, const turn_end& end);
/// The error of a turn that did not complete: `message`, `type`, `param`, `code`.
nlohmann::ordered_json error_of_turn(const turn_end& end);

} // namespace quell::controller::http
