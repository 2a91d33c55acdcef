// The bodies of requests about workers, tokens and PTYs as checked values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controller/orders.hpp"
#include "controller/records/records.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

struct enrol_request {
  std::string name;
  std::optional<std::string> key; ///< a public key; nullopt = make a key pair here
  std::map<std::string, std::string> labels;
};
tl::expected<enrol_request, problem> read_enrol(std::string_view body);

struct drain_request {
  std::string reason;
  std::optional<milliseconds> deadline;
  worker_tasks tasks = worker_tasks::go_on;
};
tl::expected<drain_request, problem> read_drain(std::string_view body);

/// Accepts only an empty object (resume).
tl::expected<void, problem> read_nothing(std::string_view body);

struct token_request {
  std::optional<token_id> id; ///< chosen by the client, so that a request without an answer can be sent again
  std::string name;
  quell::role role = quell::role::observer;
  std::optional<scope_path> scope;
  std::optional<records::person> owner;
  std::optional<wall_time> expires_at;
};
tl::expected<token_request, problem> read_token(std::string_view body);

struct window_size {
  std::uint16_t rows = 24, columns = 80;
};
tl::expected<window_size, problem> read_resize(std::string_view body);

} // namespace quell::controller::http
