// Blocks of text, calls of tools and the end, each as a part. Tools run in quell, so their calls are marked as executed
// by the provider: the page shows them and is not asked for results.
#include "gateway/compat/ui_parts.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::ordered_json;

std::string finish_reason(const std::string& stop_reason) {
  if (stop_reason == "length") return "length";
  return stop_reason == "content_filter" || stop_reason == "refusal" ? "content-filter" : "stop";
}

/// Older readers refuse parts with members that they do not know: the reason is metadata.
std::string finished(const std::string& reason) {
  return data_frame({{"type", "finish-step"}}) +
         data_frame({{"type", "finish"}, {"messageMetadata", {{"finishReason", reason}}}}) + done_frame;
}

} // namespace

std::string ui_parts::first(const std::string& id) {
  return data_frame({{"type", "start"}, {"messageId", id}}) + data_frame({{"type", "start-step"}});
}

std::string ui_parts::only(const std::string& text) {
  return data_frame({{"type", "text-start"}, {"id", "1"}}) +
         data_frame({{"type", "text-delta"}, {"id", "1"}, {"delta", text}}) +
         data_frame({{"type", "text-end"}, {"id", "1"}}) + finished("stop");
}

std::string ui_parts::close() {
  const auto kind = std::exchange(open_, block::none);
  if (kind == block::none) return {};
  return data_frame({{"type", kind == block::text ? "text-end" : "reasoning-end"}, {"id", std::to_string(blocks_)}});
}

std::string ui_parts::piece(block kind, std::string text) {
  const std::string name = kind == block::text ? "text" : "reasoning";
  std::string frames;
  if (open_ != kind) {
    text.erase(0, text.find_first_not_of('\n')); // a block of its own needs no empty line before it
    if (text.empty()) return {};
    frames = close();
    open_ = kind;
    frames += data_frame({{"type", name + "-start"}, {"id", std::to_string(++blocks_)}});
  }
  return frames + data_frame({{"type", name + "-delta"}, {"id", std::to_string(blocks_)}, {"delta", text}});
}

std::string ui_parts::on_call(const shown_call& call) {
  return close() + data_frame({{"type", "tool-input-available"},
                               {"toolCallId", call.id},
                               {"toolName", call.name},
                               {"input", call.input},
                               {"providerExecuted", true},
                               {"dynamic", true}});
}

std::string ui_parts::on_result(const shown_call& call) {
  if (call.ok)
    return data_frame({{"type", "tool-output-available"},
                       {"toolCallId", call.id},
                       {"output", call.result},
                       {"providerExecuted", true},
                       {"dynamic", true}});
  const auto text = call.result.is_string() ? call.result.get<std::string>() : call.result.dump();
  return data_frame({{"type", "tool-output-error"},
                     {"toolCallId", call.id},
                     {"errorText", text},
                     {"providerExecuted", true},
                     {"dynamic", true}});
}

std::string ui_parts::on_approval(event_type type, const nlohmann::json& data) {
  return data_frame({{"type", type == event_type::approval_required ? "data-approval" : "data-approval-resolved"},
                     {"id", value_at<std::string>(data, "operation")},
                     {"data", data}});
}

std::string ui_parts::on_end(const turn_end& end) {
  if (end.as == turn_end::how::completed) return close() + finished(finish_reason(end.stop_reason));
  if (end.as == turn_end::how::failed)
    return close() + data_frame({{"type", "error"}, {"errorText", end.code + ": " + end.message}}) + done_frame;
  return close() + data_frame({{"type", "abort"}}) + done_frame;
}

} // namespace quell::controller::http
