// Reads one answer out of bytes; no I/O.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/http.hpp"

namespace quell::cli {

class answer_parser {
 public:
  enum class body { expected, none }; ///< none: the answer to HEAD

  explicit answer_parser(body b = body::expected);
  ~answer_parser();
  answer_parser(const answer_parser&) = delete;
  answer_parser& operator=(const answer_parser&) = delete;

  /// Reads what it can and returns how many bytes that were; give the rest again with what follows. Interim answers
  /// (100 Continue) are skipped. Parts of the body are appended to `pieces`: views into `bytes`.
  std::size_t feed(std::string_view bytes, std::vector<std::string_view>& pieces);
  /// The server sends nothing more.
  void end_of_stream();

  bool has_head() const;
  bool is_whole() const;
  /// Another request may follow on the connection, if the answer is whole.
  bool may_follow() const;
  /// "" or what is wrong with the answer, for a person. Nothing can be fed from then on.
  const std::string& error() const;
  /// The first 100 names are kept, the last value of each.
  const http_head& head() const;
  http_head head_with_trailers() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

} // namespace quell::cli
