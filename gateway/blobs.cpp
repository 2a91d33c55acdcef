// POST /v1/blobs: an image or a document, which messages of its scope, or of one below it, can name. GET
// /v1/blobs/{id}.
#include <algorithm>

#include "controller/blob_store.hpp"
#include "controller/json/json_writer.hpp"
#include "gateway/blob_use.hpp"
#include "gateway/body_places.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "protocol/attachment.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

problem no_such_blob(const std::string& id) {
  return {.code = error_code::blob_not_found,
          .detail = "there is no file " + id + ", it is no longer kept, or the token does not see it"};
}

blob_store& blobs_of(const exchange& x) {
  if (!x.gw.options.blobs) throw problem{.code = error_code::not_found, .detail = "this quelld takes no files"};
  return *x.gw.options.blobs;
}

new_blob read_upload(exchange& x) {
  new_blob what;
  query_reader query(x.req);
  const auto scope = query.scope("scope");
  if (scope)
    what.scope = *scope;
  else if (x.who.prefix && !query.one("scope"))
    what.scope = *x.who.prefix;
  else if (!query.one("scope"))
    query.complain("scope", "is missing: say whose messages may name the file");
  what.name = query.one("name").value_or("");
  const bool is_line = std::none_of(what.name.begin(), what.name.end(),
                                    [](unsigned char c) { return c < ' ' || c == 0x7f || c == '/' || c == '\\'; });
  if (!is_line || code_points(what.name) > most_attachment_name)
    query.complain("name", "must be a file's name of at most 128 characters, without a path");
  query.finish();
  what.type = plain_media_type(x.req.content_type);
  what.holder = x.token ? "token:" + x.token->text() : ""; // the bootstrap token belongs to the owner of the machine
  what.bytes = std::move(x.req.body);
  return what;
}

std::string blob_json(const blob_facts& f) {
  json_writer to;
  to.open_object();
  to.field("id", f.id).field("scope", f.scope.text()).field("name", f.name).field("type", f.type);
  to.field("bytes", f.bytes).field("sha256", f.sha256).field("at", f.at);
  to.field("kept_until", f.kept_until == wall_time::max() ? std::nullopt : std::optional(f.kept_until));
  to.close_object();
  return to.take();
}

/// A large file is in memory until its client has read it.
std::shared_ptr<void> place_for_reading(const exchange& x, const blob_facts& f) {
  constexpr std::uint64_t large = 256 * 1024;
  static body_places places(32, 8); // as many as a browser reads at once
  if (f.bytes <= large) return nullptr;
  auto place = places.take(x.share_key());
  if (!place)
    throw problem{.code = error_code::rate_limited,
                  .detail = "too many large files are being read; come again in a second",
                  .headers = {{"Retry-After", "1"}}};
  return place;
}

bool sees_blob(const exchange& x, const blob_facts& f) {
  return !x.who.task && (!x.who.prefix || f.scope.is_at_or_below(*x.who.prefix));
}

} // namespace

awaitable<response> post_blob(exchange& x) {
  auto& blobs = blobs_of(x);
  need(x, right::converse);
  auto what = std::make_shared<new_blob>(read_upload(x));
  need_scope(x, what->scope);
  need_unreserved(what->scope);
  x.bring(what->scope, x.who.owner.id);
  const auto put = co_await x.gw.answer<result<put_blob>>(
      [&blobs, what](auto reply) { blobs.put(std::move(*what), std::move(reply)); });
  if (!put) throw from_fault(put.error());
  co_return json_answer(blob_json(put->facts), put->is_new ? 201 : 200);
}

awaitable<response> get_blob(exchange& x) {
  auto& blobs = blobs_of(x);
  need(x, right::read);
  const auto id = path_id<blob_id>(x);
  query_reader(x.req).finish();
  const auto facts = blobs.find(id);
  if (!facts || !sees_blob(x, *facts)) throw no_such_blob(id.text());
  auto place = place_for_reading(x, *facts);
  auto bytes = co_await x.gw.read<result<std::string>>(
      [&blobs, id](store_reader&) -> result<result<std::string>> { return blobs.read(id); });
  if (!bytes) throw no_such_blob(id.text());
  response answer;
  answer.content_type = facts->type;
  answer.headers = {{"Quell-Sha256", facts->sha256},
                    {"Content-Disposition", "attachment"}, // what somebody uploaded is never a page of this origin
                    {"X-Content-Type-Options", "nosniff"},
                    {"Cache-Control", "private, no-store"}};
  if (!place) {
    answer.body = std::move(*bytes);
    co_return answer;
  }
  answer.stream = [place = std::move(place), whole = std::make_shared<std::string>(std::move(*bytes))](
                      thread_context&, stream_writer& to) -> awaitable<> {
    co_await to.write(std::move(*whole)); // in one write, whose time is limited
  };
  co_return answer;
}

void use_blobs(exchange& x, turns::message_order& order) {
  if (order.files.empty()) return;
  auto& blobs = blobs_of(x);
  std::vector<field_error> errors;
  std::vector<blob_id> used;
  for (std::size_t i = 0; i < order.files.size(); ++i) {
    auto& file = order.files[i];
    const auto id = blob_id::parse(file.blob);
    const auto facts = id ? blobs.find(*id) : std::nullopt;
    if (!facts || !sees_blob(x, *facts) || !order.scope.is_at_or_below(facts->scope)) {
      errors.push_back({error_code::invalid_field, "/attachments/" + std::to_string(i) + "/blob",
                        "there is no such file for scope " + order.scope.text() +
                            "; upload it for this scope, or for one above it, with POST /v1/blobs"});
      continue;
    }
    file.type = facts->type;
    file.bytes = facts->bytes;
    if (file.name.empty()) file.name = facts->name;
    used.push_back(*id);
  }
  if (!errors.empty()) throw from_errors(std::move(errors));
  blobs.use(used);
}

} // namespace quell::controller::http
