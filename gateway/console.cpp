// Serves the console: content of another origin must not run in it, be loaded by it, or show it in a frame.
#include "gateway/console.hpp"

#include <sstream>

#include "gateway/console_pack.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

namespace {

constexpr std::string_view page = "/index.html";

const std::map<std::string, console_file, std::less<>>& files() {
  static const auto all = read_console_pack(console_pack());
  return all;
}

std::string_view name_of_file(std::string_view path) { return files().contains(path) ? path : page; }

void add_safeguards(response& to) {
  to.headers.emplace_back("Content-Security-Policy",
                          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
                          "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                          "require-trusted-types-for 'script'; trusted-types 'none'");
  to.headers.emplace_back("X-Content-Type-Options", "nosniff");
  to.headers.emplace_back("X-Frame-Options", "DENY");
  to.headers.emplace_back("Referrer-Policy", "no-referrer");
  to.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  to.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

} // namespace

std::map<std::string, console_file, std::less<>> read_console_pack(std::string_view pack) {
  std::map<std::string, console_file, std::less<>> found;
  const auto end = pack.find("\n\n");
  if (end == std::string_view::npos) return found;
  auto bytes = pack.substr(end + 2);
  std::istringstream lines{std::string(pack.substr(0, end))};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string path, type, etag;
    std::size_t plain = 0, gzipped = 0;
    if (!(words >> path >> type >> etag >> plain >> gzipped) || plain + gzipped > bytes.size()) break;
    found[path] = {type.find("text/") == 0 ? type + "; charset=utf-8" : type, '"' + etag + '"', bytes.substr(0, plain),
                   bytes.substr(plain, gzipped)};
    bytes.remove_prefix(plain + gzipped);
  }
  return found;
}

bool is_of_console(std::string_view path, std::string_view accept) {
  if (path == "/" || files().contains(path)) return true;
  for (const std::string_view api : {"/v1/", "/api/", "/assets/"})
    if (path.starts_with(api)) return false;
  return accept.find("text/html") != std::string_view::npos;
}

awaitable<response> get_console(exchange& x) {
  const auto found = files().find(name_of_file(x.req.path));
  if (found == files().end())
    throw problem{.code = error_code::not_found, .detail = "this quelld was built without the web console"};
  const auto& file = found->second;
  response answer;
  add_safeguards(answer);
  answer.headers.emplace_back("ETag", file.etag);
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  // Names of assets contain a hash of their content; all other files are revalidated each time.
  const bool is_fixed = found->first.starts_with("/assets/");
  answer.headers.emplace_back("Cache-Control", is_fixed ? "public, max-age=31536000, immutable" : "no-cache");
  if (x.req.if_none_match.find(file.etag) != std::string::npos) {
    answer.status = 304;
    answer.content_type.clear();
    co_return answer;
  }
  answer.content_type = file.content_type;
  const bool zipped = !file.gzipped.empty() && x.req.accept_encoding.find("gzip") != std::string::npos;
  if (zipped) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.body = std::string(zipped ? file.gzipped : file.plain);
  co_return answer;
}

} // namespace quell::controller::http
