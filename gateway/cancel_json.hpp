// Writes a cancel with its report as in SURFACE 3, and the dry run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/orders.hpp"
#include "gateway/operation_json.hpp"

namespace quell::controller::http {

/// Whether there is a record: only then are `id`, `seq` and `status` written. A dry run and a cancel of finished work
/// record nothing.
enum class recorded : std::uint8_t { yes, no };

/// `view.unproven[i].title` must be filled in; lists at most `most_unproven` of them.
void write_cancel(json_writer& to, const cancel_view& view, std::size_t most_unproven, recorded what = recorded::yes);
/// The answer to a dry run. `would_stop` in the order of `view.would_stop`.
std::string dry_run_json(const cancel_view& view, const std::vector<shown_operation>& would_stop);
/// The short form inside a problem (SURFACE 4).
void write_cancel_reference(json_writer& to, const records::cancel_record& record);
/// `{"scope": …}`, `{"operation": …}`, `{"owner": …, "scope": …}` or `{"everything": true}`.
void write_target(json_writer& to, const records::cancel_target& target);

/// 200 if settled or nothing was live, else 202.
unsigned cancel_http_status(const cancel_view& view);

} // namespace quell::controller::http
