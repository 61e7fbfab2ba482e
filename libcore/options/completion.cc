#include "options/completion.h"

#include "base/error.h"

namespace paddle {
namespace {

// Inside single quotes of a shell, and without what a shell's list would be divided by.
std::string quotable(const std::string& help, size_t longest = 100) {
  std::string out;
  for (const char c : help.substr(0, help.find_first_of(";\n")))
    out += c == '\'' ? '"' : c == '[' ? '(' : c == ']' ? ')' : c;
  if (out.size() <= longest) return out;
  return out.substr(0, out.rfind(' ', longest)) + " ...";
}

OptionTable options_of(const Command& command) {
  return command.options ? command.options() : OptionTable{};
}

// A flag that is true or false needs no value.
std::string flag_word(const Option& o) {
  return "--" + o.name + (o.type == OptionType::flag ? "" : "=");
}

std::string bash_script(const std::string& program, std::span<const Command> commands) {
  std::string names, cases;
  for (const Command& c : commands) {
    names += (names.empty() ? "" : " ") + c.name;
    std::string flags;
    for (const Option& o : options_of(c)) flags += (flags.empty() ? "" : " ") + flag_word(o);
    if (!flags.empty()) cases += text("    ", c.name, ") flags='", flags, "' ;;\n");
  }
  const std::string function = "_" + program;
  return text("# ", program, " completion bash >/etc/bash_completion.d/", program, "\n", function,
              "() {\n"
              "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags=\n"
              "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
              "    COMPREPLY=($(compgen -W '",
              names,
              "' -- \"$word\"))\n"
              "    return\n"
              "  fi\n"
              "  if [ \"$word\" = = ] || [ \"$before\" = = ]; then\n"
              "    COMPREPLY=($(compgen -f -- \"${word#=}\"))\n"
              "    return\n"
              "  fi\n"
              "  case ${COMP_WORDS[1]} in\n",
              cases,
              "  esac\n"
              "  COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
              "  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null || true\n"
              "}\n"
              "complete -o default -F ",
              function, " ", program, "\n");
}

std::string zsh_script(const std::string& program, std::span<const Command> commands) {
  std::string names, cases;
  for (const Command& c : commands) {
    names += text("    '", c.name, ":", quotable(c.help), "'\n");
    std::string flags;
    for (const Option& o : options_of(c))
      flags += text(" \\\n      '", flag_word(o), o.type == OptionType::flag ? "" : "-", "[",
                    quotable(o.help), "]", o.type == OptionType::flag ? "" : ":value:_files", "'");
    if (!flags.empty()) cases += text("    ", c.name, ") _arguments", flags, " ;;\n");
  }
  return text("#compdef ", program, "\n# ", program, " completion zsh >\"${fpath[1]}/_", program,
              "\"\n_", program,
              "() {\n"
              "  local -a commands=(\n",
              names,
              "  )\n"
              "  if (( CURRENT == 2 )); then\n"
              "    _describe command commands\n"
              "    return\n"
              "  fi\n"
              "  local name=$words[2]\n"
              "  shift words\n"
              "  (( CURRENT-- ))\n"
              "  case $name in\n",
              cases,
              "  esac\n"
              "}\n"
              "compdef _",
              program, " ", program, "\n");
}

std::string fish_script(const std::string& program, std::span<const Command> commands) {
  std::string out =
      text("# ", program, " completion fish >~/.config/fish/completions/", program, ".fish\n");
  for (const Command& c : commands) {
    out += text("complete -c ", program, " -f -n __fish_use_subcommand -a ", c.name, " -d '",
                quotable(c.help), "'\n");
    for (const Option& o : options_of(c))
      out +=
          text("complete -c ", program, " -n '__fish_seen_subcommand_from ", c.name, "' -l ",
               o.name, o.type == OptionType::flag ? "" : " -r", " -d '", quotable(o.help), "'\n");
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::string& program,
                              std::span<const Command> commands) {
  if (shell == "bash") return bash_script(program, commands);
  if (shell == "zsh") return zsh_script(program, commands);
  if (shell == "fish") return fish_script(program, commands);
  throw Error(Error::Kind::config, "there is no completion for '", shell,
              "': give bash, zsh or fish");
}

}  // namespace paddle
