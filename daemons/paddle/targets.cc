#include "paddle/targets.h"

#include <unistd.h>

#include "base/file.h"
#include "obs/json.h"

namespace paddle {

Targets::~Targets() {
  if (!entries_.empty()) ::unlink(path_.c_str());
}

void Targets::add(const std::string& process, bool worker, const std::string& address) {
  const std::string place = address.substr(address.rfind('/') + 1);
  entries_.push_back(JsonObject()
                         .raw("targets", "[" + json_value(place) + "]")
                         .raw("labels", JsonObject()
                                            .add("process", process)
                                            .add("role", worker ? "trainer" : "pserver")
                                            .done())
                         .done());
  write_file_atomically(path_, json_list(entries_, [](const std::string& e) { return e; }) + "\n");
}

}  // namespace paddle
