// /v1/sessions: exchanges a token, or a link that works once, for a browser's cookie. EventSource cannot send
// Authorization, and a page that keeps no token cannot lose one.
#include "gateway/sign_in_handlers.hpp"

#include <fstream>
#include <iterator>

#include <spdlog/spdlog.h>

#include "controller/json/json_writer.hpp"
#include "gateway/audited.hpp"
#include "gateway/body.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "gateway/token_caller.hpp"
#include "integrations/host/private_file.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t secret_bytes = 32;
constexpr std::size_t most_secret = 200;

wall_time wall() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

std::string fresh_secret(std::string_view prefix) {
  const auto bytes = random_bytes(secret_bytes);
  if (!bytes)
    throw problem{.code = error_code::internal,
                  .detail = "the kernel gave no random bytes; nothing was made, try again"};
  return std::string(prefix) + base64url(*bytes);
}

std::string file_of(const gateway_context& gw) { return gw.options.state_directory + "/sessions"; }

problem foreign_page() {
  return {.code = error_code::forbidden,
          .detail =
              "the page that sent this is of another origin than this quelld (header Origin); a cookie is for the "
              "console's own pages, so use a token: Authorization: Bearer TOKEN"};
}

/// On disk before the answer, so that a signed-out browser stays signed out. A disk that refuses keeps nobody out.
awaitable<> keep_sign_ins(gateway_context& gw) {
  const auto number = ++gw.sign_in_changes;
  auto job = [path = file_of(gw), text = gw.sign_ins.text(), number,
              file = gw.sign_in_writes](store_reader&) -> result<bool> {
    const std::lock_guard lock(file->one_at_a_time);
    if (number < file->written) return true; // a later write was faster
    file->written = number;
    const auto done = write_private_file(path, text);
    if (!done) spdlog::warn("sign-ins of browsers are not kept over a restart: {}", done.error().detail);
    return true;
  };
  co_await gw.read<bool>(job);
}

/// Throws unless the requesting page is ours.
void need_own_page(const exchange& x) {
  if (!is_same_origin(x.req.origin, x.req.host)) throw foreign_page();
}

void act_for(exchange& x, const records::token_record& record) {
  x.who = caller_of_token(record);
  x.token = record.id;
}

/// Acts for the token with this id if it is unchanged and valid: then `x` has its rights.
bool act_for(exchange& x, const std::string& token, const std::string& hash) {
  auto& gw = x.gw;
  if (token == bootstrap_token_id) {
    if (gw.admin_hash.empty() || gw.admin_hash != hash) return false;
    x.who = bootstrap_caller(gw.options.admin_owner);
    return true;
  }
  const auto id = token_id::parse(token);
  const auto* record = id ? gw.tokens.by_id(*id) : nullptr;
  if (!record || record->hash != hash || !gw.tokens.is_good(*id, wall())) return false;
  act_for(x, *record);
  return true;
}

std::string hash_of_token(const exchange& x) {
  if (!x.token) return x.gw.admin_hash;
  const auto* record = x.gw.tokens.by_id(*x.token);
  return record ? record->hash : std::string();
}

void write_session(json_writer& to, const exchange& x, const sign_in* in) {
  to.open_object();
  to.field("id", in ? std::optional(in->id) : std::nullopt);
  to.field("created_at", in ? std::optional(in->created_at) : std::nullopt);
  to.field("expires_at", in ? std::optional(in->expires_at) : std::nullopt);
  to.field("token", x.who.token_name)
      .field("role", x.who.role)
      .field("scope", x.who.prefix)
      .field("owner", x.who.owner);
  to.close_object();
}

/// `Secure` if the page came by https, including through a proxy that terminates TLS.
std::string cookie_text(const exchange& x, std::string_view value, std::chrono::seconds age) {
  return cookie_name(x.req.host) + '=' + std::string(value) +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(age.count()) +
         (x.req.origin.starts_with("https://") ? "; Secure" : "");
}

response session_answer(const exchange& x, const sign_in* in, unsigned status) {
  json_writer to;
  write_session(to, x, in);
  auto answer = json_answer(to.take(), status);
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

struct sign_in_request {
  std::optional<std::string> token, link;
};

tl::expected<sign_in_request, problem> read_sign_in(std::string_view text) {
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  sign_in_request requested{fields.text("token", 1, most_secret), fields.text("link", 1, most_secret)};
  if (fields.has("token") == fields.has("link"))
    fields.complain("token", "give either a token or the secret of a link");
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return requested;
}

} // namespace

