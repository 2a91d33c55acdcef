// The kinds of flags that several commands share: texts, durations, scopes, K=V pairs; each one refuses a bad value
// with a sentence.
#include "cli/declare.hpp"

#include "cli/duration.hpp"
#include "protocol/scope.hpp"

namespace quell::cli {
namespace {

/// The value of a text option that must not be empty: `--owner "$U"` with U unset must not mean "no owner named".
std::string not_empty(const std::string& name, std::string value) {
  if (value.empty()) throw CLI::ValidationError(name, "must not be empty");
  return value;
}

milliseconds duration_or_throw(const std::string& name, const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed) throw CLI::ValidationError(name, parsed.error().detail);
  return *parsed;
}

} // namespace

CLI::Option* add_text(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                      const std::string& about) {
  return app
      .add_option_function<std::string>(
          name, [name, &target](const std::string& value) { target = not_empty(name, value); }, about)
      ->type_name("TEXT");
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, std::optional<milliseconds>& target,
                          const std::string& about) {
  return app
      .add_option_function<std::string>(
          name, [name, &target](const std::string& value) { target = duration_or_throw(name, value); }, about)
      ->type_name("DURATION");
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, milliseconds& target, const std::string& about) {
  return app
      .add_option_function<std::string>(
          name, [name, &target](const std::string& value) { target = duration_or_throw(name, value); }, about)
      ->type_name("DURATION");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                      const std::string& about) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &target](const std::string& value) {
            const auto parsed = parse_size(value);
            if (!parsed) throw CLI::ValidationError(name, parsed.error().detail);
            if (*parsed < 1024 * 1024) throw CLI::ValidationError(name, "must be at least 1MiB");
            target = *parsed;
          },
          about)
      ->type_name("SIZE");
}

CLI::Option* add_scope(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                       const std::string& about) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &target](const std::string& value) {
            const auto parsed = scope_path::parse(value);
            if (!parsed) throw CLI::ValidationError(name, parsed.error().detail);
            target = value;
          },
          about)
      ->type_name("SCOPE");
}

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& about) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, &target](const std::vector<std::string>& values) {
            for (const auto& value : values) target.push_back(not_empty(name, value));
          },
          about)
      ->expected(-1)
      ->type_name("");
}

CLI::Option* add_pairs(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& about, pair_value value) {
  const bool needs_value = value == pair_value::required;
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, &target, needs_value](const std::vector<std::string>& values) {
            for (const auto& one : values) {
              const auto equals = one.find('=');
              if (equals == 0 || one.empty() || (needs_value && equals == std::string::npos))
                throw CLI::ValidationError(name, "'" + one + "' is not K=V");
              target.push_back(one);
            }
          },
          about)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(needs_value ? "K=V" : "K[=V]");
}

} // namespace quell::cli
