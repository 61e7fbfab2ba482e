#include <cstdlib>

#include "base/error.h"
#include "fuzz/entries.h"
#include "options/tables.h"
#include "trainer/job_file.h"

namespace paddle::fuzz {

bool job_file(std::string_view input) {
  static const Options fresh = Options::parse({}, {}, trainer_options());
  try {
    Options options = fresh;
    const JobFile file = parse_job("input", std::string(input), "", options);
    if (!file.job.left_out.empty())
      std::abort();  // not an assert: it must also stop a release build
    parse_json(value_text(file.tree), "again");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace paddle::fuzz
