// The tools read, write and edit: one file at a time.
#include <algorithm>
#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "protocol/attachment.hpp"
#include "protocol/base64.hpp"
#include "protocol/failure_code.hpp"
#include "protocol/utf8.hpp"
#include "worker/tools/input_reader.hpp"
#include "worker/tools/tool.hpp"
#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

using nlohmann::json;

namespace {

result<std::string> file_bytes(const workspace& where, const std::string& path, std::size_t limit) {
  const auto file = where.open_at(path, O_RDONLY | O_NONBLOCK); // must not hang on a pipe
  if (!file) return tl::unexpected(file.error());
  return read_all(*file, where.shown(path), limit);
}

result<std::string> only_text(result<std::string> content, const std::string& shown) {
  if (content && !is_utf8(*content))
    return failure(failure_code::not_text,
                   shown + " is not UTF-8 text (" + std::to_string(content->size()) + " bytes)");
  return content;
}

result<std::string> text_of(const workspace& where, const std::string& path, std::size_t limit) {
  return only_text(file_bytes(where, path, limit), where.shown(path));
}

/// An image or a PDF file, which quelld shows to the model.
result<json> media_of(const std::string& shown, std::string_view type, const std::string& content, std::size_t most) {
  if (content.size() > most)
    return failure("too_large", shown + " (" + std::string(type) + ") has " + std::to_string(content.size()) +
                                    " bytes; at most " + std::to_string(most) +
                                    " are shown: make a smaller copy, or take its text out with a program");
  return json{{"path", shown}, {"type", type}, {"bytes", content.size()}, {"data", base64(content)}};
}

/// Changes whenever the content changes.
std::string version_of(const std::string& content) {
  std::uint64_t hash = 0xcbf29ce484222325U; // FNV-1a
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = std::to_string(content.size()) + "-";
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[(hash >> static_cast<unsigned>(shift)) & 15U];
  return text;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

} // namespace

result<json> read_file(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto path = in.text("path");
  const auto first = in.number("first_line", 1, 1, 1'000'000'000);
  const auto most = in.number("lines", 2000, 1, 1'000'000);
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  auto content = file_bytes(where, path, limits.file_bytes);
  if (content && limits.media_bytes > 0)
    if (const auto type = media_type_of_bytes(*content); !type.empty())
      return media_of(where.shown(path), type, *content, limits.media_bytes);
  content = only_text(std::move(content), where.shown(path));
  if (!content) return tl::unexpected(content.error());

  std::uint64_t line = 1;
  std::size_t begin = std::string::npos, end = content->size(), at = 0;
  while (at < content->size()) {
    if (line == first) begin = at;
    if (line == first + most) {
      end = at;
      break;
    }
    const auto next = content->find('\n', at);
    at = next == std::string::npos ? content->size() : next + 1;
    ++line;
  }
  const auto total = static_cast<std::uint64_t>(std::count(content->begin(), content->end(), '\n')) +
                     (content->empty() || content->back() == '\n' ? 0 : 1);
  const auto version = version_of(*content);
  std::string text = begin == std::string::npos ? std::string() : content->substr(begin, end - begin);
  const bool is_long = text.size() > limits.result_bytes;
  if (is_long) text.resize(utf8_prefix(text, limits.result_bytes).size());
  const auto shown = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) +
                     (text.empty() || text.back() == '\n' ? 0 : 1);
  return json{{"path", where.shown(path)}, {"text", std::move(text)},
              {"first_line", first},       {"lines", shown},
              {"total_lines", total},      {"truncated", is_long || first + shown <= total},
              {"version", version}};
}

result<json> write_file(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto path = in.text("path");
  const auto text = in.text("text");
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  if (text.size() > limits.file_bytes)
    return failure(error_code::too_large, "the text has " + std::to_string(text.size()) + " bytes; at most " +
                                              std::to_string(limits.file_bytes) + " are written");
  if (auto made = where.make_parents(path); !made) return tl::unexpected(made.error());
  const auto file = where.hold(path);
  if (!file) return tl::unexpected(file.error());
  if (auto done = where.replace(*file, text); !done) return tl::unexpected(done.error());
  return json{{"path", where.shown(path)}, {"bytes", text.size()}, {"version", version_of(text)}};
}

result<json> edit_file(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto path = in.text("path");
  const auto before = in.text("old");
  const auto after = in.text("new");
  const bool everywhere = in.flag("all", false);
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  if (before.empty()) return failure(failure_code::invalid_input, "`old` must not be empty; `write` makes a new file");
  if (before == after) return failure(failure_code::invalid_input, "`old` and `new` are the same");
  // Held from before the read, so that no other writer's change is lost.
  const auto file = where.hold(path);
  if (!file) return tl::unexpected(file.error());
  auto content = text_of(where, file->path, limits.file_bytes);
  if (!content) return tl::unexpected(content.error());
  if (!limits.if_version.empty() && version_of(*content) != limits.if_version)
    return failure("changed_since_read", where.shown(path) +
                                             " changed since you read it, so nothing was edited; `read` "
                                             "shows it as it is now");
  const auto found = count_of(*content, before);
  if (found == 0)
    return failure("no_match", "`old` is nowhere in " + where.shown(path) + "; `read` shows it as it is now");
  if (found > 1 && !everywhere)
    return failure("many_matches", "`old` is " + std::to_string(found) + " times in " + where.shown(path) +
                                       "; add lines around it until it is unique, or set `all`");
  std::string text;
  std::size_t at = 0;
  for (auto next = content->find(before); next != std::string::npos; next = content->find(before, at)) {
    text.append(*content, at, next - at).append(after);
    at = next + before.size();
    if (text.size() > limits.file_bytes)
      return failure(error_code::too_large, "the file would grow beyond what is written");
  }
  text.append(*content, at);
  if (auto done = where.replace(*file, text); !done) return tl::unexpected(done.error());
  return json{{"path", where.shown(path)}, {"replaced", found}, {"version", version_of(text)}};
}

} // namespace quell::worker::tools