bool authenticate_by_cookie(exchange& x) {
  const auto secret = cookie_in(x.req.cookie, cookie_name(x.req.host));
  if (secret.empty() || secret.size() > most_secret) return false;
  const bool changes = x.req.method != "GET" && x.req.method != "HEAD";
  // A GET from our own page sends no Origin; one from a page on another port of this host does.
  if (changes || !x.req.origin.empty()) need_own_page(x);
  const auto* found = x.gw.sign_ins.find(secret, wall());
  if (!found) return false;
  const sign_in in = *found;
  if (!act_for(x, in.token, in.token_hash)) {
    x.gw.sign_ins.end(in.id);
    return false;
  }
  x.signed_in = in;
  return true;
}

void restore_sign_ins(gateway_context& gw) {
  std::ifstream file(file_of(gw), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  gw.sign_ins.restore(text, wall());
}

awaitable<response> create_session(exchange& x) {
  auto& gw = x.gw;
  need_own_page(x);
  auto requested = value_or_throw(read_sign_in(x.req.body));
  if (requested.token) {
    x.req.authorization = "Bearer " + *requested.token;
    auto known = authenticate(x);
    co_await std::move(known);
    if (x.who.task)
      throw problem{.code = error_code::forbidden,
                    .detail = "the token of a task is for that task; sign in with one of your own"};
  } else {
    const auto link = gw.sign_ins.take_link(*requested.link, wall());
    if (!link || !act_for(x, link->token, link->token_hash))
      throw problem{.code = error_code::unauthenticated,
                    .detail =
                        "the link was used, is older than an hour, or its token has ended; `quell console` prints "
                        "a new one"};
  }
  x.charge(1);
  const auto secret = fresh_secret("qs_");
  x.signed_in = gw.sign_ins.open(token_id::fresh().text(), secret, x.who.token_id, hash_of_token(x), wall());
  auto kept = keep_sign_ins(gw);
  co_await std::move(kept);
  auto entry = audited(x, "session_create", "session " + x.signed_in->id, x.who);
  co_await std::move(entry);
  auto answer = session_answer(x, &*x.signed_in, 201);
  answer.headers.emplace_back("Set-Cookie", cookie_text(x, secret, sign_in_table::whole_life));
  co_return answer;
}

awaitable<response> get_session(exchange& x) {
  query_reader(x.req).finish();
  if (x.signed_in && x.gw.sign_ins.renew(x.signed_in->id, wall())) {
    auto kept = keep_sign_ins(x.gw);
    co_await std::move(kept);
    if (const auto* now = x.gw.sign_ins.find(cookie_in(x.req.cookie, cookie_name(x.req.host)), wall()))
      x.signed_in = *now;
  }
  co_return session_answer(x, x.signed_in ? &*x.signed_in : nullptr, 200);
}

awaitable<response> delete_session(exchange& x) {
  query_reader(x.req).finish();
  if (x.signed_in && x.gw.sign_ins.end(x.signed_in->id)) {
    end_streams_of_ended_tokens(x.gw);
    auto kept = keep_sign_ins(x.gw);
    co_await std::move(kept);
    auto entry = audited(x, "session_end", "session " + x.signed_in->id, x.who);
    co_await std::move(entry);
  }
  auto answer = empty_answer();
  answer.headers.emplace_back("Set-Cookie", cookie_text(x, "", std::chrono::seconds{0}));
  co_return answer;
}

awaitable<response> create_session_link(exchange& x) {
  (void)value_or_throw(parse_body(x.req.body).and_then([](const nlohmann::json& body) -> tl::expected<bool, problem> {
    std::vector<field_error> errors;
    body_reader(body, "", errors).finish();
    if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
    return true;
  }));
  if (x.who.task)
    throw problem{.code = error_code::forbidden,
                  .detail = "the token of a task is for that task; make a link with one of your own"};
  const auto secret = fresh_secret("ql_");
  const auto now = wall();
  x.gw.sign_ins.add_link(secret, x.who.token_id, hash_of_token(x), now);
  json_writer to;
  to.open_object();
  to.field("path", "/#link=" + secret).field("expires_at", wall_time(now + sign_in_table::link_life));
  to.close_object();
  auto answer = json_answer(to.take(), 201);
  answer.headers.emplace_back("Cache-Control", "no-store");
  co_return answer;
}

} // namespace quell::controller::http
