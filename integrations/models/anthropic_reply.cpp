// The stream of Anthropic's Messages API: message_start, blocks of text and tool_use, message_delta, message_stop.
#include <map>

#include "integrations/models/json.hpp"
#include "integrations/models/provider_errors.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

using namespace model_events;

class anthropic_stream final : public reply_reader {
 public:
  explicit anthropic_stream(call_ids ids) : ids_(std::move(ids)) {}

  std::optional<provider_error> take(std::string_view, std::string_view data,
                                     std::vector<model_event>& events) override {
    const auto event = parse_json(data);
    if (!event || !event->is_object()) return broken("an event is not a JSON object: " + excerpt(data, 120));
    const std::string type = text_member(*event, "type");
    if (type == "message_start") count(member(member(*event, "message"), "usage"));
    if (type == "content_block_start") return begin(*event, events);
    if (type == "content_block_delta") return go_on(*event, events);
    if (type == "content_block_stop") end_block(count_member(*event, "index"), events);
    if (type == "message_delta") {
      count(member(*event, "usage"));
      if (const std::string why = text_member(member(*event, "delta"), "stop_reason"); !why.empty()) reason_ = why;
    }
    if (type == "message_stop") return finish(events);
    if (type == "error") return of_stream_error(data);
    return std::nullopt; // ping, and events that Anthropic adds later
  }

  std::optional<provider_error> end(std::vector<model_event>&) override {
    return broken("the stream ended without message_stop");
  }

 private:
  struct open_call {
    tool_call what;
    bool written = false; ///< deltas came; they replace the input from the block's start event
  };

  std::optional<provider_error> begin(const json& event, std::vector<model_event>& events) {
    const json& block = member(event, "content_block");
    const std::string type = text_member(block, "type");
    if (type == "text") return tell(text_member(block, "text"), events);
    if (type == "thinking" || type == "redacted_thinking") {
      if (auto over = count_text(dump_json(block).size())) return over;
      thoughts_.insert_or_assign(count_member(event, "index"), block);
      if (const std::string begun = text_member(block, "thinking"); !begun.empty())
        events.emplace_back(thinking{begun});
      return std::nullopt;
    }
    if (type != "tool_use") return std::nullopt;
    if (auto over = count_call()) return over;
    open_call call;
    call.what.call = ids_.unique(text_member(block, "id"));
    call.what.name = fit_name(text_member(block, "name"));
    if (const json& input = member(block, "input"); input.is_object() && !input.empty()) {
      call.what.input = dump_json(input);
      if (auto over = count_input(call.what.input.size())) return over;
    }
    events.emplace_back(call_begun{call.what.call, call.what.name});
    open_.insert_or_assign(count_member(event, "index"), std::move(call));
    return std::nullopt;
  }

  std::optional<provider_error> go_on(const json& event, std::vector<model_event>& events) {
    const json& delta = member(event, "delta");
    const std::string type = text_member(delta, "type");
    if (type == "text_delta") return tell(text_member(delta, "text"), events);
    if (type == "thinking_delta")
      return add_to_thought(*thought_at(event), "thinking", text_member(delta, "thinking"), events);
    if (type == "signature_delta")
      return add_to_thought(*thought_at(event), "signature", text_member(delta, "signature"), events);
    if (type != "input_json_delta") return std::nullopt;
    const auto found = open_.find(count_member(event, "index"));
    if (found == open_.end()) return std::nullopt; // the block is not ours, e.g. a server-side tool
    const std::string piece = text_member(delta, "partial_json");
    if (piece.empty()) return std::nullopt;
    if (auto over = count_input(piece.size())) return over;
    if (!found->second.written) found->second.what.input.clear();
    found->second.written = true;
    found->second.what.input += piece;
    return std::nullopt;
  }

  /// The thinking block of this delta; a delta without one goes into a block that is dropped.
  json* thought_at(const json& event) {
    const auto found = thoughts_.find(count_member(event, "index"));
    return found == thoughts_.end() ? &dropped_ : &found->second;
  }

  std::optional<provider_error> add_to_thought(json& block, const char* name, const std::string& piece,
                                               std::vector<model_event>& events) {
    if (piece.empty()) return std::nullopt;
    if (auto over = count_text(piece.size())) return over;
    if (&block != &dropped_) block[name] = text_member(block, name) + piece;
    if (std::string_view(name) == "thinking") events.emplace_back(thinking{piece});
    return std::nullopt;
  }

  void end_block(std::uint64_t index, std::vector<model_event>& events) {
    if (const auto thought = thoughts_.find(index); thought != thoughts_.end()) {
      events.emplace_back(model_events::thought{{{}, dump_json(thought->second)}});
      thoughts_.erase(thought);
      return;
    }
    const auto found = open_.find(index);
    if (found == open_.end()) return;
    if (blank(found->second.what.input)) found->second.what.input = "{}";
    events.emplace_back(call{std::move(found->second.what)});
    open_.erase(found);
  }

  std::optional<provider_error> finish(std::vector<model_event>& events) {
    if (reason_.empty()) return broken("the stream ended without a stop_reason");
    if (!open_.empty()) return broken("the stream ended inside a tool call");
    finished_ = true;
    stop why = stop::end; // end_turn, stop_sequence, pause_turn, and reasons that Anthropic adds later
    if (reason_ == "tool_use") why = stop::calls;
    if (reason_ == "max_tokens" || reason_ == "model_context_window_exceeded") why = stop::length;
    if (reason_ == "refusal") why = stop::refusal;
    events.emplace_back(model_events::finished{why, usage_});
    return std::nullopt;
  }

  // Each figure is cumulative and can come in either event; a missing figure keeps its value.
  void count(const json& usage) {
    if (!usage.is_object()) return;
    const auto keep = [&](const char* name, std::uint64_t& where) {
      if (member(usage, name).is_number_unsigned()) where = count_member(usage, name);
    };
    keep("input_tokens", fresh_);
    keep("cache_creation_input_tokens", usage_.cache_written_tokens);
    keep("cache_read_input_tokens", usage_.cached_input_tokens);
    keep("output_tokens", usage_.output_tokens);
    usage_.input_tokens = sum_of_use(fresh_, sum_of_use(usage_.cache_written_tokens, usage_.cached_input_tokens));
  }

  call_ids ids_;
  std::map<std::uint64_t, open_call> open_; ///< by block index
  std::string reason_;
  std::map<std::uint64_t, json> thoughts_; ///< by block index
  json dropped_;
  std::uint64_t fresh_ = 0; ///< input tokens that the cache has no part in
};

} // namespace

std::unique_ptr<reply_reader> anthropic_reader(call_ids ids) {
  return std::make_unique<anthropic_stream>(std::move(ids));
}

} // namespace quell::integrations
