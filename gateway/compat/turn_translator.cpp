// Picks what matters from the events of a turn.
#include "gateway/compat/turn_translator.hpp"

#include <algorithm>

#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::json;

json data_of(const rendered_event& event) {
  auto envelope = json::parse(*event.json, nullptr, false);
  if (!envelope.is_object()) return json::object();
  const auto at = envelope.find("data");
  return at == envelope.end() || !at->is_object() ? json::object() : std::move(*at);
}

/// `operation`: as the API shows it.
turn_end end_of(event_type type, const json& operation) {
  turn_end end;
  const auto turn = operation.value("turn", json::object());
  end.text = value_at<std::string>(turn, "text");
  end.stop_reason = value_at<std::string>(turn, "stop_reason", "end");
  const auto usage = turn.is_object() ? turn.value("usage", json::object()) : json::object();
  end.input_tokens = value_at<std::uint64_t>(usage, "input_tokens");
  end.output_tokens = value_at<std::uint64_t>(usage, "output_tokens");
  end.cached_tokens = value_at<std::uint64_t>(usage, "cached_input_tokens");
  if (type == event_type::operation_completed) {
    end.as = turn_end::how::completed;
    return end;
  }
  const auto error = operation.value("error", json());
  if (type == event_type::operation_failed) {
    end.code = value_at<std::string>(error, "code", "error");
    end.message = value_at<std::string>(error, "message", "the turn failed");
    return end;
  }
  end.as = turn_end::how::cancelled;
  end.code = "cancelled";
  const auto stop = operation.value("stop", json());
  const auto reason = value_at<std::string>(stop, "reason");
  end.message = "This turn was cancelled" + (reason.empty() ? "" : ": " + reason) + ". Do not repeat it by yourself.";
  return end;
}

constexpr std::size_t most_thinking_bytes = 1 << 20;

} // namespace

std::string turn_translator::release() {
  if (held_.empty()) return {};
  shown_ += code_points(held_);
  return on_text(std::exchange(held_, {}));
}

/// A replacement can begin before what came first.
void turn_translator::rest_begins(std::uint64_t offset) { rest_from_ = std::min(rest_from_.value_or(offset), offset); }

std::string turn_translator::frame(const rendered_event& event) {
  const auto type = event.record.type;
  const bool is_own = event.record.operation == turn_;
  const bool is_missed = event.record.id > 0 && event.record.id <= missed_to_;
  if (is_own && is_missed && type == event_type::text_delta) {
    held_ += value_at<std::string>(data_of(event), "text");
    return {};
  }
  if (is_own && !held_.empty() && type == event_type::turn_resumed) {
    const auto offset = value_at<std::uint64_t>(data_of(event), "offset", shown_);
    held_.resize(bytes_of_characters(held_, offset > shown_ ? offset - shown_ : 0));
    if (offset >= shown_) return {};
  }
  const bool shows =
      is_own && (type == event_type::tool_start || type == event_type::tool_result || ends_operation(type));
  auto before = !is_missed || shows ? release() : std::string();
  return before + frame_of(event);
}

std::string turn_translator::frame_of(const rendered_event& event) {
  const auto type = event.record.type;
  if (type == event_type::approval_required || type == event_type::approval_resolved)
    return on_approval(type, data_of(event));
  if (event.record.operation != turn_) return {};
  if (type == event_type::text_delta) {
    const auto data = data_of(event);
    auto text = value_at<std::string>(data, "text");
    rest_begins(value_at<std::uint64_t>(data, "offset", shown_));
    shown_ += code_points(text);
    return text.empty() ? std::string() : on_text(text);
  }
  if (type == event_type::thinking_delta) {
    const auto text = value_at<std::string>(data_of(event), "text");
    if (thinking_.size() + text.size() <= most_thinking_bytes) thinking_ += text;
    return text.empty() ? std::string() : on_thinking(text);
  }
  if (type == event_type::turn_resumed) {
    // Shown text cannot be taken back: the replacement begins a paragraph of its own.
    const auto offset = value_at<std::uint64_t>(data_of(event), "offset", shown_);
    rest_begins(offset);
    return offset < std::exchange(shown_, offset) ? on_text("\n\n") : std::string();
  }
  if (type == event_type::tool_start || type == event_type::tool_result) {
    auto data = data_of(event);
    shown_call call;
    call.id = value_at<std::string>(data, "call");
    call.name = value_at<std::string>(data, "name");
    call.ok = value_at<bool>(data, "ok", true);
    call.input = data.value("input", json());
    call.result = data.value("result", json());
    return type == event_type::tool_start ? on_call(call) : on_result(call);
  }
  if (!ends_operation(type)) return {};
  end_ = end_of(type, data_of(event));
  if (rest_from_) end_->rest = without_characters(end_->text, *rest_from_);
  end_->thinking = std::move(thinking_);
  return on_end(*end_);
}

std::string data_frame(const nlohmann::ordered_json& data) {
  return "data: " + data.dump(-1, ' ', false, json::error_handler_t::replace) + "\n\n";
}

} // namespace quell::controller::http
