// Chunks, the whole document and errors as OpenAI's clients read them.
#include "gateway/compat/completion_chunks.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::ordered_json;

ordered_json usage_of(const turn_end& end) {
  return {{"prompt_tokens", end.input_tokens},
          {"completion_tokens", end.output_tokens},
          {"total_tokens", end.input_tokens + end.output_tokens},
          {"prompt_tokens_details", {{"cached_tokens", end.cached_tokens}}}};
}

} // namespace

std::string finish_reason_of(const std::string& stop_reason) {
  if (stop_reason == "length") return "length";
  if (stop_reason == "content_filter" || stop_reason == "refusal") return "content_filter";
  return "stop";
}

ordered_json error_of_turn(const turn_end& end) {
  const bool was_cancelled = end.as == turn_end::how::cancelled;
  return {{"message", end.message},
          {"type", was_cancelled ? "cancelled" : "turn_failed"},
          {"param", nullptr},
          {"code", end.code}};
}

ordered_json completion_chunks::chunk(ordered_json delta, ordered_json finish) const {
  ordered_json choice = {{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}};
  ordered_json all = {{"id", head_.id},
                      {"object", "chat.completion.chunk"},
                      {"created", head_.created},
                      {"model", head_.model},
                      {"choices", ordered_json::array({std::move(choice)})}};
  if (wants_usage_) all["usage"] = nullptr;
  return all;
}

std::string completion_chunks::first() const {
  return data_frame(chunk({{"role", "assistant"}, {"content", ""}}, nullptr));
}

std::string completion_chunks::only(const std::string& text) const {
  return first() + data_frame(chunk({{"content", text}}, nullptr)) + data_frame(chunk(ordered_json::object(), "stop")) +
         done_frame;
}

std::string completion_chunks::on_text(const std::string& text) {
  return data_frame(chunk({{"content", text}}, nullptr));
}

std::string completion_chunks::on_thinking(const std::string& text) {
  return data_frame(chunk({{"reasoning_content", text}}, nullptr));
}

std::string completion_chunks::on_end(const turn_end& end) {
  if (end.as != turn_end::how::completed) return data_frame({{"error", error_of_turn(end)}}) + done_frame;
  auto frames = data_frame(chunk(ordered_json::object(), finish_reason_of(end.stop_reason)));
  if (wants_usage_) {
    auto last = chunk(ordered_json::object(), nullptr);
    last["choices"] = ordered_json::array();
    last["usage"] = usage_of(end);
    frames += data_frame(last);
  }
  return frames + done_frame;
}

std::string whole_completion(const completion_head& head, const turn_end& end) {
  ordered_json message = {{"role", "assistant"}, {"content", end.text}, {"refusal", nullptr}};
  if (!end.thinking.empty()) message["reasoning_content"] = end.thinking;
  ordered_json choice = {{"index", 0},
                         {"message", std::move(message)},
                         {"logprobs", nullptr},
                         {"finish_reason", finish_reason_of(end.stop_reason)}};
  const ordered_json all = {{"id", head.id},
                            {"object", "chat.completion"},
                            {"created", head.created},
                            {"model", head.model},
                            {"choices", ordered_json::array({std::move(choice)})},
                            {"usage", usage_of(end)}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace quell::controller::http
