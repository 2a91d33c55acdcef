// Takes the fields of parsed messages.
#include "gateway/head_fields.hpp"

#include <algorithm>
#include <utility>

#include <boost/beast/core/string.hpp>

namespace quell::controller::http {

namespace {

using boost::beast::iequals;
using boost::beast::string_view;
using boost::beast::http::field;

std::string copy_of(string_view text) { return {text.data(), text.size()}; }

/// The place of a field; null: nobody asks for it.
std::string request::*place_of(field known, string_view name) {
  switch (known) {
  case field::accept:
    return &request::accept;
  case field::authorization:
    return &request::authorization;
  case field::content_type:
    return &request::content_type;
  case field::user_agent:
    return &request::user_agent;
  case field::origin:
    return &request::origin;
  case field::access_control_request_method:
    return &request::requested_method;
  case field::host:
    return &request::host;
  case field::cookie:
    return &request::cookie;
  case field::accept_encoding:
    return &request::accept_encoding;
  case field::if_none_match:
    return &request::if_none_match;
  default:
    break;
  }
  if (iequals(name, "Last-Event-ID")) return &request::last_event_id;
  if (iequals(name, "Quell-Channel")) return &request::channel;
  if (iequals(name, "X-Quell-Scope")) return &request::quell_scope;
  if (iequals(name, "A2A-Version")) return &request::a2a_version;
  if (iequals(name, "Prefer")) return &request::prefer;
  return nullptr;
}

} // namespace

void take_fields(const parsed_message& from, request& into) {
  into.method = copy_of(from.method_string());
  // Fields that were met; a list, since nearly every request has a handful.
  std::vector<std::string request::*> met;
  for (const auto& each : from) {
    const auto place = place_of(each.name(), each.name_string());
    if (!place || std::find(met.begin(), met.end(), place) != met.end()) continue;
    met.push_back(place);
    into.*place = copy_of(each.value());
  }
}

void take_whole(const parsed_message& from, request& into) {
  const auto target = from.target();
  if (const auto mark = target.find('?'); mark != string_view::npos)
    into.raw_query.assign(target.data() + mark + 1, target.size() - mark - 1);
  for (const auto& each : from) {
    auto name = copy_of(each.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    into.headers.emplace_back(std::move(name), copy_of(each.value()));
  }
}

request_head head_of(const parsed_message& from) {
  request_head head;
  for (const auto& each : from) {
    if (each.name() == field::host) head.hosts.push_back(copy_of(each.value()));
    if (each.name() == field::transfer_encoding) head.encodings.push_back(copy_of(each.value()));
    if (each.name() == field::content_length) ++head.lengths;
  }
  return head;
}

} // namespace quell::controller::http
