// paddle ui: the live page of a job that was started in some other way, or that has ended.
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/run_main.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/lines.h"
#include "paddle/live_page.h"

namespace paddle {
namespace {

constexpr int read_milliseconds = 200;

// Reads what is added to a file.
class Tail {
 public:
  explicit Tail(const std::string& path) : file_(path, std::ios::binary) {
    require(file_.is_open(), Error::Kind::config, "cannot read the events in ", path,
            ": give the file that --event_file of the job names");
  }
  void read(Feed& feed) {
    char bytes[1 << 16];
    file_.clear();  // the end is not the end
    while (file_.read(bytes, sizeof bytes), file_.gcount() > 0) {
      lines_.take({bytes, static_cast<size_t>(file_.gcount())},
                  [&](const std::string& line) { feed.put(line); });
      file_.clear();
    }
  }

 private:
  std::ifstream file_;
  Lines lines_;
};

// A launch that runs in this workspace has a page of its own.
std::string running_page(const std::string& workspace) {
  const std::string path = workspace + "/job/page.txt";
  if (!is_file(path)) return "";
  std::string address = read_file(path, 4096);
  while (!address.empty() && address.back() == '\n') address.pop_back();
  return address;
}

}  // namespace

int ui_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), ui_options());
  if (answer_help(
          options,
          "usage: paddle ui --pservers=HOST[:PORT],…     a job that runs\n"
          "       paddle ui --event_file=FILE            a job that writes its events there\n"
          "       paddle ui --workspace=DIR              a job of paddle launch\n"
          "Serves a page that shows the job; its address is printed.",
          std::cout) ||
      answer_print_config(options, std::cout))
    return 0;
  std::string events = options.text("event_file");
  const bool pservers = options.given("pservers");
  const std::string& workspace = options.text("workspace");
  require(!workspace.empty() || !events.empty() || pservers, Error::Kind::config,
          "which job? give --pservers, --event_file or --workspace");
  if (!workspace.empty()) {
    if (const std::string address = running_page(workspace); !address.empty()) {
      std::cout << "the job runs and has its page at " << address << std::endl;
      return 0;
    }
    if (events.empty()) events = workspace + "/job/events.jsonl";
  }
  std::optional<Tail> tail;
  if (!events.empty()) tail.emplace(events);
  LivePage page(options.text("ui_host"), options.integer("ui_port"),
                pservers ? options.text("pservers") : std::filesystem::absolute(events).string());
  if (pservers)
    page.watch(endpoints_of(options), wire::client_credentials(credential_files(options)),
               {.progress = !tail});
  std::cout << "the page is at " << page.address() << std::endl;
  while (stop_signal() == 0) {
    if (tail) tail->read(page.feed());
    ::poll(nullptr, 0, read_milliseconds);  // Ctrl-C ends the wait
  }
  stopped_cleanly();
  return 0;
}

}  // namespace paddle
