// The flags of up, status, console, worker, events, audit, token, doctor, completion, help and version.
#include "cli/declare.hpp"

namespace quell::cli {
namespace {

void add_name(CLI::App& app, std::string& target) { app.add_option("NAME", target, "worker")->required(); }

void drain_fields(CLI::App& app, worker_drain_options& o) {
  add_name(app, o.name);
  add_text(app, "--reason", o.reason, "why, for the record");
  add_duration(app, "--deadline", o.deadline, "cancel what still runs there after this time");
  app.add_flag("--cancel", o.cancel, "cancel what runs there now");
}

void list_fields(CLI::App& app, worker_list_options& o) { app.add_flag("-q,--quiet", o.quiet, "names only"); }

void declare_worker(declaration& d) {
  auto* worker = d.app.add_subcommand("worker", "Workers");
  worker->require_subcommand(1);
  d.command<worker_add_options>(
      *worker, "add", "Enrol a worker and print its join line", [](CLI::App& app, worker_add_options& o) {
        add_name(app, o.name);
        add_text(app, "--key", o.key, "its own public key, from quell-worker keygen")->type_name("PUB");
        add_pairs(app, "--label", o.labels, "label for `quell run --on`");
      });
  d.command<worker_list_options>(*worker, "list", "All workers", list_fields);
  d.command<worker_show_options>(*worker, "show", "One worker",
                                 [](CLI::App& app, worker_show_options& o) { add_name(app, o.name); });
  d.command<worker_drain_options>(*worker, "drain", "Let it finish and start nothing more there", drain_fields);
  d.command<worker_resume_options>(*worker, "resume", "End a drain",
                                   [](CLI::App& app, worker_resume_options& o) { add_name(app, o.name); });
  d.command<worker_remove_options>(*worker, "remove", "Forget a worker and its key",
                                   [](CLI::App& app, worker_remove_options& o) {
                                     add_name(app, o.name);
                                     app.add_flag("--cancel", o.cancel, "cancel what runs there");
                                   });
  d.command<worker_list_options>(d.app, "workers", "The same as worker list", list_fields);
  d.command<worker_drain_options>(d.app, "drain", "The same as worker drain", drain_fields);
}

void declare_audit(declaration& d) {
  auto* audit = d.app.add_subcommand("audit", "Actions, by whom and when (admins without scope)");
  audit->require_subcommand(1);
  const auto after = [](CLI::App& app, std::uint64_t& into) {
    app.add_option("--after", into, "only entries behind this number")->type_name("N");
  };
  d.command<audit_list_options>(*audit, "list", "The entries as a table, oldest first",
                                [&](CLI::App& app, audit_list_options& o) { after(app, o.after); });
  d.command<audit_export_options>(
      *audit, "export", "Entries as lines of JSON that are only ever appended",
      [&](CLI::App& app, audit_export_options& o) {
        add_text(app, "--to", o.to, "a copy to append to; goes on behind its last entry")->type_name("FILE");
        after(app, o.after);
      });
  d.command<audit_verify_options>(
      *audit, "verify", "Whether the chain of hashes holds", [](CLI::App& app, audit_verify_options& o) {
        add_text(app, "FILE", o.file, "a copy, - for standard input; else the controller's");
      });
}

void declare_token(declaration& d) {
  auto* token = d.app.add_subcommand("token", "Access tokens");
  token->require_subcommand(1);
  d.command<token_create_options>(*token, "create", "Make a token and print its secret once",
                                  [](CLI::App& app, token_create_options& o) {
                                    app.add_option("NAME", o.name, "who will use it")->required();
                                    app.add_option("--role", o.role, "what it may")
                                        ->required()
                                        ->check(CLI::IsMember({"observer", "chat", "operator", "admin"}));
                                    add_scope(app, "--scope", o.scope, "only at or below this scope");
                                    add_duration(app, "--expires", o.expires, "valid for this long");
                                  });
  d.command<token_list_options>(*token, "list", "All tokens, without their secrets",
                                [](CLI::App&, token_list_options&) {});
  d.command<token_revoke_options>(*token, "revoke", "End a token", [](CLI::App& app, token_revoke_options& o) {
    app.add_option("ID", o.id, "token")->required();
  });
}

} // namespace

void declare_cluster(declaration& d) {
  d.command<up_options>(
      d.app, "up", "A whole cluster on this machine, in the foreground", [](CLI::App& app, up_options& o) {
        app.add_option("--workers", o.workers, "how many (default 2)")->check(CLI::Range(0, 64).description(""));
        app.add_option("--slots", o.slots, "slots of each worker")->check(CLI::Range(1, 100000).description(""));
        add_text(app, "--listen", o.listen, "HTTP address (default 127.0.0.1:7710; port 0 = a free one)")
            ->type_name("HOST:PORT");
        add_text(app, "--config", o.config, "configuration of quelld")->type_name("FILE");
      });
  d.command<status_options>(d.app, "status", "The cluster in a few lines", [](CLI::App&, status_options&) {});
  d.command<console_options>(
      d.app, "console", "A link that signs a browser in to the web console, once",
      [](CLI::App& app, console_options& o) { app.add_flag("--open", o.open, "open it in a browser"); });
  declare_worker(d);
  d.command<events_options>(
      d.app, "events", "Events of the past, or with -f as they happen", [](CLI::App& app, events_options& o) {
        app.add_flag("-f,--follow", o.follow, "go on until Ctrl-C");
        add_scope(app, "--scope", o.scope, "only at or below this scope");
        add_text(app, "--operation", o.operation, "only of this operation and below")->type_name("ID");
        add_text(app, "--types", o.types, "comma-separated event types")->type_name("T,T");
        add_text(app, "--after", o.after, "only after this event id; 0 = from the oldest kept")->type_name("N");
      });
  declare_audit(d);
  declare_token(d);
  d.command<cost_options>(d.app, "cost", "The use of model calls", [](CLI::App& app, cost_options& o) {
    app.add_option("--by", o.by, "one line for each of these (default day)")
        ->check(CLI::IsMember({"scope", "author", "day", "agent", "model"}));
    add_scope(app, "--scope", o.scope, "only at or below this scope");
    add_text(app, "--from", o.from, "the first day, of UTC (default: 29 days before the last)")->type_name("DAY");
    add_text(app, "--to", o.to, "the last day (default: today)")->type_name("DAY");
  });
  d.command<reload_options>(d.app, "reload", "Make the controller read its configuration anew",
                            [](CLI::App&, reload_options&) {});
  d.command<doctor_options>(d.app, "doctor", "The promises that this machine and the cluster can keep, and their gaps",
                            [](CLI::App&, doctor_options&) {});
  d.command<completion_options>(d.app, "completion", "A completion script for your shell",
                                [](CLI::App& app, completion_options& o) {
                                  app.add_option("SHELL", o.shell, "bash, zsh or fish")
                                      ->required()
                                      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
                                });
  d.command<help_options>(d.app, "help", "Help on a command, or `help errors`", [](CLI::App& app, help_options& o) {
    add_text(app, "TOPIC", o.topic, "a command, or errors");
  });
  d.command<version_options>(d.app, "version", "Versions", [](CLI::App&, version_options&) {});
}

} // namespace quell::cli
