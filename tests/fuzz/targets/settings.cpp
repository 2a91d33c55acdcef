// Configuration of all three programs: files, environment variables and single flags.
#include "worker/settings.hpp"
#include "cli/context_file.hpp"
#include "quelld/config.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

void controller_file(std::string_view text) {
  const memory_file file(text);
  const auto read = controller::load_config(file.path(), {});
  if (!read) {
    expect(!read.error().detail.empty(), "a bad configuration is refused with a reason");
    return;
  }
  (void)controller::check_config(*read);
  // The printed text is a configuration again, and the same one.
  const auto printed = controller::config_text(*read);
  const memory_file second(printed);
  const auto again = controller::load_config(second.path(), {});
  expect(again.has_value(), "a printed configuration can be read");
  expect(controller::config_text(*again) == printed, "a printed configuration is the same configuration");
}

void worker_file(std::string_view text) {
  const auto read = worker::settings_from_toml(std::string(text), "worker.toml");
  if (!read)
    return expect(read.error().code == "bad_config" && !read.error().detail.empty(),
                  "a bad configuration is refused with a reason");
  expect(!read->slots || (*read->slots >= 1 && *read->slots <= 100'000), "slots are bounded");
  expect(read->labels.size() <= 64 && read->env.size() <= 64, "labels and variables are few");
  const auto shown = worker::settings_as_toml(*read);
  if (read->join && read->join->size() > 20)
    expect(shown.find(*read->join) == std::string::npos, "a join line is not shown");
}

void variables(std::string_view bytes) {
  choices from(bytes);
  std::map<std::string, std::string> environment;
  for (auto left = 1 + from.below(4); left > 0; --left) {
    auto name = from.text();
    auto value = from.text();
    environment[name] = value;
    environment["QUELLD_" + name] = value;
    environment["QUELL_WORKER_" + name] = value;
    controller::config c;
    if (!controller::set_config(c, name, value)) continue;
    (void)controller::config_text(c);
  }
  (void)controller::load_config("", environment);
  (void)worker::settings_from_environment(environment);
}

void contexts(std::string_view text) {
  const memory_file file(text);
  (void)cli::read_context(file.path(), std::nullopt);
  const auto named = cli::read_context(file.path(), "home");
  if (named)
    expect(named->has_value() && (*named)->name == "home", "a context that is asked for is there or is missed");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto rest = bytes.substr(1);
  switch (bytes.front() & 3) {
  case 0:
    return controller_file(rest);
  case 1:
    return worker_file(rest);
  case 2:
    return variables(rest);
  default:
    return contexts(rest);
  }
}

std::vector<std::string> seeds() {
  const auto variable = [](std::string_view name, std::string_view value) {
    return choice_writer().byte(2).byte(0).piece(name).piece(value).done();
  };
  return {std::string(1, '\0') + controller::config_text({}),
          std::string(1, '\0') + "[http]\nlissten = 'x'\n",
          std::string(1, '\0') + "[workers]\nlease = 10\n",
          "\1[worker]\nname = \"w1\"\nslots = 8\nlabels = { gpu = \"1\" }\nwork_dir = \"/srv\"\ncontainment = "
          "\"cgroup\"\nenv = { A = \"b\" }\n[controller]\njoin = \"qwj1.secretsecretsecret\"\n",
          "\1[worker]\nslots = 99999999999999999999\n",
          variable("HTTP_LISTEN", "127.0.0.1:0"),
          variable("WORKER_SLOTS", "9"),
          variable("WORKER_LABELS", "a=b,c=d,=,"),
          variable("workers.lease", "10s"),
          "\3context = \"home\"\n[contexts.home]\nurl = \"http://127.0.0.1:7710\"\ntoken = \"qk_x\"\nscope = \"a/b\"\n",
          "\3[contexts]\nhome = 1\n"};
}

const known_target known("settings", run, seeds);

} // namespace
} // namespace quell::fuzz
