// Status lines, headers and chunks.
#include "gateway/reply_text.hpp"

#include <array>
#include <cstdio>

namespace quell::controller::http {

namespace {

std::string_view reason_phrase(unsigned status) {
  switch (status) {
  case 200:
    return "OK";
  case 201:
    return "Created";
  case 202:
    return "Accepted";
  case 204:
    return "No Content";
  case 304:
    return "Not Modified";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 409:
    return "Conflict";
  case 410:
    return "Gone";
  case 413:
    return "Content Too Large";
  case 415:
    return "Unsupported Media Type";
  case 422:
    return "Unprocessable Content";
  case 424:
    return "Failed Dependency";
  case 429:
    return "Too Many Requests";
  case 500:
    return "Internal Server Error";
  case 503:
    return "Service Unavailable";
  default:
    return "Status";
  }
}

/// The date of the second in which this thread answers: one text serves all answers of it.
const std::string& date_of(std::chrono::sys_seconds now) {
  thread_local std::chrono::sys_seconds second = now;
  thread_local std::string text = http_date(now);
  if (second != now) {
    second = now;
    text = http_date(now);
  }
  return text;
}

} // namespace

std::string http_date(std::chrono::sys_seconds at) {
  constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{at - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                days[std::chrono::weekday{day}.c_encoding()], static_cast<unsigned>(date.day()),
                months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

std::string reply_head(const response& answer, body_form form, std::chrono::sys_seconds now) {
  std::string head;
  head.reserve(256 + answer.body.size());
  const auto add = [&head](auto... parts) { (head.append(parts), ...); };
  add("HTTP/1.1 ", std::to_string(answer.status), " ", reason_phrase(answer.status));
  add("\r\nServer: quelld\r\nDate: ", std::string_view(date_of(now)), "\r\n");
  if (!answer.content_type.empty()) add("Content-Type: ", std::string_view(answer.content_type), "\r\n");
  if (answer.content_type == "text/event-stream") head += "Cache-Control: no-cache\r\n";
  if ((form == body_form::sized || form == body_form::sized_and_close) && answer.status != 204 && answer.status != 304)
    add("Content-Length: ", std::to_string(answer.body.size()), "\r\n");
  if (is_chunked(form)) head += "Transfer-Encoding: chunked\r\n";
  if (form != body_form::sized && form != body_form::chunked) head += "Connection: close\r\n";
  for (const auto& [name, value] : answer.headers) {
    if (value.find_first_of("\r\n") != std::string::npos) continue; // no part of a request can add a header
    add(std::string_view(name), ": ", std::string_view(value), "\r\n");
  }
  head += "\r\n";
  return head;
}

std::string as_chunk(std::string_view bytes) {
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  std::string chunk(size.data());
  chunk += bytes;
  chunk += "\r\n";
  return chunk;
}

} // namespace quell::controller::http
