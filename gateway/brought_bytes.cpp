// Counts request bodies for the day's shares of tokens, authors and scopes. The token is counted before the handler
// reads the body, the others once the handler knows them; what these refuse the token gets back.
#include "controller/token_shares.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

byte_source exchange::byte_source_of_token() const {
  const auto* task = who.task ? gw.task_owners.find(*who.task) : nullptr;
  if (task && has_share(task->token)) return {task->token, "the token of task " + who.task->text(), {}};
  return {who.token_id, "token '" + who.token_name + "'", {}};
}

namespace {

byte_source with_all_shares(const exchange& x, const scope_path& scope, const std::string& author) {
  auto from = x.byte_source_of_token();
  from.author = author;
  from.scope = scope;
  return from;
}

/// The token's share was taken before the handler read the body.
byte_source behind_token(const exchange& x, const scope_path& scope, const std::string& author) {
  auto from = with_all_shares(x, scope, author);
  from.token_is_counted = true;
  return from;
}

} // namespace

void exchange::bring(const scope_path& scope, const std::string& author) {
  if (!gw.options.bytes || body_bytes == 0) return;
  const auto refused = gw.options.bytes->take(behind_token(*this, scope, author), body_bytes);
  if (!refused) return;
  gw.options.bytes->give_back(byte_source_of_token(), body_bytes);
  throw bytes_problem(*refused);
}

void exchange::note_brought(const scope_path& scope, const std::string& author, std::size_t bytes) {
  if (!gw.options.bytes || bytes == 0) return;
  gw.options.bytes->add(behind_token(*this, scope, author), bytes);
}

void exchange::note_copied(const scope_path& scope, const std::string& author, std::size_t bytes) {
  if (!gw.options.bytes || bytes == 0) return;
  gw.options.bytes->add(with_all_shares(*this, scope, author), bytes);
}

problem exchange::bytes_problem(const bytes_refused& refused) const {
  ++gw.metrics.refused_for_rate;
  return {.code = error_code::rate_limited,
          .detail = refused.why,
          .headers = {{"Retry-After", std::to_string(refused.free_after.count())}}};
}

} // namespace quell::controller::http
