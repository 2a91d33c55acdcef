// A login step by step: the server's challenge, its metadata, the authorization server's metadata, a client
// registration there, and then the browser's redirect. Each step is one request.
#include "integrations/models/text.hpp"
#include "integrations/oauth/attempt.hpp"
#include "integrations/oauth/pkce.hpp"
#include "integrations/oauth/words.hpp"

namespace quell::integrations::oauth {
namespace {

constexpr std::chrono::minutes browser_time{10};

/// A server that needs a login refuses this request with a challenge; after the login the answer is short.
constexpr const char* probe = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

bool is_on_loopback(const std::string& redirect_uri) {
  const auto address = read_address(redirect_uri);
  return address && address->is_loopback && !address->is_secure && address->query.empty();
}

} // namespace

void account::give_up(const std::shared_ptr<attempt>& of, fault why) {
  if (const auto done = std::exchange(of->done, nullptr)) done(tl::unexpected(std::move(why)));
}

void account::begin(std::string redirect_uri, begun done) {
  auto of = std::make_shared<attempt>();
  of->done = std::move(done);
  of->what.redirect_uri = std::move(redirect_uri);
  if (!is_on_loopback(of->what.redirect_uri))
    return give_up(of, coded_fault{error_code::invalid_field,
                                   "redirect_uri must be http on loopback with a port and without a query, such as "
                                   "http://127.0.0.1:8976/callback",
                                   "/redirect_uri"});
  if (!server_) return give_up(of, server_.error());
  if (!server_->is_secure && !server_->is_loopback)
    return give_up(of, coded_fault{error_code::login_failed,
                                   "the server is not reached by https: a token would be sent in the clear",
                                   {}});
  of->at = ports_.now();
  of->what.state = fresh_secret();
  of->what.verifier = fresh_secret();
  bool is_known = false;
  {
    const std::lock_guard lock(guard_);
    of->demanded = demanded_;
    is_known = demanded_ != challenge{};
  }
  if (is_known) return ask_resource(of, 0);
  ask_for_challenge(of);
}

void account::ask_for_challenge(std::shared_ptr<attempt> of) {
  const token_request ask{probe, {"Content-Type: application/json", "Accept: application/json, text/event-stream"}};
  post(settings_.server, ask, [self = shared_from_this(), of](const chat::web_response& r) {
    if (r.what == chat::web_end::not_sent)
      return self->give_up(
          of, coded_fault{error_code::login_failed, "the server is out of reach: " + excerpt(r.error, 200), {}});
    of->demanded = read_challenge(r.header("www-authenticate"));
    self->ask_resource(of, 0);
  });
}

void account::ask_resource(std::shared_ptr<attempt> of, std::size_t number) {
  if (number == 0) {
    const auto& metadata_url = of->demanded.resource_metadata;
    of->urls = metadata_url.empty() ? resource_metadata_urls(*server_) : std::vector{metadata_url};
    if (!metadata_url.empty() && !may_trust(metadata_url, *server_))
      return give_up(of, coded_fault{error_code::login_failed,
                                     "the server's metadata " + shown(metadata_url) + " is not reached by https",
                                     {}});
  }
  if (number >= of->urls.size())
    return give_up(
        of, coded_fault{error_code::login_failed,
                        "the server does not say where one logs in: there is no metadata at " + shown(of->urls.front()),
                        {}});
  get(of->urls[number], [self = shared_from_this(), of, number](const chat::web_response& r) {
    const auto document = r.is_good() ? parse_json(r.body) : std::nullopt;
    if (!document || !document->is_object()) return self->ask_resource(of, number + 1);
    auto read = read_resource_metadata(*document, *self->server_);
    if (!read) return self->give_up(of, read.error());
    of->resource = std::move(*read);
    self->ask_issuer(of, 0);
  });
}

void account::ask_issuer(std::shared_ptr<attempt> of, std::size_t number) {
  if (number == 0) {
    const auto issuer = read_address(of->resource.issuer);
    if (!issuer) return give_up(of, issuer.error());
    of->urls = authorization_metadata_urls(*issuer);
  }
  if (number >= of->urls.size())
    return give_up(of, coded_fault{error_code::login_failed,
                                   "the authorization server " + shown(of->resource.issuer) + " has no metadata at " +
                                       shown(of->urls.front()),
                                   {}});
  get(of->urls[number], [self = shared_from_this(), of, number](const chat::web_response& r) {
    const auto document = r.is_good() ? parse_json(r.body) : std::nullopt;
    if (!document || !document->is_object()) return self->ask_issuer(of, number + 1);
    auto read = read_authorization_metadata(*document, of->resource.issuer, *self->server_);
    if (!read) return self->give_up(of, read.error());
    of->issuer = std::move(*read);
    if (auto known = known_client(self->settings_.client, of->issuer)) {
      of->as = std::move(*known);
      return self->send_off(of);
    }
    self->ask_registration(of);
  });
}

void account::ask_registration(std::shared_ptr<attempt> of) {
  if (of->issuer.registration_endpoint.empty())
    return give_up(of, coded_fault{error_code::login_failed,
                                   "the authorization server " + shown(of->issuer.issuer) +
                                       " registers nobody by itself: register quell there and configure client_id",
                                   {}});
  const token_request ask{registration_body(of->issuer, of->what.redirect_uri),
                          {"Content-Type: application/json", "Accept: application/json"}};
  post(of->issuer.registration_endpoint, ask, [self = shared_from_this(), of](const chat::web_response& r) {
    auto made = read_registration(r.what == chat::web_end::answered ? r.status : 0, r.body);
    if (!made) return self->give_up(of, made.error());
    of->as = std::move(*made);
    self->send_off(of);
  });
}

void account::send_off(const std::shared_ptr<attempt>& of) {
  {
    const std::lock_guard lock(guard_);
    const bool is_same = grant_ && grant_->issuer == of->issuer.issuer;
    of->what.scope = scope_to_ask(of->demanded, of->resource, of->issuer, is_same ? grant_->scope : std::string());
    open_ = of;
  }
  const auto done = std::exchange(of->done, nullptr);
  done(started{authorization_url(of->issuer, of->as, of->resource.resource, of->what), of->what.state});
}

void account::finish(authorization_answer answer, std::function<void(result<void>)> done) {
  std::shared_ptr<attempt> of;
  {
    const std::lock_guard lock(guard_);
    if (open_ && same_secret(open_->what.state, answer.state)) of = std::exchange(open_, nullptr);
  }
  if (!of || ports_.now() - of->at > browser_time)
    return done(failure(error_code::login_not_found,
                        "no such login is waited for: it was begun anew, ended, or took longer than 10 "
                        "minutes; begin again"));
  if (const auto good = check_answer(answer, of->issuer); !good) return done(good);
  const auto ask = code_request(of->as, of->resource.resource, of->what, answer.code);
  post(of->issuer.token_endpoint, ask,
       [self = shared_from_this(), of, done = std::move(done)](const chat::web_response& r) {
         if (r.what != chat::web_end::answered)
           return done(
               failure(error_code::login_failed, "the authorization server does not answer: " + excerpt(r.error, 200)));
         grant fresh{self->settings_.server,
                     of->issuer.issuer,
                     of->issuer.token_endpoint,
                     of->resource.resource,
                     of->as,
                     {},
                     {},
                     of->what.scope,
                     {}};
         auto read = read_tokens(std::move(fresh), r.status, r.body, self->ports_.now());
         if (!read) return done(failure(error_code::login_failed, read.error().detail));
         result<void> kept;
         {
           const std::lock_guard lock(self->guard_);
           kept = self->ports_.keep(&*read);
           if (kept) {
             self->grant_ = std::move(*read);
             self->trouble_.clear();
             self->not_before_.reset();
             ++self->life_;
           }
         }
         done(kept);
       });
}

} // namespace quell::integrations::oauth
