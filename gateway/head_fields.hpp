// From the head of a parsed message to our request. Each field that quell knows is taken as it came first.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "gateway/head_check.hpp"
#include "gateway/request.hpp"

namespace quell::controller::http {

using parsed_message = boost::beast::http::request<boost::beast::http::string_body>;

/// The method and the fields that handlers use.
void take_fields(const parsed_message& from, request& into);
/// Everything exactly as it was sent, since signatures cover it.
void take_whole(const parsed_message& from, request& into);
/// The fields that decide whether the head is ambiguous.
request_head head_of(const parsed_message& from);

} // namespace quell::controller::http
