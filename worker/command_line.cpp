// Flags of quell-worker. CLI11's own exit codes (100 and more) never leak.
#include "worker/command_line.hpp"

#include "worker/settings_confinement.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>

namespace quell::worker {

namespace {
constexpr const char* examples = R"(
Examples:
  quell-worker --join-file worker.join          join with the line that `quell worker add w3` printed
  pass worker/w3 | quell-worker --join-file - --slots 16 --label gpu=1
                                                the same from standard input: the line is a secret, and others on this
                                                machine may see the arguments of --join before the worker hides them
  quell-worker keygen --state /var/lib/quell-worker/w3
                                                make a key here; enrol it with `quell worker add w3 --key PUBLIC`
  quell-worker rotate-key --state /var/lib/quell-worker/w3
                                                a new key for the worker that runs there; its tasks go on
  quell-worker --config worker.toml --print-config

Stop it with SIGTERM: its tasks get their grace and end with proof. A second SIGTERM kills them at once.
Exit codes: 0 clean stop, 1 runtime, 2 usage or configuration. Environment: QUELL_WORKER_<SECTION>_<KEY>.)";
}

void hide_join_line(int argc, char** argv) {
  constexpr std::string_view mark = "qwj";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    const auto at = argument.find(mark);
    if (at == std::string_view::npos) continue;
    for (auto from = at + mark.size(); from < argument.size(); ++from) argv[i][from] = '.';
  }
}

parsed_command_line parse_command_line(int argc, char** argv, const std::string& version) {
  command_line line;
  CLI::App app{"quell-worker runs process trees for a quell controller, and stops them with proof."};
  app.footer(examples);
  app.set_version_flag("-V,--version", "quell-worker " + version);
  std::string join, work_dir, level, name;
  std::int64_t slots = 0;
  std::vector<std::string> labels, users;
  auto* join_flag =
      app.add_option("--join", join, "the line that `quell worker add NAME` printed (a secret)")->type_name("LINE");
  auto* file_flag = app.add_option("--join-file", line.join_file, "a file that holds this line; - = standard input")
                        ->type_name("FILE");
  join_flag->excludes(file_flag);
  app.add_option("--config", line.config,
                 "configuration (TOML): [worker] name, slots, labels, work_dir, containment, env, users, user, "
                 "sandbox, capabilities, hide, workspaces, workspaces_per_guild, memory, pids, cpu; [controller] join")
      ->type_name("FILE");
  app.add_option("--state", line.state,
                 "state directory (default ~/.local/state/quell-worker/NAME, as root /var/lib/quell-worker/NAME)")
      ->type_name("DIR");
  auto* name_flag =
      app.add_option("--name", name, "name, used for the state directory (default: that of the join line)");
  auto* slots_flag =
      app.add_option("--slots", slots, "how many slots it offers (default: 4 per core, at least 8)")->type_name("N");
  app.add_option("--label", labels, "a label of this worker, k=v; may be repeated")
      ->type_name("K=V")
      ->expected(1)
      ->take_all();
  auto* dir_flag =
      app.add_option("--work-dir", work_dir, "directory of tasks that name none (default: HOME)")->type_name("DIR");
  auto* level_flag = app.add_option("--containment", level,
                                    "cgroup+pidns, cgroup, pidns or group (default: the strongest that works here)")
                         ->type_name("LEVEL");
  app.add_option("--user", users, "a user that tasks may ask for (`quell run --user`), needs root; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  std::string user, sandbox, memory, pids, cpu;
  app.add_option("--default-user", user,
                 "the user of tasks that ask for none; the worker's own is then refused unless --user permits it")
      ->type_name("NAME");
  app.add_option("--sandbox", sandbox,
                 "on (default): tasks get few capabilities, no new privileges, a filter of system calls, a view of the "
                 "machine that they cannot change, and limits; off: none of this")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--memory", memory,
                 "most memory of a task, such as 4GiB; 0 = no limit (default: 90% of the machine's)")
      ->type_name("SIZE");
  app.add_option("--pids", pids, "most processes and threads of a task; 0 = no limit (default 4096)")->type_name("N");
  app.add_option("--cpu", cpu, "most processors of a task, such as 1.5; 0 = no limit (default)")->type_name("N");
  app.add_option("--guardian", line.guardian, "the quell-guardian program (default: beside this one)")
      ->type_name("PATH");
  app.add_option("--log-level", line.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->envname("QUELL_WORKER_LOG_LEVEL");
  app.add_option("--log-format", line.log_format, "text, or json: one object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->envname("QUELL_WORKER_LOG_FORMAT");
  app.add_flag("--print-config", line.print_config, "print the configuration that would be used, and leave");
  auto* keygen = app.add_subcommand(
      "keygen", "make a key for this worker: prints the public half, keeps the secret one in the state directory");
  keygen->fallthrough();
  auto* rotate = app.add_subcommand(
      "rotate-key", "give the worker of a state directory a new key, without a restart; prints the public half");
  rotate->fallthrough();
  rotate->add_option("--wait", line.timeout_s, "how many seconds to wait for it (default 30)")
      ->type_name("S")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400}));
  auto* probe = app.add_subcommand("probe", "print as JSON what containment this machine can do, and its limits");

  parsed_command_line answer;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    answer.exit_code = app.exit(error) == 0 ? 0 : 2;
    return answer;
  }
  const auto refuse = [&](const std::string& why) {
    std::cerr << "quell-worker: " << why << "\n";
    answer.exit_code = 2;
    return answer;
  };
  line.keygen = keygen->parsed();
  line.rotate_key = rotate->parsed();
  line.probe = probe->parsed();
  if (*join_flag) line.flags.join = join;
  if (*name_flag) line.flags.name = name;
  if (*dir_flag) line.flags.work_dir = work_dir;
  if (*slots_flag) {
    auto parsed = parse_slots(slots);
    if (!parsed) return refuse("--slots " + parsed.error().detail);
    line.flags.slots = *parsed;
  }
  if (*level_flag) {
    auto parsed = parse_containment(level);
    if (!parsed) return refuse("--containment: " + parsed.error().detail);
    line.flags.least = *parsed;
  }
  for (const auto& label : labels) {
    auto pair = parse_pair(label, "--label");
    if (!pair) return refuse(pair.error().detail);
    line.flags.labels.insert(std::move(*pair));
  }
  const std::array<std::pair<const char*, std::string*>, 5> confinement{{{"worker.user", &user},
                                                                         {"worker.sandbox", &sandbox},
                                                                         {"worker.memory", &memory},
                                                                         {"worker.pids", &pids},
                                                                         {"worker.cpu", &cpu}}};
  for (const auto& [key, text] : confinement) {
    if (text->empty()) continue;
    if (auto why = set_confinement(line.flags, key, read_confinement(*text)); !why.empty())
      return refuse("--" + std::string(key == std::string_view("worker.user") ? "default-user" : key + 7) + " " + why);
  }
  if (!users.empty()) line.flags.users = std::move(users);
  answer.line = std::move(line);
  return answer;
}

} // namespace quell::worker
