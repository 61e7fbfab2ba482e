// paddle table inspect|export|import FILE.table: what a saved model has of a sparse table, as text.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "base/suggest.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/result_file.h"
#include "paddle/table_commands.h"
#include "trainer/fluid_tables.h"

namespace paddle {
namespace {

const char* const table_usage =
    "usage: paddle table inspect FILE.table [--samples=N] [--ids=ID,ID,…]\n"
    "       paddle table export FILE.table [--output=FILE] [--state]\n"
    "                           [--format=text|selected_rows] [--shards=N]\n"
    "       paddle table import FILE.table [--input=FILE] [--name=NAME]\n"
    "                           [--format=text|selected_rows]\n"
    "                           [--rule=RULE] [--like=FILE]\n"
    "Prints a sparse table of a saved model, writes its rows as text or as Fluid's\n"
    "SelectedRows, or makes a table of either (docs/tables.md).";

std::vector<uint64_t> ids_of(const std::string& list) {
  std::vector<uint64_t> out;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, end - at);
    uint64_t id = 0;
    int64_t negative = 0;
    const auto [stop, bad] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (bad != std::errc() || stop != word.data() + word.size()) {
      require(parse_int(word, negative), Error::Kind::config, "--ids: '", word,
              "' is no whole number of 64 bits");
      id = static_cast<uint64_t>(negative);
    }
    out.push_back(id);
    at = end + 1;
  }
  return out;
}

class StandardInput : public ByteSource {
 public:
  size_t read(std::span<char> to) override {
    const size_t n = std::fread(to.data(), 1, to.size(), stdin);
    if (n == 0 && std::ferror(stdin)) throw io_error("read", "stdin", errno);
    return n;
  }
};

// What import reads: one file, or all shards of a table in a directory.
std::vector<std::string> streams_of(const std::string& input, const std::string& name) {
  require(!input.empty(), Error::Kind::config,
          "--format=selected_rows reads files: give --input=FILE, or the directory of the shards");
  if (!std::filesystem::is_directory(input)) return {input};
  std::vector<std::string> out = fluid_streams(input, name);
  require(!out.empty(), Error::Kind::io, "the directory '", input, "' has no file '", name,
          "_0': say which table it is with --name");
  return out;
}

void export_table(const std::string& path, const Options& options) {
  const bool binary = options.text("format") == "selected_rows";
  const std::string& output = options.text("output");
  require(!binary || !output.empty() || ::isatty(STDOUT_FILENO) == 0, Error::Kind::config,
          "--format=selected_rows is not for a terminal: give --output=FILE");
  require(!binary || !options.flag("state"), Error::Kind::config,
          "--format=selected_rows holds values only: leave --state out, or use --format=text");
  const int64_t shards = options.integer("shards");
  require(binary || shards == 0, Error::Kind::config,
          "--shards is for --format=selected_rows, the form of Fluid's shards");
  TableFile file(path);
  if (shards > 0) {
    require(!output.empty(), Error::Kind::config,
            "--shards makes several files: give --output=DIR, their directory");
    export_shards(file, output, static_cast<uint64_t>(shards));
    std::cout << "wrote " << output << ": " << file.rows() << " rows in " << shards << " files\n";
    return;
  }
  ResultFile target(output);
  const TextSink sink = [&](std::string_view bytes) { target.write(bytes); };
  if (binary)
    export_selected_rows(file, sink);
  else
    export_text(file, options.flag("state"), sink);
  target.finish();
  if (!output.empty()) std::cout << "wrote " << output << ": " << file.rows() << " rows\n";
}

void import_to(const std::string& path, const Options& options) {
  const std::filesystem::path to(path);
  require(to.extension() == ".table" && to.stem() != "", Error::Kind::config, "'", path,
          "' must end in .table, as the tables of a model do");
  const std::string& input = options.text("input");
  ImportWords words{.name = options.text("name"), .rule = options.text("rule")};
  if (!options.text("like").empty())
    words.head = table_head_text(TableFile(options.text("like")).head());
  // A table is found in a model by the name of its file.
  if (words.name.empty()) words.name = to.stem().string();
  TableStore store = [&] {
    if (options.text("format") == "selected_rows")
      return import_selected_rows(streams_of(input, words.name), words);
    std::unique_ptr<ByteSource> source = std::make_unique<StandardInput>();
    if (!input.empty()) source = open_bytes(input);
    LineReader lines(input.empty() ? "stdin" : input, std::move(source));
    return import_table(lines, words);
  }();
  const TableStore::Kept& kept = *store.find(words.name);
  ResultFile target(path);
  store.save(words.name, [&](std::string_view bytes) { target.write(bytes); });
  target.finish();
  std::cout << "made " << path << ": the table '" << words.name << "' with " << kept.table->rows()
            << " rows of " << kept.spec.width << " values\n";
}

}  // namespace

OptionTable table_command_options() {
  using enum OptionType;
  const std::string group = "Tables";
  OptionTable out{
      {"samples", integer, "5", "inspect: rows to print", group, between(0, 1000000)},
      {"ids", text, "", "inspect: ids whose rows are printed whole, separated by commas", group},
      {"output", text, "", "export: the file to write; without it stdout", group},
      {"format", text, "text", "export, import: text or selected_rows", group,
       one_of({"text", "selected_rows"})},
      {"shards", integer, "0",
       "export: as many files as Fluid has pservers, by id modulo their number, in the directory "
       "--output",
       group, between(0, 65535)},
      {"state", flag, "false",
       "export: also step, number of updates and optimizer state of each row", group},
      {"input", text, "",
       "import: the file to read, plain or compressed (text); without it stdin, plain. "
       "For selected_rows one file, or the directory of the shards",
       group},
      {"name", text, "",
       "import: of the table; without it that of the text, else FILE without .table", group},
      {"rule", text, "",
       "import: the optimizer that will train the rows; without it that of the "
       "text, else sgd",
       group},
      {"like", text, "", "import: another table, whose width, optimizer and options are taken",
       group},
  };
  for (Option& row : answer_rows()) out.push_back(std::move(row));
  return out;
}

int table_main(std::span<const std::string> arguments) {
  const std::vector<std::string> actions{"inspect", "export", "import"};
  const bool acts = !arguments.empty() && !arguments[0].starts_with("-");
  require(!acts || std::find(actions.begin(), actions.end(), arguments[0]) != actions.end(),
          Error::Kind::config, "there is no '", acts ? arguments[0] : "", "'",
          did_you_mean(acts ? arguments[0] : "", actions), "\n", table_usage);
  const bool named = acts && arguments.size() > 1 && !arguments[1].starts_with("-");
  const Options options = Options::parse(arguments.subspan((acts ? 1u : 0u) + (named ? 1u : 0u)),
                                         current_environment(), table_command_options());
  if (answer_help(options, table_usage, std::cout) || answer_print_config(options, std::cout))
    return 0;
  require(acts && named, Error::Kind::config,
          acts ? "the file of a table is missing" : "say what to do: inspect, export or import",
          "\n", table_usage);
  const std::string& path = arguments[1];
  if (arguments[0] == "export") export_table(path, options);
  if (arguments[0] == "import") import_to(path, options);
  if (arguments[0] == "inspect") {
    const std::vector<uint64_t> ids = ids_of(options.text("ids"));
    TableFile file(path);
    std::cout << inspect_table(file, static_cast<size_t>(options.integer("samples")), ids)
              << std::flush;
    require(static_cast<bool>(std::cout), Error::Kind::io, "cannot write to stdout");
  }
  return 0;
}

}  // namespace paddle
