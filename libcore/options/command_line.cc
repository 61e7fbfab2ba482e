#include "options/command_line.h"

#include <boost/program_options.hpp>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "options/tables.h"

namespace paddle {
namespace {

namespace po = boost::program_options;
constexpr int max_nesting = 8;
constexpr uint64_t max_flag_file = 1 << 20;

struct Word {  // one flag, taken apart
  std::string name;
  std::optional<std::string> value;
};

class Reader {
 public:
  explicit Reader(const OptionTable& table) : table_(table) {
    for (const Option& option : table) {
      known_.push_back(option.name);
      known_.insert(known_.end(), option.aliases.begin(), option.aliases.end());
    }
    known_.push_back("flagfile");
  }

  // `where` is "" for the command line itself, else " in FILE:LINE".
  void read(std::vector<std::string> words, const std::string& where, int depth) {
    const po::options_description none;  // names are checked here, with suggestions and all at once
    po::command_line_parser parser(std::move(words));
    parser.options(none).allow_unregistered().extra_style_parser(
        [&](std::vector<std::string>& rest) { return take_flag(rest, where, depth); });
    for (const po::option& option : parser.run().options)
      if (option.string_key.empty())
        for (const std::string& word : option.value) take_word(word, where);
  }

  CommandLine result;

 private:
  // Takes one flag, with its value, from the front of `rest`. Nothing is returned for a word that
  // is no flag.
  std::vector<po::option> take_flag(std::vector<std::string>& rest, const std::string& where,
                                    int depth) {
    const std::string word = rest.front();
    if (word.size() < 2 || word[0] != '-' || word == "--") return {};
    if (word[1] != '-' && (word[1] == '.' || (word[1] >= '0' && word[1] <= '9'))) return {};
    rest.erase(rest.begin());
    Word flag = split(word);
    const Option* option = find(flag.name);
    if (option == nullptr && flag.name != "flagfile") {
      take_unknown(flag, word, where);
    } else if (option != nullptr && option->type == OptionType::flag) {
      give(*option, flag.value.value_or("true"), word, where);
    } else {
      if (!flag.value) flag.value = take_value(rest);
      if (!flag.value)
        complain("flag --" + flag.name + where + " needs a value: --" + flag.name + "=VALUE");
      else if (option == nullptr)
        insert_file(*flag.value, where, depth);
      else
        give(*option, *flag.value, word, where);
    }
    po::option taken;
    taken.string_key = flag.name;
    taken.unregistered = true;
    return {taken};
  }

  // A word that is no flag. Most often it is the job file.
  void take_word(const std::string& word, const std::string& where) {
    const bool is_job = find("config") != nullptr && word.ends_with(".json");
    complain("unknown command line argument '" + word + "'" + where +
             (is_job ? ": give the job file as --config=" + word
                     : ": flags start with --, and a flag that is true or false takes its value "
                       "after ="));
  }

  static Word split(const std::string& word) {
    const size_t start = word[1] == '-' ? 2 : 1, equals = word.find('=', start);
    if (equals == std::string::npos) return {word.substr(start), std::nullopt};
    return {word.substr(start, equals - start), word.substr(equals + 1)};
  }

  // The next word, unless it is the name of a flag itself: then the value was forgotten.
  std::optional<std::string> take_value(std::vector<std::string>& rest) const {
    if (rest.empty()) return std::nullopt;
    const std::string next = rest.front();
    if (next.size() > 2 && next[0] == '-' && next[1] == '-' && find(split(next).name) != nullptr)
      return std::nullopt;
    rest.erase(rest.begin());
    return next;
  }

  void take_unknown(const Word& flag, const std::string& word, const std::string& where) {
    if (flag.name.compare(0, 2, "no") == 0 && !flag.value) {
      const Option* option = find(flag.name.substr(2));
      if (option != nullptr && option->type == OptionType::flag)
        return give(*option, "false", word, where);
    }
    const std::string guess = nearest(flag.name, known_), owner = program_with(flag.name);
    std::string hint = "; --help lists those there are";
    if (!owner.empty())
      hint = ": it is one of " + owner;
    else if (!guess.empty())
      hint = " (did you mean --" + guess + "?)";
    complain("unknown flag --" + flag.name + where + hint);
  }

  void give(const Option& option, const std::string& value, const std::string& word,
            const std::string& where) {
    result.flags.push_back({option.name, value, "flag " + word.substr(0, word.find('=')) + where});
  }

  void insert_file(const std::string& path, const std::string& where, int depth) {
    if (depth >= max_nesting)
      return complain("flag --flagfile" + where + " names '" + path +
                      "', but flag files name each other more than 8 deep; take the circle out");
    std::string contents;
    try {
      contents = read_file(path, max_flag_file);
    } catch (const Error& e) {
      return complain("flag --flagfile" + where + ": " + e.what());
    }
    std::istringstream lines(contents);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const size_t first = line.find_first_not_of(" \t\r");
      if (first == std::string::npos || line[first] == '#') continue;
      line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
      read(words_of(line), text(" in ", path, ":", number), depth + 1);
    }
  }

  // `--name value` in a file is two words; the value may hold blanks.
  static std::vector<std::string> words_of(const std::string& line) {
    const size_t blank = line.find_first_of(" \t");
    if (blank == std::string::npos || line.find('=') < blank) return {line};
    return {line.substr(0, blank), line.substr(line.find_first_not_of(" \t", blank))};
  }

  const Option* find(const std::string& name) const {
    for (const Option& option : table_) {
      if (option.name == name) return &option;
      for (const std::string& alias : option.aliases)
        if (alias == name) return &option;
    }
    return nullptr;
  }

  void complain(std::string problem) { result.problems.push_back(std::move(problem)); }

  const OptionTable& table_;
  std::vector<std::string> known_;
};

}  // namespace

CommandLine read_command_line(std::span<const std::string> arguments, const OptionTable& table) {
  Reader reader(table);
  reader.read({arguments.begin(), arguments.end()}, "", 0);
  return std::move(reader.result);
}

}  // namespace paddle
