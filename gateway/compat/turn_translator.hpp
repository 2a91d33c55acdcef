// The events of one turn, told in another protocol. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "gateway/event_hub.hpp"

namespace quell::controller::http {

/// How a turn ended.
struct turn_end {
  enum class how : std::uint8_t { completed, failed, cancelled } as = how::failed;
  std::string text;        ///< its whole text
  std::string rest;        ///< of it, what came with the events that were translated
  std::string thinking;    ///< that came with them
  std::string stop_reason; ///< of a completed one: end, length, refusal, content_filter
  std::uint64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::string code, message; ///< of one that did not complete: its error
};

/// A call of a tool by the turn.
struct shown_call {
  std::string id, name;
  nlohmann::json input;  ///< at its start
  nlohmann::json result; ///< at its end
  bool ok = true;
};

/// Subclasses write the pieces. Events of operations below the turn are skipped.
class turn_translator {
 public:
  explicit turn_translator(const operation_id& turn) : turn_(turn) {}
  virtual ~turn_translator() = default;

  /// Up to the event of this id the client missed everything: of text that was replaced meanwhile it gets only what
  /// replaced it. Before the first `frame`.
  void catch_up_to(std::uint64_t id) { missed_to_ = id; }
  /// The client's text for this event; "" = nothing.
  std::string frame(const rendered_event& event);
  const std::optional<turn_end>& end() const { return end_; }

 protected:
  virtual std::string on_text(const std::string& text) = 0;
  virtual std::string on_thinking(const std::string& text) = 0;
  virtual std::string on_call(const shown_call& call) = 0;
  virtual std::string on_result(const shown_call& call) = 0;
  virtual std::string on_approval(event_type type, const nlohmann::json& data) = 0;
  virtual std::string on_end(const turn_end& end) = 0;

 private:
  std::string frame_of(const rendered_event& event);
  std::string release();
  void rest_begins(std::uint64_t offset);

  operation_id turn_;
  std::uint64_t shown_ = 0;                ///< code points of text
  std::optional<std::uint64_t> rest_from_; ///< the first of them that came
  std::string thinking_;                   ///< all that came, up to a limit
  std::uint64_t missed_to_ = 0;            ///< 0: nothing was missed
  std::string held_;                       ///< missed text that can still be replaced, behind what was shown
  std::optional<turn_end> end_;
};

/// As a number, a string or whatever `key` is; the default if it is absent or of another type.
template <class T>
T value_at(const nlohmann::json& from, const char* key, T otherwise = {}) {
  if (!from.is_object()) return otherwise;
  const auto at = from.find(key);
  if (at == from.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return at->is_string() ? at->template get<std::string>() : otherwise;
  else if constexpr (std::is_same_v<T, bool>)
    return at->is_boolean() ? at->template get<bool>() : otherwise;
  else
    return at->is_number() ? at->template get<T>() : otherwise;
}

/// The last frame of an answer, in both protocols.
inline constexpr const char* done_frame = "data: [DONE]\n\n";
/// `data: JSON` and an empty line.
std::string data_frame(const nlohmann::ordered_json& data);

} // namespace quell::controller::http
