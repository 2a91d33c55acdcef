// Sends JSON over HTTP.
#include "cli/api.hpp"

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/fields.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

/// Larger than any page of 1000 operations, so that a broken server cannot fill the memory.
constexpr std::size_t most_answer_bytes = 256 * 1024 * 1024;
constexpr std::size_t most_items = 1'000'000;
/// A plain request must answer within this time; a long poll sets its own.
constexpr milliseconds usual_timeout{60'000};

} // namespace

api::api(event_loop& loop, connection_flags flags, environment env, connection c)
    : loop_(loop), flags_(std::move(flags)), env_(std::move(env)), connection_(std::move(c)) {}

http_request api::request(const std::string& method, const std::string& path) const {
  http_request r;
  r.method = method;
  r.url = connection_.url + path;
  r.ca_file = connection_.ca_file;
  r.timeout = usual_timeout;
  if (!connection_.token.empty()) r.headers.push_back("Authorization: Bearer " + connection_.token);
  return r;
}

problem api::problem_of(const http_end& end, const std::string& body) const {
  if (!end.error.empty()) {
    auto p = local_problem(local_code::unreachable, "the controller at " + connection_.url + " (from " +
                                                        connection_.found_in + ") does not answer: " + end.error +
                                                        ". Is it running? Start one with `quell up`.");
    p.sent = end.sent;
    return p;
  }
  auto p = problem_of_answer(end.head.status, body, connection_.url);
  const auto after = end.head.headers.find("retry-after");
  if (after != end.head.headers.end()) p.retry_after_s = std::atoi(after->second.c_str());
  if (p.status == 401 && !p.detail.ends_with('.')) p.detail += '.';
  if (p.status == 401)
    p.detail += connection_.token.empty() ? " No token was found: give one with --token-file or QUELL_TOKEN."
                                          : " Look at --token, QUELL_TOKEN or the context.";
  return p;
}

event_loop::handle api::call(const std::string& method, const std::string& path, const nlohmann::json& body,
                             milliseconds timeout, callback done) {
  auto r = request(method, path);
  r.timeout = timeout;
  r.headers.emplace_back("Accept: application/json");
  if (!body.is_null()) {
    r.body = to_line(body);
    r.headers.emplace_back("Content-Type: application/json");
  }
  return send(std::move(r), path, std::move(done));
}

event_loop::handle api::send_file(const std::string& path, const std::string& type, std::string bytes,
                                  milliseconds timeout, callback done) {
  auto r = request("POST", path);
  r.timeout = timeout;
  r.headers.emplace_back("Accept: application/json");
  r.headers.emplace_back("Content-Type: " + type);
  r.body = std::move(bytes);
  return send(std::move(r), path, std::move(done));
}

event_loop::handle api::send(http_request r, const std::string& path, callback done) {
  auto text = std::make_shared<std::string>();
  http_sink sink;
  sink.body = [text](std::string_view bytes) {
    if (text->size() + bytes.size() <= most_answer_bytes) text->append(bytes);
    return true;
  };
  sink.end = [this, text, done = std::move(done), path](const http_end& end) {
    if (!end.error.empty() || end.head.status >= 300) return done(tl::unexpected(problem_of(end, *text)));
    if (text->empty()) return done(nlohmann::json());
    auto document = nlohmann::json::parse(*text, nullptr, false);
    if (document.is_discarded())
      return done(refuse(error_code::internal,
                         connection_.url + path +
                             " answered with something that is not JSON: is this the address of a quell controller?"));
    done(std::move(document));
  };
  return loop_.start(std::move(r), std::move(sink));
}

answer<nlohmann::json> api::wait_for(const std::string& method, const std::string& path, const nlohmann::json& body) {
  std::optional<answer<nlohmann::json>> out;
  call(method, path, body, usual_timeout, [&](answer<nlohmann::json> a) { out = std::move(a); });
  loop_.run_until([&] { return out.has_value(); });
  return std::move(*out);
}

answer<nlohmann::json> api::get(const std::string& path) { return wait_for("GET", path, nullptr); }
answer<nlohmann::json> api::post(const std::string& path, const nlohmann::json& body) {
  return wait_for("POST", path, body);
}
answer<nlohmann::json> api::remove(const std::string& path) { return wait_for("DELETE", path, nullptr); }

answer<nlohmann::json> api::all_pages(const std::string& path, const char* key) {
  auto all = nlohmann::json::array();
  std::string cursor;
  while (all.size() < most_items) {
    auto page = get(with_query(path, {{"cursor", cursor}}));
    if (!page) return tl::unexpected(page.error());
    for (auto& item : (*page)[key]) all.push_back(std::move(item));
    const std::string next = text_of(*page, "next_cursor");
    if (next.empty() || next == cursor) break;
    cursor = next;
  }
  return all;
}

void api::find_again() {
  if (connection_.found_in.find("client.json") == std::string::npos) return;
  if (auto found = find_connection(flags_, env_)) connection_ = std::move(*found);
}

} // namespace quell::cli
