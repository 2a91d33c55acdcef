// The flags of cancel, cancels, why, resolve and scopes.
#include "cli/declare.hpp"

namespace quell::cli {
namespace {

void cancel_fields(CLI::App& app, cancel_options& o) {
  add_words(app, "ID", o.ids, "operations");
  add_scope(app, "--scope", o.scope, "everything at or below this scope");
  add_text(app, "--owner", o.owner, "everything that this owner started (with --scope: there)")->type_name("ID");
  app.add_flag("--everything", o.everything, "everything that the token may see; needs --yes");
  app.add_flag("-y,--yes", o.yes, "yes, everything");
  add_text(app, "--reason", o.reason, "why, for the record");
  add_duration(app, "--grace", o.grace, "time between SIGTERM and SIGKILL (default: each operation's own)");
  app.add_flag("--kill", o.kill, "kill at once (= --grace 0)");
  app.add_option(
         "--up-to-seq", o.up_to_seq,
         "leave what began behind this number, unless it belongs to what began before (a dry run says the number)")
      ->type_name("N");
  app.add_flag("--dry-run", o.dry_run, "only say what it would stop");
  app.add_flag("-q,--quiet", o.quiet, "only the cancel's id; with --dry-run those of the operations");
  // A bare --wait was changed to --wait=settled before CLI11 saw the words, so that it cannot swallow an id.
  auto* wait = app.add_option("--wait", o.level, "level to wait for: --wait=signalled; bare = settled")
                   ->type_name("=LEVEL")
                   ->check(CLI::IsMember({"fenced", "signalled", "settled"}));
  app.add_flag_callback(
         "--no-wait", [&o] { o.level = "fenced"; }, "return once it is fenced")
      ->excludes(wait);
  add_duration(app, "--timeout", o.timeout, "wait at most this long (exit 4); the cancel goes on");
  add_duration(app, "--reconnect", o.reconnect,
               "how long to try when contact with the controller is lost (default 60s)");
}

} // namespace

void declare_stop(declaration& d) {
  d.command<cancel_options>(d.app, "cancel", "Stop operations, a scope, an owner's work or everything, and prove it",
                            cancel_fields);
  d.command<cancel_options>(d.app, "stop", "The same as cancel", cancel_fields);
  d.command<cancel_options>(d.app, "kill", "The same as cancel --kill", [](CLI::App& app, cancel_options& o) {
    cancel_fields(app, o);
    o.kill = true;
  });
  d.command<cancels_options>(d.app, "cancels", "Cancels and how far they are", [](CLI::App& app, cancels_options& o) {
    app.add_flag("--open", o.open, "only those not settled");
    add_scope(app, "--scope", o.scope, "only of this scope");
    app.add_flag("-q,--quiet", o.quiet, "ids only");
  });
  d.command<why_options>(
      d.app, "why", "Work that is not dead, or not started, yet; since when; what comes next",
      [](CLI::App& app, why_options& o) {
        app.add_option("TARGET", o.target, "operation, cancel or scope")->required()->type_name("ID|CANCEL|SCOPE");
      });
  d.command<resolve_options>(
      d.app, "resolve", "An admin's word that something is dead", [](CLI::App& app, resolve_options& o) {
        auto* id = add_text(app, "ID", o.id, "operation");
        add_text(app, "--worker", o.worker, "everything on this worker")->type_name("NAME")->excludes(id);
        app.add_flag("--declare-dead", o.declare_dead, "you looked, and it is gone")->required();
        add_text(app, "--reason", o.reason, "how you know")->required();
      });
  d.command<scopes_options>(d.app, "scopes", "Scopes with their live counts", [](CLI::App& app, scopes_options& o) {
    add_scope(app, "--prefix", o.prefix, "only at or below this scope");
    app.add_flag("--live", o.live, "only those with live work");
  });
}

} // namespace quell::cli
