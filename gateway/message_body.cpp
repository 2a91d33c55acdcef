// Checks messages field by field, as in SURFACE 6.
#include "gateway/message_body.hpp"

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t max_text_bytes = 64 * 1024;
constexpr std::size_t max_client_id = 128;
constexpr std::uint64_t max_coalesce_ms = 10'000;
constexpr std::uint64_t longest_always_ms = 2'592'000'000; // 30 days

constexpr std::size_t most_listed_name_bytes = 128;

/// A list of at most `most` names; a bad one is refused with its index.
std::vector<std::string> read_listed_names(body_reader& fields, const char* name, std::size_t most) {
  std::vector<std::string> names;
  const auto* list = fields.take(name);
  if (!list) return names;
  if (!list->is_array() || list->size() > most) {
    fields.complain(name, "must be a list of at most " + std::to_string(most) + " names of 1 to 128 bytes");
    return names;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto& one = (*list)[i];
    const auto* text = one.is_string() ? &one.get_ref<const std::string&>() : nullptr;
    if (text && !text->empty() && text->size() <= most_listed_name_bytes)
      names.push_back(*text);
    else
      fields.complain(std::string(name) + "/" + std::to_string(i), "must be a string of 1 to 128 bytes");
  }
  return names;
}

void read_manner_of_speech(body_reader& fields, turns::message_order& order) {
  if (const auto modality = fields.text("modality", 1, 16)) {
    if (*modality == "voice")
      order.modality = turns::modality::voice;
    else if (*modality != "text")
      fields.complain("modality", "must be text or voice");
  }
  if (const auto* confidence = fields.take("confidence")) {
    if (confidence->is_number() && confidence->get<double>() >= 0 && confidence->get<double>() <= 1)
      order.confidence = confidence->get<double>();
    else
      fields.complain("confidence", "must be a number from 0 to 1");
  }
  order.is_final = fields.flag("final").value_or(true);
  order.addressed = fields.flag("addressed");
  if (const auto humans = fields.number("humans_present", 0, 1'000'000))
    order.humans_present = static_cast<std::uint32_t>(*humans);
  if (fields.has("bot_names")) order.bot_names = read_listed_names(fields, "bot_names", 32);
}

/// Which files these are is checked later, against those that were uploaded.
void read_files(body_reader& fields, turns::message_order& order, std::vector<field_error>& errors) {
  const auto* list = fields.take("attachments");
  if (!list) return;
  if (!list->is_array() || list->size() > most_attachments)
    return fields.complain("attachments", "must be a list of at most " + std::to_string(most_attachments) +
                                              " files, each as {\"blob\", \"name\"}");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto place = fields.pointer("attachments/" + std::to_string(i));
    if (!(*list)[i].is_object()) {
      errors.push_back({error_code::invalid_field, place, "must be an object with blob and, if wanted, name"});
      continue;
    }
    body_reader one((*list)[i], place, errors);
    attachment file;
    if (const auto id = one.id<operation_id>("blob"))
      file.blob = id->text();
    else if (!one.has("blob"))
      one.complain("blob", "is missing: the id that POST /v1/blobs gave");
    file.name = one.text("name", 1, most_attachment_name).value_or("");
    one.finish();
    order.files.push_back(std::move(file));
  }
}

/// Which of these its agent has is checked later.
void read_choice(body_reader& fields, turns::message_order& order) {
  constexpr std::size_t most_tools = 128;
  order.model = fields.text("model", 1, 64);
  order.parent = fields.id<operation_id>("parent");
  if (fields.has("tools")) order.tools = read_listed_names(fields, "tools", most_tools);
}

/// Limits of the message's turn; the agent's own hold, too.
void read_budget(body_reader& fields, turns::message_order& order, std::vector<field_error>& errors) {
  constexpr double most_cost = 1e9;
  constexpr std::uint64_t most_tokens = 1'000'000'000'000, most_calls = 10'000;
  const auto* budget = fields.object("budget");
  if (!budget) return;
  body_reader inner(*budget, fields.pointer("budget"), errors);
  costs::tree_limits limits;
  if (const auto* cost = inner.take("max_cost")) {
    if (cost->is_number() && cost->get<double>() > 0 && cost->get<double>() <= most_cost)
      limits.cost_nanos = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(cost->get<double>() * 1e9 + 0.5));
    else
      inner.complain("max_cost", "must be an amount above 0, at most 1000000000");
  }
  if (const auto tokens = inner.number("max_tokens", 1, most_tokens)) limits.tokens = *tokens;
  if (const auto calls = inner.number("model_calls", 1, most_calls)) limits.model_calls = *calls;
  inner.finish();
  order.budget = limits;
}

} // namespace

