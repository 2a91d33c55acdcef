// The fixed texts of the voice exchange, and the speed prefix of an answer. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::voice {

/// Goes before the next prompt, followed by an empty line.
inline constexpr std::string_view cancel_context =
    "[The user cancelled the previous exchange. Discard it entirely. Do not refer to it, quote it or follow up on it. "
    "Treat the next message as a fresh turn.]";
inline constexpr std::string_view retry_context =
    "[The user rephrased the previous statement. Answer the new one and do not comment on the change.]";

/// The answer to each 07.
inline constexpr std::string_view cancelled_notice = "cancelled";
/// Sent unasked: a cancel through another interface has ended an exchange.
inline constexpr std::string_view stopped_notice = "exchange cancelled";
/// Prefix of a transcript that is not final yet.
inline constexpr std::string_view hearing_prefix = "hearing: ";
/// The utterance was not recognised, so nothing will answer it.
inline constexpr std::string_view nothing_recognised_notice = "nothing was recognised";
inline constexpr std::string_view you_prefix = "You: ", ai_prefix = "AI: ";
/// Before a notice of a brain, so that none reads as one of quell's.
inline constexpr std::string_view brain_prefix = "brain: ";

struct paced_text {
  std::string text;
  double speed = 1.0; ///< from 0.5 to 2
};
/// Removes a leading `[SPEED:x.x]`. A value that is not a number between 0.5 and 2 is removed too and means 1.
paced_text read_speed(std::string_view answer);

/// Without emoji and other signs that a voice would spell. `text` is valid UTF-8.
std::string without_signs(std::string_view text);

/// `prefix` and as much of `text` as one frame holds, cut between two characters. `text` is valid UTF-8.
std::string prefixed(std::string_view prefix, std::string_view text);

/// `{"code":…,"detail":…}`, the payload of an 82 frame.
std::string error_json(std::string_view code, std::string_view detail);

} // namespace quell::integrations::voice
