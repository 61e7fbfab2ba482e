// The live page of a job that paddle launch starts, and its files in the workspace, by which
// `paddle ui --workspace` finds it: the address while the job runs, what was shown after its end.
#pragma once

#include <string>

#include "options/options.h"
#include "paddle/live_page.h"

namespace paddle {

class JobPage {
 public:
  // On the port of --ui_port. Throws Error(config).
  JobPage(const Options& options, std::string workspace, const std::string& title);

  void put(const std::string& event) { page_.feed().put(event); }
  // A sentence that says where it is. The address has a key in it: it is written to a file that
  // only this user can read, and is part of the sentence unless others may read that (`for_all`).
  std::string show(bool for_all);
  void watch(const Endpoints& shards, const wire::Credentials& credentials, const Watching& what) {
    page_.watch(shards, credentials, what);
  }
  // The job has ended: browsers that follow it learn that.
  void keep();

 private:
  std::string address_file() const { return workspace_ + "/job/page.txt"; }

  const std::string workspace_;
  LivePage page_;
};

}  // namespace paddle
