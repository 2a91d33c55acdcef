// Generates completion scripts.
#include "cli/completion.hpp"

#include <set>

namespace quell::cli {
namespace {

const std::string global_flags = "--url --token-file --context --state --json --utc --color --help";
const std::string ids = "quell ps -q 2>/dev/null | sed 's/.*\\(........\\)$/\\1/'";
const std::string paused = "quell ps -q --status paused 2>/dev/null | sed 's/.*\\(........\\)$/\\1/'";
const std::string workers = "quell workers -q 2>/dev/null";

bool is_top(const command_description& c) { return c.path.find(' ') == std::string::npos; }

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string top_names(const std::vector<command_description>& commands) {
  std::vector<std::string> names;
  for (const auto& c : commands)
    if (is_top(c)) names.push_back(c.path);
  return joined_words(names);
}

/// The first words of two-word commands, as a pattern of the shell: `token|worker`.
std::string groups(const std::vector<command_description>& commands) {
  std::set<std::string> names;
  for (const auto& c : commands)
    if (const auto space = c.path.find(' '); space != std::string::npos) names.insert(c.path.substr(0, space));
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : "|") + name;
  return out;
}

std::string names_below(const std::vector<command_description>& commands, const std::string& parent) {
  std::vector<std::string> names;
  for (const auto& c : commands)
    if (c.path.starts_with(parent + " ")) names.push_back(c.path.substr(parent.size() + 1));
  return joined_words(names);
}

/// `case` branches: from a command path to the words that can follow.
std::string branches(const std::vector<command_description>& commands) {
  std::string out;
  for (const auto& c : commands) {
    std::string words = names_below(commands, c.path) + " " + joined_words(c.flags) + " " + global_flags;
    if (c.path == "completion") words = "bash zsh fish";
    if (c.path == "help") words = top_names(commands) + " errors";
    out += "    '" + c.path + "') words=\"" + words + "\"";
    if (c.takes_operation) out += c.takes_paused ? "; dynamic=paused" : "; dynamic=ids";
    if (c.takes_worker) out += "; dynamic=workers";
    out += " ;;\n";
  }
  return out;
}

std::string bash(const std::vector<command_description>& commands) {
  return "# bash completion for quell: source <(quell completion bash)\n"
         "_quell() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path='' words dynamic='' i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --) return ;;\n"
         "      -*) ;;\n"
         "      *) case $path in\n"
         "           '') path=${COMP_WORDS[i]} ;;\n"
         "           " +
         groups(commands) +
         ") path=\"$path ${COMP_WORDS[i]}\" ;;\n"
         "         esac ;;\n"
         "    esac\n"
         "  done\n"
         "  case $path in\n"
         "    '') words=\"" +
         top_names(commands) + " " + global_flags + "\" ;;\n" + branches(commands) +
         "  esac\n"
         "  [[ $dynamic == ids && $current != -* ]] && words=\"$words $(" +
         ids +
         ")\"\n"
         "  [[ $dynamic == paused && $current != -* ]] && words=\"$words $(" +
         paused +
         ")\"\n"
         "  [[ $dynamic == workers && $current != -* ]] && words=\"$words $(" +
         workers +
         ")\"\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _quell quell\n";
}

std::string zsh(const std::vector<command_description>& commands) {
  return "#compdef quell\n"
         "# zsh completion for quell: quell completion zsh > \"${fpath[1]}/_quell\"\n"
         "_quell() {\n"
         "  local path_='' dynamic='' word\n"
         "  local -a typed=(\"${(@)words[2,CURRENT-1]}\")\n"
         "  for word in \"${(@)typed}\"; do\n"
         "    case $word in\n"
         "      --) return ;;\n"
         "      -*) ;;\n"
         "      *) case $path_ in\n"
         "           '') path_=$word ;;\n"
         "           " +
         groups(commands) +
         ") path_=\"$path_ $word\" ;;\n"
         "         esac ;;\n"
         "    esac\n"
         "  done\n"
         "  local words=''\n"
         "  case $path_ in\n"
         "    '') words=\"" +
         top_names(commands) + " " + global_flags + "\" ;;\n" + branches(commands) +
         "  esac\n"
         "  [[ $dynamic == ids ]] && words=\"$words $(" +
         ids +
         ")\"\n"
         "  [[ $dynamic == paused ]] && words=\"$words $(" +
         paused +
         ")\"\n"
         "  [[ $dynamic == workers ]] && words=\"$words $(" +
         workers +
         ")\"\n"
         "  compadd -- ${=words}\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _quell ]; then _quell \"$@\"; else compdef _quell quell; fi\n";
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string fish(const std::vector<command_description>& commands) {
  std::string out = "# fish completion for quell: quell completion fish > "
                    "~/.config/fish/completions/quell.fish\ncomplete -c quell -f\n";
  for (const auto& c : commands) {
    if (is_top(c))
      out += "complete -c quell -n __fish_use_subcommand -a " + c.path + " -d '" + escaped(c.summary) + "'\n";
    std::string seen = "__fish_seen_subcommand_from " + c.path;
    if (const auto space = c.path.find(' '); space != std::string::npos) {
      const auto parent = c.path.substr(0, space), name = c.path.substr(space + 1);
      const auto below = names_below(commands, parent);
      out += "complete -c quell -n '__fish_seen_subcommand_from " + parent + "; and not __fish_seen_subcommand_from " +
             below + "' -a " + name + " -d '" + escaped(c.summary) + "'\n";
      seen = "__fish_seen_subcommand_from " + parent + "; and __fish_seen_subcommand_from " + name;
    }
    for (const auto& flag : c.flags) out += "complete -c quell -n '" + seen + "' -l " + flag.substr(2) + "\n";
    if (c.takes_operation)
      out += "complete -c quell -n '" + seen + "' -a '(quell ps -q" + (c.takes_paused ? " --status paused" : "") +
             " 2>/dev/null | string sub -s -8)'\n";
    if (c.takes_worker) out += "complete -c quell -n '" + seen + "' -a '(" + workers + ")'\n";
  }
  for (const char* shell : {"bash", "zsh", "fish"})
    out += std::string("complete -c quell -n '__fish_seen_subcommand_from completion' -a ") + shell + "\n";
  return out;
}

} // namespace

std::string completion_script(const std::string& shell, const std::vector<command_description>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  return {};
}

} // namespace quell::cli
