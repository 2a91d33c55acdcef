// A turn in the parts of the AI SDK's UI message stream, version 1.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/compat/turn_translator.hpp"

namespace quell::controller::http {

class ui_parts final : public turn_translator {
 public:
  using turn_translator::turn_translator;
  /// The parts that begin a message with this id.
  static std::string first(const std::string& id);
  /// The rest of an answer with this text, for a message that was not a turn.
  static std::string only(const std::string& text);

 private:
  enum class block : std::uint8_t { none, text, reasoning };
  std::string on_text(const std::string& text) override { return piece(block::text, text); }
  std::string on_thinking(const std::string& text) override { return piece(block::reasoning, text); }
  std::string on_call(const shown_call& call) override;
  std::string on_result(const shown_call& call) override;
  std::string on_approval(event_type type, const nlohmann::json& data) override;
  std::string on_end(const turn_end& end) override;
  std::string piece(block kind, std::string text);
  /// Ends the open block, if there is one.
  std::string close();

  block open_ = block::none;
  std::uint64_t blocks_ = 0;
};

} // namespace quell::controller::http
