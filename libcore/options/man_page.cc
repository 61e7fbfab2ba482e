#include "options/man_page.h"

#include <sstream>

#include "base/error.h"

namespace paddle {
namespace {

// Nothing in the text is read as a request or an escape. Paths and flags must be copied as they
// are, so a minus is a minus.
std::string roff(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out.starts_with(".") ? "\\&" + out : out;
}

std::string title(const std::string& name, const std::string& version) {
  std::string upper;
  for (const char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text(".TH \"", roff(upper), "\" 1 \"\" \"Paddle ", version, "\" \"Paddle\"\n.SH NAME\n",
              roff(name), " \\- ");
}

// What stands in front of the options: calls, and the sentences behind them.
struct Beginning {
  std::vector<std::string> calls, sentences;
};

Beginning beginning_of(const std::string& help) {
  const std::string first = "usage: ", next(first.size(), ' ');
  Beginning out;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const bool call = out.sentences.empty() && (line.starts_with(first) || line.starts_with(next));
    if (call)
      out.calls.push_back(line.substr(first.size()));
    else
      out.sentences.push_back(line);
  }
  return out;
}

std::string synopsis(const std::vector<std::string>& calls) {
  std::string out = ".SH SYNOPSIS\n.nf\n";
  for (const std::string& call : calls) out += roff(call) + "\n";
  return out + ".fi\n";
}

std::string option_rows(const OptionTable& table) {
  std::string out, group;
  for (const Option& o : table) {
    if (o.group != group) out += ".SS \"" + roff(o.group) + "\"\n";
    group = o.group;
    out += ".TP\n\\fB\\-\\-" + roff(o.name);
    if (o.type == OptionType::flag)
      out += "\\fR";
    else
      out += "\\fR=\\fI" +
             (o.default_value.empty() ? std::string("VALUE") : roff(o.default_value)) + "\\fR";
    for (const std::string& alias : o.aliases) out += ", \\fB\\-\\-" + roff(alias) + "\\fR";
    std::string variables = "PADDLE_INIT_";
    for (const char c : o.name) variables += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    for (const std::string& name : o.environment) variables += ", " + name;
    out += "\n" + roff(o.help) + ".\nVariables: " + roff(variables) + ".\n";
  }
  return out;
}

const char* const exit_status =
    ".SH \"EXIT STATUS\"\n"
    "0 for success; 2 for a mistake in a flag, a variable or a job file; 3 for data, 4 for input\n"
    "and output, 5 for numbers, 6 and 7 for peers; 8 for a finding of doctor or compare.\n"
    "\\fBpaddle help exit\\-codes\\fR says what to do about each.\n";

}  // namespace

std::string man_page(const std::string& program, std::span<const Command> commands,
                     const std::string& version) {
  std::string out = title(program, version) +
                    "train neural networks, with parameter servers or without\n"
                    ".SH SYNOPSIS\n\\fB" +
                    roff(program) + "\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n.SH COMMANDS\n";
  for (const Command& c : commands)
    out += ".TP\n\\fB" + roff(c.name) + "\\fR\n" + roff(c.help) + ".\n";
  out += exit_status;
  out += ".SH \"SEE ALSO\"\n";
  for (size_t i = 0; i < commands.size(); ++i)
    out += ".BR " + roff(program + "-" + commands[i].name) + " (1)" +
           (i + 1 < commands.size() ? "," : "") + "\n";
  return out;
}

std::string man_page(const std::string& program, const Command& command, const std::string& help,
                     const std::string& version) {
  Beginning begin = beginning_of(help);
  if (begin.calls.empty()) begin.calls = {program + " " + command.name + " [flags]"};
  std::string out = title(program + "-" + command.name, version) + roff(command.help) + "\n" +
                    synopsis(begin.calls) + ".SH DESCRIPTION\n";
  if (begin.sentences.empty()) out += roff(command.help) + ".\n";
  for (const std::string& sentence : begin.sentences) out += roff(sentence) + "\n";
  if (command.options)
    out += ".SH OPTIONS\nA value that is shown is the default.\n" + option_rows(command.options());
  return out + exit_status + ".SH \"SEE ALSO\"\n.BR " + roff(program) + " (1)\n";
}

}  // namespace paddle
