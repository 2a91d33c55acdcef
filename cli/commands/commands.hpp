// All commands: options in, exit code out. Each one is in the file of its name.
#pragma once

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"

namespace quell::cli {

exit_code execute(session& s, const up_options& o);
exit_code execute(session& s, const status_options& o);
exit_code execute(session& s, const console_options& o);
exit_code execute(session& s, const run_options& o);
exit_code execute(session& s, const ps_options& o);
exit_code execute(session& s, const show_options& o);
exit_code execute(session& s, const logs_options& o);
exit_code execute(session& s, const wait_options& o);
exit_code execute(session& s, const say_options& o);
exit_code execute(session& s, const chat_options& o);
exit_code execute(session& s, const history_options& o);
exit_code execute(session& s, const talk_options& o);
exit_code execute(session& s, const approve_options& o);
exit_code execute(session& s, const approvals_list_options& o);
exit_code execute(session& s, const approvals_revoke_options& o);
exit_code execute(session& s, const mcp_options& o);
exit_code execute(session& s, const acp_options& o);
exit_code execute(session& s, const mcp_login_options& o); ///< mcp_login.cpp
exit_code execute(session& s, const mcp_logout_options& o);
exit_code execute(session& s, const mcp_list_options& o);
exit_code execute(session& s, const cancel_options& o);
exit_code execute(session& s, const cancels_options& o);
exit_code execute(session& s, const why_options& o);
exit_code execute(session& s, const resolve_options& o);
exit_code execute(session& s, const scopes_options& o);
exit_code execute(session& s, const events_options& o);
exit_code execute(session& s, const audit_list_options& o);
exit_code execute(session& s, const audit_export_options& o);
exit_code execute(session& s, const audit_verify_options& o);
exit_code execute(session& s, const worker_add_options& o);
exit_code execute(session& s, const worker_list_options& o);
exit_code execute(session& s, const worker_show_options& o);
exit_code execute(session& s, const worker_drain_options& o);
exit_code execute(session& s, const worker_resume_options& o);
exit_code execute(session& s, const worker_remove_options& o);
exit_code execute(session& s, const token_create_options& o);
exit_code execute(session& s, const token_list_options& o);
exit_code execute(session& s, const token_revoke_options& o);
exit_code execute(session& s, const cost_options& o);
exit_code execute(session& s, const reload_options& o);
exit_code execute(session& s, const doctor_options& o);
exit_code execute(session& s, const completion_options& o);
exit_code execute(session& s, const help_options& o);
exit_code execute(session& s, const version_options& o);

} // namespace quell::cli
