// The flags of run, ps, show, logs and wait.
#include "cli/declare.hpp"

namespace quell::cli {
namespace {

void run_fields(CLI::App& app, run_options& o) {
  add_scope(app, "--scope", o.scope, "scope of the operation (default: the parent's, QUELL_SCOPE, default)");
  add_text(app, "--parent", o.parent, "operation that it is a child of, or none (default: QUELL_OPERATION)")
      ->type_name("ID|none");
  add_text(app, "--id", o.id, "the operation's id, a UUIDv7 of your own: repeating the command is then safe")
      ->type_name("ID");
  add_text(app, "--title", o.title, "a name for people");
  add_pairs(app, "--label", o.labels, "mark the operation");
  add_pairs(app, "--on", o.on, "a label that the worker must have");
  add_text(app, "--worker", o.worker, "the one worker to run on")->type_name("NAME");
  app.add_option("--slots", o.slots, "slots that it takes (default 1)")->check(CLI::Range(0, 100000).description(""));
  add_size(app, "--memory", o.memory, "most memory of its whole tree, such as 2GiB (default: the worker's limit)");
  app.add_option("--pids", o.pids, "most processes and threads of its whole tree (default: the worker's limit)")
      ->type_name("N")
      ->check(CLI::Range(1, 4'194'304).description(""));
  app.add_option("--cpu", o.cpu, "most processors that it may use, such as 1.5 (default: the worker's limit)")
      ->type_name("N")
      ->check(CLI::Range(0.01, 4096.0).description(""));
  add_duration(app, "--timeout", o.timeout, "fail it after this time (exit 124)");
  add_duration(app, "--grace", o.grace, "time between SIGTERM and SIGKILL; 0 = kill at once (default 2s)");
  add_duration(app, "--lease", o.lease, "how long it may run on while its worker is cut off");
  add_text(app, "--stop-signal", o.stop_signal, "first signal of a stop (default TERM)")
      ->check(CLI::IsMember({"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"}));
  add_text(app, "--containment", o.containment, "least level accepted")
      ->check(CLI::IsMember({"group", "pidns", "cgroup", "cgroup+pidns"}));
  add_text(app, "--on-parent-end", o.on_parent_end, "what its parent's end does to it")
      ->check(CLI::IsMember({"cancel", "wait", "detach"}));
  add_text(app, "--on-leader-exit", o.on_leader_exit, "when the command exits while its children live")
      ->check(CLI::IsMember({"wait", "kill"}));
  add_text(app, "--supersede", o.supersede,
           "cancel the older operation with this key in this scope, and start when it has ended")
      ->type_name("KEY");
  add_pairs(app, "--env", o.env, "set K=V, or take K from here", pair_value::optional);
  add_text(app, "--env-file", o.env_file, "a file of K=V lines")->type_name("FILE");
  add_pairs(app, "--secret", o.secrets,
            "give it the contents of a file here as NAME: it finds them in the file that QUELL_SECRET_NAME_FILE names")
      ->type_name("NAME=FILE");
  add_text(app, "--cwd", o.cwd, "directory on the worker")->type_name("DIR");
  add_text(app, "--user", o.user, "run it as this user of the worker, which must permit it (default: the worker's own)")
      ->type_name("NAME");
  add_duration(app, "--reconnect", o.reconnect,
               "how long to try when contact with the controller is lost (default 60s)");
  app.add_flag("-i,--input", o.input, "forward standard input");
  app.add_flag("--pty", o.pty, "give it a terminal");
  app.add_flag("-d,--detach", o.detach, "print the id and return");
  add_words(app, "CMD", o.command, "the command, behind --")->type_name("-- CMD");
}

void ps_fields(CLI::App& app, ps_options& o) {
  add_scope(app, "--scope", o.scope, "only at or below this scope");
  add_text(app, "--status", o.status, "only this status")
      ->check(CLI::IsMember(
          {"pending", "running", "paused", "cancelling", "completed", "failed", "cancelled", "live", "ended"}));
  add_text(app, "--worker", o.worker, "only on this worker")->type_name("NAME");
  add_text(app, "--kind", o.kind, "only this kind")->type_name("KIND");
  add_pairs(app, "--label", o.labels, "only with this label");
  app.add_flag("--tree", o.tree, "draw who started whom");
  app.add_flag("-a,--all", o.all, "also what has ended");
  app.add_flag("-q,--quiet", o.quiet, "ids only");
  app.add_flag("-w,--watch", o.watch, "show again as things change, until Ctrl-C");
}

void logs_fields(CLI::App& app, logs_options& o) {
  app.add_option("ID", o.id, "operation")->required();
  app.add_flag("-f,--follow", o.follow, "until it ends");
  app.add_option("--tail", o.tail, "only the last lines")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{10'000'000}).description(""));
  add_duration(app, "--since", o.since, "only what the controller received within this time, to about a second");
  add_text(app, "--stream", o.stream, "only one stream")->check(CLI::IsMember({"stdout", "stderr"}));
  app.add_flag("--tree", o.tree, "of everything below it too, each line with its id");
}

void wait_fields(CLI::App& app, wait_options& o) {
  add_words(app, "ID", o.ids, "operations")->required();
  add_duration(app, "--timeout", o.timeout, "wait at most this long (exit 4)");
  add_duration(app, "--reconnect", o.reconnect,
               "how long to try when contact with the controller is lost (default 60s)");
}

} // namespace

void declare_work(declaration& d) {
  d.command<run_options>(d.app, "run", "Run a command on a worker and stream its output", run_fields);
  d.command<ps_options>(d.app, "ps", "Live operations", ps_fields);
  d.command<show_options>(d.app, "show", "One operation",
                          [](CLI::App& app, show_options& o) { app.add_option("ID", o.id, "operation")->required(); });
  d.command<logs_options>(d.app, "logs", "Output of an operation", logs_fields);
  d.command<wait_options>(d.app, "wait", "Wait until operations end", wait_fields);
}

} // namespace quell::cli
