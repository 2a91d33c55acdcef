// GET /v1/messages: the conversation of a scope, page by page.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/json_or_text.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

constexpr auto role_names = std::to_array<const char*>({"user", "assistant", "tool"});

/// The messages that a summary, or a clear (without text), stands for.
void write_summary(json_writer& to, const records::message_record& m) {
  const auto all = nlohmann::json::parse(m.decision, nullptr, false);
  const auto facts = all.is_object() ? all.value("summary", nlohmann::json::object()) : nlohmann::json::object();
  to.open_object();
  to.field("up_to_seq", facts.value("up_to", std::uint64_t{0}))
      .field("messages", facts.value("messages", std::uint64_t{0}));
  to.field("unread", facts.value("unread", std::uint64_t{0})).field("clear", m.text.empty());
  to.close_object();
}

/// An edited message that nobody was asked again: its turn groups rows of the store, and is not an operation.
bool awaits_its_turn(const records::message_record& m) {
  return m.role == records::message_role::user && m.decision.find("\"edits\"") != std::string::npos &&
         turns::origin_in(m.decision).has_value();
}

void write_message(json_writer& to, const records::kept_message& kept) {
  const auto& m = kept.message;
  to.open_object();
  const bool is_summary = m.role == records::message_role::assistant &&
                          (m.client_id == turns::summary_client_id || m.client_id == turns::aside_summary_client_id);
  to.field("message", m.id).field("seq", m.seq);
  to.field("role", is_summary ? "summary" : role_names.at(static_cast<std::size_t>(m.role)));
  to.field("at", m.at).field("turn", awaits_its_turn(m) ? std::nullopt : m.turn);
  to.key("author");
  if (m.role == records::message_role::user)
    to.put(m.author);
  else
    to.put(nullptr);
  to.field("text", m.text);
  to.key("attachments").open_array();
  if (m.role == records::message_role::user)
    for (const auto& file : turns::files_in(m.decision)) {
      to.open_object();
      to.field("blob", file.blob).field("name", file.name).field("type", file.type).field("bytes", file.bytes);
      to.close_object();
    }
  to.close_array();
  to.key("tool_calls").open_array();
  if (m.role == records::message_role::assistant)
    for (const auto& c : kept.calls) {
      to.open_object();
      to.field("call", c.call).field("name", c.name).field("operation", c.operation);
      to.key("input");
      put_json_or_text(to, c.input);
      if (!c.changed.empty()) to.raw_field("changed", c.changed);
      to.close_object();
    }
  to.close_array();
  to.key("results").open_array();
  if (m.role == records::message_role::tool)
    for (const auto& c : kept.calls) {
      if (!c.outcome) continue;
      to.open_object();
      to.field("call", c.call)
          .field("name", c.name)
          .field("ok", c.outcome->ok)
          .field("cancelled", c.outcome->cancelled);
      to.key("result");
      put_json_or_text(to, c.outcome->result);
      to.close_object();
    }
  to.close_array();
  to.key("usage");
  if (m.role == records::message_role::assistant) {
    to.open_object();
    to.field("input_tokens", m.usage.input_tokens).field("output_tokens", m.usage.output_tokens);
    to.field("cached_input_tokens", m.usage.cached_input_tokens);
    to.close_object();
  } else {
    to.put(nullptr);
  }
  if (m.role == records::message_role::user && m.decision.starts_with(R"({"steered_from":)"))
    to.field("steered_from", nlohmann::json::parse(m.decision, nullptr, false).value("steered_from", ""));
  to.field("interrupted", m.interrupted).field("discarded", m.discarded);
  to.key("summary");
  if (is_summary)
    write_summary(to, m);
  else
    to.put(nullptr);
  to.close_object();
}

} // namespace

awaitable<response> list_messages(exchange& x) {
  need(x, right::read);
  if (x.who.task)
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token sees its own operation and what lies below it; no conversations"};
  query_reader query(x.req);
  const auto scopes = query.scopes("scope");
  const auto given =
      std::count_if(x.req.query.begin(), x.req.query.end(), [](const auto& q) { return q.first == "scope"; });
  if (given != 1) query.complain("scope", "must be given once: the conversation to read");
  records::message_filter filter;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto after = query.number("after", 0, most);
  const auto cursor = query.number("cursor", 0, most);
  filter.after_seq = cursor.value_or(after.value_or(0));
  const auto order = query.one("order");
  if (order && *order != "asc" && *order != "desc") query.complain("order", "must be asc or desc");
  filter.ascending = !order || *order == "asc";
  filter.aside_of = query.id<operation_id>("sub_agent");
  filter.limit = query.limit();
  query.finish();
  filter.scope = scopes.front();
  need_scope(x, filter.scope);
  auto job = [filter](store_reader& q) { return q.messages(filter); };
  const auto part = co_await x.list<records::kept_message>(job);
  const auto& kept = part.rows;
  json_writer to;
  to.open_object().key("messages").open_array();
  for (const auto& m : kept) write_message(to, m);
  to.close_array();
  const bool more = kept.size() >= filter.limit;
  to.field("next_cursor", more ? std::optional(std::to_string(kept.back().message.seq)) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
