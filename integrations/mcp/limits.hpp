// Limits on what an MCP server may send us, in one place.
#pragma once

#include <cstddef>

namespace quell::integrations::mcp_limits {

constexpr std::size_t line_bytes = 4 * 1024 * 1024;     ///< one message on stdio, or one JSON body over HTTP
constexpr std::size_t stream_bytes = 128 * 1024 * 1024; ///< one answer over HTTP with all its progress
constexpr std::size_t result_bytes = 1024 * 1024;       ///< a tool's result as delivered
constexpr std::size_t cut_text_bytes = 256 * 1024;      ///< kept from the text of a longer result
constexpr std::size_t media = 10;                       ///< images and documents of one result
constexpr std::size_t tools = 1000;
constexpr std::size_t pages = 100;                   ///< of the list of tools
constexpr std::size_t tools_bytes = 8 * 1024 * 1024; ///< all of them together
constexpr std::size_t tool_name_bytes = 128;
constexpr std::size_t description_characters = 16'384;
constexpr std::size_t schema_bytes = 128 * 1024;
constexpr std::size_t cursor_bytes = 16 * 1024;
constexpr std::size_t shown_characters = 300;   ///< of a server's own text in a fault or a complaint
constexpr std::size_t message_characters = 500; ///< of a progress message, and of a cancel's reason
constexpr std::size_t open_calls = 10'000;
constexpr std::size_t remembered_cancels = 10'000; ///< cancels that wait for a late answer; the oldest is dropped first
constexpr std::size_t bad_messages = 100;
constexpr std::size_t relists = 3; ///< consecutive ones because the tools changed during listing
constexpr std::size_t header_bytes = 64 * 1024;
constexpr std::size_t session_id_bytes = 1024;
constexpr std::size_t challenge_bytes = 8192;   ///< of WWW-Authenticate
constexpr std::size_t param_headers = 64;       ///< of one tool
constexpr std::size_t param_header_bytes = 128; ///< of one header's name
constexpr std::size_t event_id_bytes = 1024;
constexpr std::size_t idle_resumptions = 100; ///< consecutive ones of a call's stream that bring nothing new
constexpr std::size_t question_bytes = 4'000; ///< of the message of a question to a human
constexpr std::size_t form_bytes = 32 * 1024; ///< of a question's form
constexpr std::size_t form_fields = 64;
constexpr std::size_t form_name_bytes = 128;
constexpr std::size_t form_text_bytes = 16 * 1024;      ///< of one value
constexpr std::size_t form_choices = 256;               ///< of one field
constexpr std::size_t questions = 32;                   ///< of one call, in total
constexpr std::size_t open_questions = 8;               ///< of one call, at once
constexpr std::size_t rounds = 32;                      ///< repetitions of one call because input is required
constexpr std::size_t request_state_bytes = 128 * 1024; ///< state that is sent back with a repeated call
constexpr std::size_t stream_requests = 100; ///< server requests in one HTTP answer; further ones are not answered

} // namespace quell::integrations::mcp_limits
