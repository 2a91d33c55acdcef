// An account's tokens and their renewal.
#include "integrations/oauth/account.hpp"

#include "integrations/models/text.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr std::chrono::seconds early{60}; ///< a token is renewed this long before it expires
constexpr std::chrono::seconds pause{30}; ///< after a failed renewal, unless the server refuses the token

} // namespace

account::account(account_settings settings, account_ports ports, std::optional<grant> kept)
    : settings_(std::move(settings)), ports_(std::move(ports)), server_(read_address(settings_.server)) {
  if (kept && kept->server == settings_.server) grant_ = std::move(kept); // tokens are never sent to another server
}

std::string account::token() {
  std::unique_lock lock(guard_);
  if (!grant_) return {};
  const std::string now = grant_->access_token;
  const bool ends_soon = grant_->expires_at && *grant_->expires_at - ports_.now() < early;
  if (ends_soon && !grant_->refresh_token.empty() && !renews_ && (!not_before_ || ports_.now() >= *not_before_))
    renew(lock, nullptr);
  return now;
}

void account::refused(std::string used, long status, std::string challenge, std::function<void(bool)> done) {
  std::unique_lock lock(guard_);
  if (const auto demand = read_challenge(challenge); !challenge.empty()) demanded_ = demand;
  const bool has_another = grant_ && grant_->access_token != used;
  if (status == 401 && !has_another && grant_ && !grant_->refresh_token.empty()) return renew(lock, std::move(done));
  if (!has_another)
    trouble_ = status == 403 ? "the server wants more rights than this login has"
               : grant_      ? "the server does not take the token any more, and it cannot be renewed"
                             : "the server wants a login";
  lock.unlock();
  if (done) done(has_another);
}

/// Requests a new token, or joins the request that is already running.
void account::renew(std::unique_lock<std::mutex>& lock, std::function<void(bool)> done) {
  if (done) waiting_.push_back(std::move(done));
  if (std::exchange(renews_, true)) return lock.unlock();
  const auto request = refresh_request(*grant_);
  const std::string where = grant_->token_endpoint;
  const auto life = life_;
  lock.unlock();
  post(where, request, [self = shared_from_this(), life](const chat::web_response& r) { self->renewed(life, r); });
}

void account::renewed(std::uint64_t life, const chat::web_response& r) {
  std::unique_lock lock(guard_);
  renews_ = false;
  auto waiting = std::exchange(waiting_, {});
  bool is_good = grant_ && life != life_; // another login was completed meanwhile
  std::string trouble;
  if (grant_ && life == life_) {
    result<grant> fresh =
        failure(error_code::login_failed, "the authorization server does not answer: " + excerpt(r.error, 200));
    if (r.what == chat::web_end::answered) fresh = read_tokens(*grant_, r.status, r.body, ports_.now());
    if (fresh) {
      grant_ = std::move(*fresh);
      is_good = true;
      not_before_.reset();
      trouble_.clear();
      // The new token is used even if it cannot be stored: the old one may already be void.
      if (const auto kept = ports_.keep(&*grant_); !kept)
        trouble = "its renewed token is not kept: " + kept.error().detail;
    } else {
      trouble = trouble_ = fresh.error().detail;
      not_before_ = ports_.now() + pause;
      if (fresh.error().code == "login_over") grant_->refresh_token.clear();
    }
  }
  lock.unlock();
  if (!trouble.empty() && ports_.log) ports_.log(trouble);
  for (const auto& one : waiting) one(is_good);
}

result<bool> account::log_out() {
  const std::lock_guard lock(guard_);
  const bool was = grant_.has_value();
  if (const auto kept = ports_.keep(nullptr); !kept) return tl::unexpected(kept.error());
  grant_.reset();
  open_.reset();
  trouble_.clear();
  ++life_;
  return was;
}

account::state account::now() const {
  const std::lock_guard lock(guard_);
  state all;
  all.trouble = trouble_;
  if (!grant_) return all;
  all.logged_in = true;
  all.renewable = !grant_->refresh_token.empty();
  all.issuer = grant_->issuer;
  all.scope = grant_->scope;
  all.expires_at = grant_->expires_at;
  return all;
}

void account::get(const std::string& url, std::function<void(chat::web_response)> done) {
  chat::web_request ask;
  ask.method = "GET";
  ask.url = url;
  ask.headers = {"Accept: application/json"};
  ask.timeout = milliseconds(10'000);
  ask.ca_file = settings_.ca_file;
  ask.most_body = 256 << 10;
  ports_.fetch(std::move(ask), std::move(done));
}

void account::post(const std::string& url, token_request what, std::function<void(chat::web_response)> done) {
  chat::web_request ask;
  ask.url = url;
  ask.headers = std::move(what.headers);
  ask.body = std::move(what.body);
  ask.timeout = milliseconds(10'000);
  ask.ca_file = settings_.ca_file;
  ask.most_body = 256 << 10;
  ports_.fetch(std::move(ask), std::move(done));
}

} // namespace quell::integrations::oauth