tl::expected<message_request, problem> read_message(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  message_request request;
  auto& order = request.order;
  if (const auto scope = fields.scope("scope"))
    order.scope = *scope;
  else if (!fields.has("scope"))
    fields.complain("scope", "is missing: say which conversation this belongs to");
  if (const auto typed = fields.text("text", 0, max_text_bytes)) {
    order.text = *typed;
    if (order.text.size() > max_text_bytes) fields.complain("text", "is larger than 64 KiB");
  } else if (!fields.has("text")) {
    fields.complain("text", "is missing");
  }
  if (const auto author = fields.person("author"))
    order.author = *author;
  else if (!fields.has("author"))
    fields.complain("author", "is missing: who says it, as {\"id\", \"name\"}");
  order.client_id = fields.text("id", 1, max_client_id).value_or("");
  if (order.client_id.starts_with(turns::reserved_client_ids))
    fields.complain("id", "must not begin with quell: (quell's own messages)");
  order.agent = fields.text("agent", 1, 64);
  read_choice(fields, order);
  read_budget(fields, order, errors);
  order.labels = fields.labels("labels");
  order.timeout = fields.duration("timeout_ms");
  if (order.timeout && order.timeout->count() == 0) fields.complain("timeout_ms", "must be above 0; leave it out");
  if (const auto manner = fields.text("during_turn", 1, 16)) {
    order.during = turns::during_turn_named(*manner);
    if (!order.during) fields.complain("during_turn", "must be queue, steer, supersede or answer");
  }
  read_files(fields, order, errors);
  read_manner_of_speech(fields, order);
  if (const auto what = fields.text("on_disconnect", 1, 16)) {
    if (*what != "cancel" && *what != "continue") fields.complain("on_disconnect", "must be cancel or continue");
    request.cancel_on_disconnect = *what == "cancel";
  }
  request.merge_text = fields.duration("coalesce_ms", max_coalesce_ms).value_or(milliseconds{0});
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return request;
}

namespace {

/// The input of a call goes to its tool as it is; everywhere else null is as if absent.
tl::expected<nlohmann::json, problem> parse_decision(std::string_view text) {
  auto body = parse_body(text, null_members::kept);
  if (!body) return body;
  nlohmann::json input;
  if (const auto at = body->find("input"); at != body->end()) {
    input = std::move(*at);
    body->erase(at);
  }
  drop_nulls(*body);
  if (!input.is_null()) (*body)["input"] = std::move(input);
  return body;
}

/// The input with which the call is approved, as JSON text; "" = with its own.
std::string read_input_of_call(body_reader& fields, approval_outcome how) {
  const auto* input = how == approval_outcome::approved ? fields.object("input") : nullptr;
  if (!input) return {};
  if (fields.has("question")) fields.complain("input", "is for a call that waits to begin, not for an answer");
  if (fields.has("always"))
    fields.complain("always", "cannot stand beside input: what is allowed for good is the call as its agent makes it");
  return input->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

tl::expected<read_word, problem> read_decision(std::string_view text, approval_outcome how) {
  auto body = parse_decision(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  read_word found;
  decision& d = found.word;
  d.outcome = how;
  d.reason = fields.text("reason", 0, max_reason).value_or("");
  if (const auto by = fields.person("by")) d.by = *by;
  d.input = read_input_of_call(fields, how);
  const bool is_approval = how == approval_outcome::approved;
  const auto question = fields.id<operation_id>("question");
  const auto* values = is_approval ? fields.object("values") : nullptr;
  const bool is_dismissed = !is_approval && fields.flag("dismiss").value_or(false);
  if (!fields.has("question") && (values || is_dismissed))
    fields.complain("question", "is missing: say which question this answers (`tool.question.id` of the operation)");
  if (const auto* always = is_approval ? fields.object("always") : nullptr) {
    if (question) fields.complain("always", "is for a call that waits to begin, not for an answer");
    body_reader inner(*always, "/always", errors);
    const auto before = errors.size();
    found.always = inner.duration("for_ms", longest_always_ms);
    const bool says_nothing = !found.always || found.always->count() == 0;
    if (says_nothing && errors.size() == before) inner.complain("for_ms", "must say for how long, up to 30 days");
    inner.finish();
  }
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  if (question) {
    const std::string text_of_values =
        values ? values->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : std::string();
    found.answer = human_answer{*question, is_approval, is_dismissed, text_of_values, d.reason, d.by, {}};
  }
  return found;
}

} // namespace quell::controller::http
