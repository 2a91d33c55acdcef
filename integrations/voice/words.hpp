// The fixed texts of the voice exchange, and how an answer says its speed. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quell::integrations::voice {

/// Before the next prompt, with an empty line behind it.
inline constexpr std::string_view cancel_context =
    "[The user cancelled the previous exchange. Discard it entirely. Do not refer to it, quote it or follow up on it. "
    "Treat the next message as a fresh turn.]";
inline constexpr std::string_view retry_context =
    "[The user rephrased the previous statement. Answer the new one and do not comment on the change.]";

/// Answers each 07.
inline constexpr std::string_view cancelled_notice = "cancelled";
/// Unasked: an exchange ended by a cancel that came through another door.
inline constexpr std::string_view stopped_notice = "exchange cancelled";
/// Of a transcript that is not final yet, before its words.
inline constexpr std::string_view hearing_prefix = "hearing: ";
/// What was said is not known: nothing will answer it.
inline constexpr std::string_view nothing_heard_notice = "nothing was recognised";
inline constexpr std::string_view you_prefix = "You: ", ai_prefix = "AI: ";

struct paced_text {
  std::string text;
  double speed = 1.0; ///< 0.5 to 2
};
/// Takes a leading `[SPEED:x.x]` off; one that is no number between 0.5 and 2 is taken off and means 1.
paced_text read_speed(std::string_view answer);

/// `{"code":…,"detail":…}` of a frame 82.
std::string error_json(std::string_view code, std::string_view detail);

} // namespace quell::integrations::voice
