// JSON bodies: parses with limits and reads fields, reporting all errors.
#include "gateway/body.hpp"

#include <algorithm>

#include "controller/json/instant.hpp"
#include "gateway/json_reader.hpp"
#include "protocol/json_nesting.hpp"
#include "protocol/sha256.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

/// The position of the first byte that is not valid UTF-8.
std::size_t first_bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t length = 1;
    while (length <= 4 && at + length <= text.size() && !is_utf8(text.substr(at, length))) ++length;
    if (length > 4 || at + length > text.size()) break;
    at += length;
  }
  return at;
}

std::string position(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
  const auto start = text.substr(0, byte).rfind('\n');
  const auto column = byte - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + " (byte " + std::to_string(byte) + ")";
}

/// The message of nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …" without
/// its prefix.
std::string reason(std::string_view what) {
  if (const auto at = what.find("syntax error"); at != std::string_view::npos)
    what = what.substr(at);
  else if (const auto end = what.find("] "); end != std::string_view::npos)
    what = what.substr(end + 2);
  return std::string(what.substr(0, 200));
}

} // namespace

void drop_nulls(nlohmann::json& value) {
  if (value.is_object()) {
    for (auto it = value.begin(); it != value.end();) {
      if (it->is_null()) {
        it = value.erase(it);
      } else {
        drop_nulls(*it);
        ++it;
      }
    }
  }
}

tl::expected<nlohmann::json, problem> parse_body(std::string_view text, null_members nulls) {
  const auto bad = [](error_code code, std::string detail) {
    return tl::unexpected<problem>(problem{.code = code, .detail = std::move(detail)});
  };
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return nlohmann::json::object();
  if (!is_utf8(text))
    return bad(error_code::bad_json,
               "the body is not UTF-8 at " + position(text, first_bad_byte(text)) + "; send the JSON as UTF-8");
  if (json_nesting(text) > max_json_depth)
    return bad(error_code::bad_json,
               "the body nests deeper than " + std::to_string(max_json_depth) + " levels; no request needs that");
  auto body = read_json_text(text);
  if (!body) {
    const auto& [byte, what] = body.error();
    const auto where = byte ? " at " + position(text, *byte > 0 ? *byte - 1 : 0) : std::string();
    return bad(error_code::bad_json, "the body is not valid JSON" + where + ": " + reason(what));
  }
  if (body->doubled)
    return tl::unexpected<problem>(from_errors({{error_code::bad_json, std::move(*body->doubled), "is given twice"}}));
  if (!body->value.is_object())
    return tl::unexpected<problem>(from_errors({{error_code::invalid_field, "", "must be a JSON object"}}));
  if (nulls == null_members::dropped) drop_nulls(body->value);
  return std::move(body->value);
}

std::string fingerprint_of(nlohmann::json body, std::initializer_list<const char*> without) {
  for (const char* name : without) body.erase(name);
  return sha256_hex(body.dump()); // members are sorted by name, so the order in which they were sent does not matter
}

std::string pointer_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

void body_reader::complain(std::string_view name, std::string message, error_code code) {
  if (errors_.size() < most_errors) errors_.push_back({code, pointer(name), std::move(message)});
}

const nlohmann::json* body_reader::take(const char* name) {
  known_.emplace_back(name);
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

std::optional<std::string> body_reader::text(const char* name, std::size_t least, std::size_t most) {
  const auto* value = take(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) {
    complain(name, "must be a string");
    return std::nullopt;
  }
  const auto& given = value->get_ref<const std::string&>();
  const auto length = code_points(given);
  if (length < least) {
    complain(name, "must not be empty");
  } else if (length > most) {
    complain(name, "is longer than " + std::to_string(most) + " characters");
  } else if (given.find('\0') != std::string::npos) {
    complain(name, "must not contain NUL");
  } else {
    return given;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> body_reader::number(const char* name, std::uint64_t least, std::uint64_t most) {
  const auto* value = take(name);
  if (!value) return std::nullopt;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most) {
    complain(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  return value->get<std::uint64_t>();
}

std::optional<milliseconds> body_reader::duration(const char* name, std::uint64_t most) {
  const auto given = number(name, 0, most);
  if (!given) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(*given));
}

std::optional<bool> body_reader::flag(const char* name) {
  const auto* value = take(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) {
    complain(name, "must be true or false");
    return std::nullopt;
  }
  return value->get<bool>();
}

std::optional<scope_path> body_reader::scope(const char* name) {
  const auto* value = take(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) {
    complain(name, "must be a string");
    return std::nullopt;
  }
  auto parsed = scope_path::parse(value->get_ref<const std::string&>());
  if (parsed) return std::move(*parsed);
  complain(name, parsed.error().detail, error_code::bad_scope);
  return std::nullopt;
}

std::optional<records::person> body_reader::person(const char* name) {
  const auto* value = object(name);
  if (!value) return std::nullopt;
  body_reader fields(*value, pointer(name), errors_);
  const auto before = errors_.size();
  auto id = fields.text("id", 1, 128);
  auto shown = fields.text("name", 0, 128);
  if (!id && errors_.size() == before) fields.complain("id", "is missing");
  fields.finish();
  if (!id || errors_.size() != before) return std::nullopt;
  return records::person{*id, shown.value_or(*id)};
}

std::map<std::string, std::string> body_reader::labels(const char* name) {
  std::map<std::string, std::string> all;
  const auto* value = object(name);
  if (!value) return all;
  if (value->size() > 64) complain(name, "has more than 64 labels");
  for (const auto& [key, label] : value->items()) {
    const auto where = std::string(name) + "/" + pointer_part(key);
    const auto fits = [](const std::string& s) {
      return !s.empty() && code_points(s) <= 128 && s.find('\0') == std::string::npos;
    };
    if (!fits(key) || key.find('=') != std::string::npos)
      complain(where, "the key must have 1 to 128 characters and no =");
    else if (!label.is_string() || !fits(label.get_ref<const std::string&>()))
      complain(where, "must be a string of 1 to 128 characters");
    else
      all.emplace(key, label.get<std::string>());
  }
  return all;
}

std::optional<wall_time> body_reader::instant(const char* name) {
  const auto given = text(name, 1, 64);
  if (!given) return std::nullopt;
  auto parsed = parse_instant(*given);
  if (!parsed) complain(name, "must be an instant such as 2026-11-20T09:51:07.123Z");
  return parsed;
}

const nlohmann::json* body_reader::object(const char* name) {
  const auto* value = take(name);
  if (value && !value->is_object()) {
    complain(name, "must be an object");
    return nullptr;
  }
  return value;
}

void body_reader::finish() {
  for (const auto& [name, value] : object_.items())
    if (errors_.size() < most_errors && std::find(known_.begin(), known_.end(), name) == known_.end())
      complain(pointer_part(name), "is not a field of this request", error_code::unknown_field);
}

} // namespace quell::controller::http
