// Files of the source tree, and small jobs to change one thing in.
#pragma once

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "options/tables.h"
#include "trainer/job_file.h"

namespace paddle::test {

inline std::string source_root() {
  const char* source = std::getenv("PADDLE_TEST_SOURCE");
  for (const std::string root : {source ? source : ".", "..", "../.."})
    if (is_file(root + "/schemas/wire.fbs")) return root;
  throw Error(Error::Kind::config, "run this test inside the source tree");
}

inline JobFile parse(const std::string& source) {
  Options options = Options::parse({}, {}, trainer_options());
  return parse_job("job.json", source, "", options);
}

// The message of the Error(config) that f throws, "" where it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind() == Error::Kind::config ? e.what() : "of another kind: " + std::string(e.what());
  }
  return "";
}

}  // namespace paddle::test
