#include "paddle/job_page.h"

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/secret.h"

namespace paddle {

JobPage::JobPage(const Options& options, std::string workspace, const std::string& title)
    : workspace_(std::move(workspace)),
      page_(options.text("ui_host"), options.integer("ui_port"), title) {}

std::string JobPage::show(bool for_all) {
  const std::string line = page_.address() + "\n";
  make_directories(workspace_ + "/job");
  write_secret_file(address_file(), std::as_bytes(std::span(line)), true);
  return for_all ? "watch the job at the address in " + address_file()
                 : "watch the job at " + page_.address();
}

void JobPage::keep() {
  ::unlink(address_file().c_str());
  write_file_atomically(workspace_ + "/job/events.jsonl", page_.feed().lines());
  page_.end(
      text("The job is over, and with it the server of this page. To see it again: paddle ui "
           "--workspace=",
           workspace_));
}

}  // namespace paddle
