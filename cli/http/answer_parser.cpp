// Boost.Beast's parser, which gives the body as views instead of copies.
#include "cli/http/answer_parser.hpp"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <optional>

namespace quell::cli {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using text_view = boost::beast::string_view;

constexpr std::size_t most_headers = 100;
constexpr std::size_t most_head_bytes = 64 * 1024;
/// Beast asserts that a last chunk of which it has seen the beginning comes back with this many bytes ("0\r\n\r\n"). No
/// answer in chunks ends with fewer, so nothing waits for long.
constexpr std::size_t least_last_chunk = 5;
constexpr int most_interim = 16; ///< interim answers (1xx) before one answer

std::string_view plain(text_view text) { return {text.data(), text.size()}; }

class one_answer final : public http::basic_parser<false> {
 public:
  explicit one_answer(bool has_body) {
    eager(true);
    header_limit(most_head_bytes);
    body_limit(std::numeric_limits<std::uint64_t>::max()); // whoever takes the body knows how much it may be
    skip(!has_body);
  }

  http_head head;
  std::map<std::string, std::string> trailers;
  std::vector<std::string_view>* pieces = nullptr;

 private:
  void on_request_impl(http::verb, text_view, text_view, int, error_code&) override {}
  void on_response_impl(int code, text_view, int, error_code&) override { head.status = code; }
  void on_field_impl(http::field, text_view name, text_view value, error_code&) override {
    auto& into = is_header_done() ? trailers : head.headers;
    std::string key(plain(name));
    std::transform(key.begin(), key.end(), key.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (into.size() < most_headers || into.contains(key)) into[std::move(key)] = std::string(plain(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(text_view body, error_code&) override { return take(body); }
  void on_chunk_header_impl(std::uint64_t, text_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, text_view body, error_code&) override { return take(body); }
  void on_finish_impl(error_code&) override {}

  std::size_t take(text_view body) {
    if (!body.empty()) pieces->push_back(plain(body));
    return body.size();
  }
};

std::string sentence(const error_code& e) {
  if (e == http::error::header_limit) return "the head of the answer is larger than 64 KiB";
  if (e == http::error::partial_message) return "the connection ended in the middle of the answer";
  return "the answer is not HTTP/1.1 (" + e.message() + ")";
}

} // namespace

struct answer_parser::implementation {
  bool has_body;
  std::optional<one_answer> now;
  bool is_within_chunks = false; ///< it asked for more to read the head of a chunk
  int interim = 0;
  std::string error;
};

answer_parser::answer_parser(body b) : self_(std::make_unique<implementation>()) {
  self_->has_body = b == body::expected;
  self_->now.emplace(self_->has_body);
}

answer_parser::~answer_parser() = default;

std::size_t answer_parser::feed(std::string_view bytes, std::vector<std::string_view>& pieces) {
  std::size_t used = 0;
  while (error().empty() && !is_whole() && used < bytes.size()) {
    auto& now = *self_->now;
    if (self_->is_within_chunks && bytes.size() - used < least_last_chunk) break;
    self_->is_within_chunks = false;
    now.pieces = &pieces;
    error_code e;
    const auto n = now.put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), e);
    used += n;
    if (e == http::error::need_more) {
      self_->is_within_chunks = now.is_header_done();
      // One line of a chunk, or the trailers: Beast limits heads, but not those.
      if (bytes.size() - used > 2 * most_head_bytes) self_->error = "a line of the answer is longer than 128 KiB";
      break;
    }
    if (e) {
      self_->error = sentence(e);
    } else if (now.is_done() && now.head.status / 100 == 1) {
      if (now.head.status == 101 || ++self_->interim > most_interim)
        self_->error = "the server answered " + std::to_string(now.head.status) + ", which was not asked for";
      else
        self_->now.emplace(self_->has_body);
    } else if (n == 0) {
      break;
    }
  }
  return used;
}

void answer_parser::end_of_stream() {
  if (!error().empty() || is_whole()) return;
  if (!self_->now->got_some()) {
    self_->error = "the connection ended without an answer";
    return;
  }
  error_code e;
  self_->now->put_eof(e);
  if (e) self_->error = sentence(e);
}

bool answer_parser::has_head() const { return self_->now->is_header_done() && self_->now->head.status / 100 != 1; }
bool answer_parser::is_whole() const { return has_head() && self_->now->is_done(); }
bool answer_parser::may_follow() const { return is_whole() && self_->now->keep_alive(); }
const std::string& answer_parser::error() const { return self_->error; }
const http_head& answer_parser::head() const { return self_->now->head; }

http_head answer_parser::head_with_trailers() const {
  auto all = self_->now->head;
  for (const auto& [name, value] : self_->now->trailers)
    if (all.headers.size() < most_headers || all.headers.contains(name)) all.headers[name] = value;
  return all;
}

} // namespace quell::cli
