// paddle make_clicks: writes files of generated click logs.
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/run_main.h"
#include "data/generate_clicks.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/result_file.h"

namespace paddle {
namespace {

OptionTable make_clicks_options() {
  using enum OptionType;
  const std::string group = "Click logs";
  OptionTable out{
      {"output_dir", text, "", "Directory that gets part-0, part-1, …; made where it is missing",
       group},
      {"records", integer, "1000000", "Lines in all files together", group, between(1, 1e12)},
      {"files", integer, "10", "How many files", group, between(1, 100000)},
      {"seed", integer, "1", "Another one gives another log and another truth", group,
       between(0, most)},
      {"first", integer, "0", "Number of the first record, so that a log can be continued", group,
       between(0, 1e12)},
  };
  for (Option& row : answer_rows()) out.push_back(std::move(row));
  return out;
}

// Lines `first` to `end` as one file, in place when it is whole.
void write_part(const std::string& path, uint64_t seed, uint64_t first, uint64_t end) {
  ResultFile file(path);
  const std::unique_ptr<ByteSource> log = click_log(seed, first, end - first);
  std::vector<char> buffer(size_t{1} << 20);
  while (const size_t n = log->read(buffer)) {
    file.write({buffer.data(), n});
    require(stop_signal() == 0, Error::Kind::io, "stopped by a signal; ", path, " was not written");
  }
  file.finish();
}

}  // namespace

int make_clicks_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), make_clicks_options());
  if (answer_help(options, "usage: paddle make_clicks --output_dir=DIR [--records=N] [--files=N]",
                  std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  const std::string& directory = options.text("output_dir");
  require(!directory.empty(), Error::Kind::config,
          "--output_dir is missing: name a directory for the files");
  make_writable_directory(directory);
  const auto number = [&](const char* name) {
    return static_cast<uint64_t>(options.integer(name));
  };
  const uint64_t records = number("records"), files = number("files"), first = number("first");
  require(files <= records, Error::Kind::config, "--files=", files,
          " is more than --records=", records, ": a file needs a record");
  for (uint64_t i = 0; i < files; ++i)
    write_part(paddle::text(directory, "/part-", i), number("seed"), first + records * i / files,
               first + records * (i + 1) / files);
  char auc[16];
  std::snprintf(auc, sizeof auc, "%.4f",
                attainable_auc(number("seed"), first, std::min<uint64_t>(records, 100000)));
  std::cout << records << " records in " << files << (files == 1 ? " file" : " files") << " of "
            << directory << "; the best AUC that a model can reach is " << auc << "\n";
  return 0;
}

}  // namespace paddle
