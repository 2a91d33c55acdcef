// The stream of OpenAI's Chat Completions, and the variants of the many compatible servers.
#include "integrations/models/json.hpp"
#include "integrations/models/provider_errors.hpp"
#include "integrations/models/text.hpp"
#include "integrations/models/translator.hpp"

namespace quell::integrations {
namespace {

using namespace model_events;

class openai_stream final : public reply_reader {
 public:
  explicit openai_stream(call_ids ids) : ids_(std::move(ids)) {}

  std::optional<provider_error> take(std::string_view, std::string_view data,
                                     std::vector<model_event>& events) override {
    if (data == "[DONE]") return end(events);
    const auto chunk = parse_json(data);
    if (!chunk || !chunk->is_object()) return broken("an event is not a JSON object: " + excerpt(data, 120));
    if (!member(*chunk, "error").is_null()) return of_stream_error(data);
    count(member(*chunk, "usage"));
    const json& choices = member(*chunk, "choices");
    if (!choices.is_array() || choices.empty()) return std::nullopt; // the chunk with the usage
    const json& choice = choices.front();
    // Some servers send a whole answer in one chunk, under the name that it has outside of streams.
    const json& delta = member(choice, member(choice, "delta").is_object() ? "delta" : "message");
    if (auto over = take_content(member(delta, "content"), events)) return over;
    if (auto over = take_refusal(text_member(delta, "refusal"), events)) return over;
    if (auto over = take_thinking(delta, events)) return over;
    if (const json& calls = member(delta, "tool_calls"); calls.is_array())
      for (const json& piece : calls)
        if (auto over = take_call(piece, events)) return over;
    if (const std::string why = text_member(choice, "finish_reason"); !why.empty() && reason_.empty()) {
      reason_ = why;
      settled_ = true;
      for (started& one : calls_) {
        if (blank(one.what.input)) one.what.input = "{}";
        events.emplace_back(call{one.what});
      }
    }
    return std::nullopt;
  }

  std::optional<provider_error> end(std::vector<model_event>& events) override {
    if (reason_.empty()) return broken("the stream ended without a finish_reason");
    finished_ = true;
    stop why = stop::end;
    if (!calls_.empty()) why = stop::calls; // some servers give "stop" after calls
    if (reason_ == "length") why = stop::length;
    if (reason_ == "content_filter") why = stop::content_filter;
    if (refused_) why = stop::refusal;
    events.emplace_back(model_events::finished{why, usage_});
    return std::nullopt;
  }

 private:
  struct started {
    std::int64_t index = -1; ///< the server's index; -1: it gives none
    std::string their_id;
    tool_call what;
  };

  // The first chunk of a call has id and name, later chunks only more arguments at the same index. Some servers leave
  // out the index or the id, repeat id and name every time, or send whole calls at once, all at index 0.
  started* begun(std::int64_t index, const std::string& id, const std::string& name, const std::string& arguments) {
    started* last = nullptr;
    for (started& one : calls_) {
      if (!id.empty() && one.their_id == id && one.index == index && !whole_again(one, arguments)) return &one;
      if (one.index == index) last = &one;
    }
    if (!last || (!id.empty() && !last->their_id.empty() && id != last->their_id)) return nullptr;
    if (!name.empty() && (index < 0 || whole_again(*last, arguments))) return nullptr;
    return last;
  }

  static bool whole_again(const started& one, const std::string& arguments) {
    const auto whole = [](const std::string& text) {
      const auto value = text.empty() || text.front() != '{' ? std::nullopt : parse_json(text);
      return value && value->is_object();
    };
    return whole(arguments) && whole(one.what.input);
  }

  std::optional<provider_error> take_call(const json& piece, std::vector<model_event>& events) {
    const json& function = member(piece, "function");
    const json& given = member(function, "arguments");
    const std::string arguments = given.is_object() ? dump_json(given) : text_member(function, "arguments");
    const std::string id = text_member(piece, "id"), name = fit_name(text_member(function, "name"));
    const std::int64_t index =
        member(piece, "index").is_number_unsigned() ? static_cast<std::int64_t>(count_member(piece, "index")) : -1;
    if (auto over = count_input(arguments.size())) return over;
    if (!reason_.empty()) return std::nullopt; // too late: the calls were already reported
    started* one = begun(index, id, name, arguments);
    if (!one) {
      if (name.empty() && id.empty() && arguments.empty()) return std::nullopt;
      if (auto over = count_call()) return over;
      one = &calls_.emplace_back(started{index, id, {ids_.unique(id), name, {}}});
      events.emplace_back(call_begun{one->what.call, one->what.name});
    } else if (one->what.name.empty()) {
      one->what.name = name;
    }
    one->what.input += arguments;
    return std::nullopt;
  }

  /// A text, or a list of parts: texts, refusals, and thinking, whose text can be a list itself.
  std::optional<provider_error> take_content(const json& content, std::vector<model_event>& events) {
    if (content.is_string()) return tell(content.get_ref<const std::string&>(), events);
    if (!content.is_array()) return std::nullopt;
    for (const json& part : content) {
      const std::string type = text_member(part, "type");
      const bool is_thought = type == "thinking" || type == "reasoning";
      auto over = is_thought          ? think(text_of_thought(part, type.c_str()), events)
                  : type == "refusal" ? take_refusal(text_member(part, "refusal"), events)
                  : part.is_string()  ? tell(part.get_ref<const std::string&>(), events)
                                      : tell(text_member(part, "text"), events);
      if (over) return over;
    }
    return std::nullopt;
  }

  static std::string text_of_thought(const json& part, const char* type) {
    std::string text = text_member(part, "text") + text_member(part, type);
    if (const json& pieces = member(part, type); pieces.is_array())
      for (const json& piece : pieces) text += text_member(piece, "text");
    return text;
  }

  std::optional<provider_error> take_refusal(std::string words, std::vector<model_event>& events) {
    refused_ = refused_ || !words.empty();
    return tell(std::move(words), events);
  }

  /// Not OpenAI's own: compatible servers send thinking under one of these names, some under both.
  std::optional<provider_error> take_thinking(const json& delta, std::vector<model_event>& events) {
    std::string piece = text_member(delta, "reasoning_content");
    if (piece.empty()) piece = text_member(delta, "reasoning");
    return think(std::move(piece), events);
  }

  void count(const json& usage) {
    if (!usage.is_object()) return;
    usage_.input_tokens = count_member(usage, "prompt_tokens");
    usage_.output_tokens = count_member(usage, "completion_tokens");
    usage_.cached_input_tokens = count_member(member(usage, "prompt_tokens_details"), "cached_tokens");
  }

  call_ids ids_;
  std::vector<started> calls_;
  std::string reason_;
  bool refused_ = false;
};

} // namespace

std::unique_ptr<reply_reader> openai_reader(call_ids ids) { return std::make_unique<openai_stream>(std::move(ids)); }

} // namespace quell::integrations
