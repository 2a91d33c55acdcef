// Texts of results, and the cutting of a result that is too large.
#include "actors/turns/result_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

std::string cancelled_with(const char* message) {
  return json_text({{"ok", false},
                    {"cancelled", true},
                    {"error", {{"code", name_of(failure_code::cancelled_by_user)}, {"message", message}}}});
}

/// `60`, `1.5`
std::string seconds_text(std::chrono::milliseconds limit) {
  const auto whole = limit.count() / 1000, rest = limit.count() % 1000;
  if (rest == 0) return std::to_string(whole);
  auto part = std::to_string(1000 + rest).substr(1);
  while (part.ends_with('0')) part.pop_back();
  return std::to_string(whole) + "." + part;
}

std::string hint_for(const std::string& tool) {
  if (tool == "exec")
    return "Run it in smaller steps, or give the call more time with `timeout_ms`. A command that does not end by "
           "itself "
           "has to be started in a way that ends it.";
  if (tool == "web_fetch") return "The server may be slow or not reachable: try once more, or another address.";
  if (tool == "web_search") return "The search service may be slow: try once more, or go on without.";
  if (tool == "spawn_agent") return "Give the sub-agent a smaller task, or split it among several.";
  return "Ask for less at once, try another way, or give the call more time with `_meta.timeout` (milliseconds) in its "
         "input.";
}

/// Replaces every byte that is not part of a character.
std::string repaired(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = std::min<std::size_t>(4, text.size() - at);
    if (static_cast<unsigned char>(text[at]) < 0x80) length = 1;
    while (length > 0 && !(is_utf8(text.substr(at, length)) &&
                           std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                       text.begin() + static_cast<std::ptrdiff_t>(at + length), continues_character)))
      --length;
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else {
      out.append(text.substr(at, length));
      at += length;
    }
  }
  return out;
}

/// At most `most` bytes from the beginning, whole characters.
std::string_view head_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  auto end = most;
  for (int i = 0; i < 3 && end > 0 && continues_character(text[end]); ++i) --end;
  return text.substr(0, end);
}

std::string_view tail_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  auto begin = text.size() - most;
  for (int i = 0; i < 3 && begin < text.size() && continues_character(text[begin]); ++i) ++begin;
  return text.substr(begin);
}

} // namespace

std::string json_result_texts::cancelled() const { return cancelled_with("Tool call cancelled by user."); }

std::string json_result_texts::not_started() const {
  return cancelled_with("Tool call was not started: cancelled by user.");
}

std::string json_result_texts::timed_out(const std::string& tool, std::chrono::milliseconds limit) const {
  return failed(failure_code::timeout,
                "[TIMEOUT] The tool '" + tool + "' did not finish within " + seconds_text(limit) +
                    " seconds and was stopped; what it did until then may have had an effect. " + hint_for(tool));
}

std::string undecided_reason(std::chrono::milliseconds wait) {
  return "nobody decided within " + std::to_string(wait.count()) + " ms";
}

std::string json_result_texts::denied(const std::string& reason) const {
  return failed(failure_code::denied, reason.empty() ? "A person denied this call. Do not try it again unless asked to."
                                                     : "A person denied this call: " + reason);
}

std::string json_result_texts::undecided(const std::string& reason) const {
  return failed(failure_code::denied, "This call did not run: " + reason + ". Do not try it again unless asked to.");
}

std::string json_result_texts::failed(const std::string& code, const std::string& message) const {
  return json_text({{"ok", false}, {"error", {{"code", code}, {"message", message}}}});
}

std::string json_result_texts::shortened(const std::string& result, bool ok) const {
  constexpr std::size_t most = 2 << 10;
  return bounded_result(result, most, ok);
}

std::string json_result_texts::noted(const std::string& result, const std::string& note) const {
  auto value = json::parse(result, nullptr, false);
  if (!value.is_object()) value = {{"result", value.is_discarded() ? json(repaired(result)) : std::move(value)}};
  value["note"] = "[quell: " + note + "]";
  return json_text(value);
}

std::string json_result_texts::interrupted() const {
  return failed(failure_code::interrupted,
                "The controller was restarted while this call ran; whether it had an effect is not known. "
                "Look before doing it again.");
}

records::operation_error error_of_result(const std::string& result) {
  constexpr std::size_t most_code = 64, most_message = 500;
  auto error = records::own_error(failure_code::error, "the tool failed; see its result");
  if (result.size() > most_result_bytes) return error;
  const auto value = json::parse(result, nullptr, false);
  const auto text_at = [](const json& in, const char* key) {
    const auto at = in.find(key);
    return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (!value.is_object() || !value.contains("error") || !value["error"].is_object()) return error;
  const auto code = text_at(value["error"], "code");
  const bool is_plain = !code.empty() && code.size() <= most_code && std::all_of(code.begin(), code.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  if (!is_plain) return error;
  error.code = code;
  if (const auto message = text_at(value["error"], "message"); !message.empty())
    error.message = utf8_prefix(message, most_message);
  return error;
}

std::string ok_result(const std::string& text) {
  const auto value = json::accept(text) ? text : json_text(repaired(text));
  return "{\"ok\":true,\"result\":" + value + "}";
}

std::string bounded_result(std::string text, std::size_t most, bool ok) {
  if (text.size() <= most && json::accept(text)) return text;
  most = std::max<std::size_t>(most, 1024);
  if (auto as_string = text.size() <= most ? json_text(repaired(text)) : std::string();
      !as_string.empty() && as_string.size() <= most)
    return as_string;
  // Escaping can turn one byte into six, so the kept part shrinks until it fits.
  for (std::size_t keep = most - 256;; keep /= 2) {
    bool cut = false;
    auto out = json_text({{"ok", ok},
                          {"truncated", true},
                          {"result_bytes", text.size()},
                          {"message", "the result was too large; this is its beginning and its end"},
                          {"result", bounded_text(text, keep, cut)}});
    if (out.size() <= most) return out;
  }
}

std::string bounded_text(std::string_view text, std::size_t most, bool& was_cut) {
  if (text.size() <= most) {
    auto whole = is_utf8(text) ? std::string(text) : repaired(text);
    if (whole.size() <= most) return whole;
  }
  was_cut = true;
  constexpr std::size_t note_bytes = 64;
  const auto room = most > note_bytes ? most - note_bytes : 0;
  // Repairing can turn one byte into three, so the repaired text is cut once more.
  const auto head = repaired(head_of(text, room - room / 3));
  const auto tail = repaired(tail_of(text, room / 3));
  const auto kept_head = head_of(head, room - room / 3);
  const auto kept_tail = tail_of(tail, room / 3);
  const auto missing = text.size() - std::min(text.size(), kept_head.size() + kept_tail.size());
  return std::string(kept_head) + "\n[... " + std::to_string(missing) + " bytes left out ...]\n" +
         std::string(kept_tail);
}

} // namespace quell::controller::turns
