// The stream of OpenAI's Responses API: items of text, reasoning and function calls, and one last event with the usage.
#include <map>
#include <utility>

#include "integrations/models/json.hpp"
#include "integrations/models/provider_errors.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

using namespace model_events;

class responses_stream final : public reply_reader {
 public:
  explicit responses_stream(call_ids ids) : ids_(std::move(ids)) {}

  std::optional<provider_error> take(std::string_view, std::string_view data,
                                     std::vector<model_event>& events) override {
    if (data == "[DONE]") return end(events); // some compatible servers
    const auto event = parse_json(data);
    if (!event || !event->is_object()) return broken("an event is not a JSON object: " + excerpt(data, 120));
    const std::string type = text_member(*event, "type");
    if (type == "response.output_text.delta") {
      has_pieces_ = true;
      return tell(text_member(*event, "delta"), events);
    }
    if (type == "response.refusal.delta") {
      has_pieces_ = true;
      refused_ = true;
      return tell(text_member(*event, "delta"), events);
    }
    if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta")
      return think(text_member(*event, "delta"), events);
    if (type == "response.reasoning_summary_part.added" && count_member(*event, "summary_index") > 0)
      return think("\n\n", events);
    if (type == "response.output_item.added") return begin(*event, events);
    if (type == "response.function_call_arguments.delta") return go_on(*event);
    if (type == "response.output_item.done") return end_item(*event, events);
    if (type == "response.completed" || type == "response.incomplete")
      return finish(member(*event, "response"), events);
    if (type == "response.failed") return of_stream_error(dump_json(member(*event, "response")));
    if (type == "error") return of_stream_error(data);
    return std::nullopt; // events that repeat what came, and those that OpenAI adds later
  }

  std::optional<provider_error> end(std::vector<model_event>&) override {
    return broken("the stream ended without response.completed");
  }

 private:
  std::optional<provider_error> begin(const json& event, std::vector<model_event>& events) {
    const json& item = member(event, "item");
    if (text_member(item, "type") != "function_call") return std::nullopt;
    if (auto over = count_call()) return over;
    tool_call one{ids_.unique(text_member(item, "call_id")), fit_name(text_member(item, "name")), {}};
    events.emplace_back(call_begun{one.call, one.name});
    open_.insert_or_assign(count_member(event, "output_index"), std::move(one));
    return std::nullopt;
  }

  std::optional<provider_error> go_on(const json& event) {
    const auto found = open_.find(count_member(event, "output_index"));
    if (found == open_.end()) return std::nullopt;
    const std::string piece = text_member(event, "delta");
    if (auto over = count_input(piece.size())) return over;
    found->second.input += piece;
    return std::nullopt;
  }

  std::optional<provider_error> end_item(const json& event, std::vector<model_event>& events) {
    const json& item = member(event, "item");
    const std::string type = text_member(item, "type");
    if (type == "reasoning" && !text_member(item, "encrypted_content").empty()) {
      json kept{{"type", "reasoning"},
                {"id", text_member(item, "id")},
                {"summary", member(item, "summary").is_array() ? member(item, "summary") : json::array()},
                {"encrypted_content", text_member(item, "encrypted_content")}};
      std::string block = dump_json(kept);
      if (auto over = count_text(block.size())) return over;
      events.emplace_back(thought{{{}, std::move(block)}});
    }
    // A server that sends messages as a whole.
    if (type == "message" && !std::exchange(has_pieces_, false) && member(item, "content").is_array())
      for (const json& part : member(item, "content")) {
        refused_ = refused_ || text_member(part, "type") == "refusal";
        if (auto over = tell(text_member(part, "text") + text_member(part, "refusal"), events)) return over;
      }
    if (type != "function_call") return std::nullopt;
    if (!open_.contains(count_member(event, "output_index")))
      if (auto over = begin(event, events)) return over; // a server that does not announce its items
    const auto found = open_.find(count_member(event, "output_index"));
    if (const std::string whole = text_member(item, "arguments"); !whole.empty()) {
      if (found->second.input.empty())
        if (auto over = count_input(whole.size())) return over;
      found->second.input = whole;
    }
    if (blank(found->second.input)) found->second.input = "{}";
    any_call_ = true;
    events.emplace_back(call{std::move(found->second)});
    open_.erase(found);
    return std::nullopt;
  }

  std::optional<provider_error> finish(const json& response, std::vector<model_event>& events) {
    const json& usage = member(response, "usage");
    usage_.input_tokens = count_member(usage, "input_tokens");
    usage_.output_tokens = count_member(usage, "output_tokens");
    usage_.cached_input_tokens = count_member(member(usage, "input_tokens_details"), "cached_tokens");
    const std::string why = text_member(member(response, "incomplete_details"), "reason");
    if (!open_.empty() && why.empty()) return broken("the stream ended inside a tool call");
    finished_ = true;
    stop how = any_call_ ? stop::calls : stop::end;
    if (why == "content_filter")
      how = stop::content_filter;
    else if (!why.empty())
      how = stop::length;
    if (refused_) how = stop::refusal;
    events.emplace_back(model_events::finished{how, usage_});
    return std::nullopt;
  }

  call_ids ids_;
  std::map<std::uint64_t, tool_call> open_; ///< by output index
  bool has_pieces_ = false;                 ///< pieces of the message that is open
  bool refused_ = false, any_call_ = false;
};

} // namespace

std::unique_ptr<reply_reader> responses_reader(call_ids ids) {
  return std::make_unique<responses_stream>(std::move(ids));
}

} // namespace quell::integrations
