// paddle doctor: what stands in the way of a job on this machine and with these pservers.
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/version.h"
#include "options/program.h"
#include "options/record.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/doctor_checks.h"
#include "paddle/doctor_gather.h"
#include "paddle/doctor_peers.h"
#include "trainer/job_file.h"
#include "trainer/model.h"

namespace paddle {
namespace {

const char* const doctor_usage =
    "usage: paddle doctor [JOB.json] [--pservers=HOST[:PORT],…] [--strict] [--json]\n"
    "Checks this machine and the pservers of a job, and says what to do about each\n"
    "finding. Exit code 8 where there is a problem (with --strict: or a warning),\n"
    "else 0.";

std::string joined_lines(std::string words) {
  for (size_t at = 0; (at = words.find('\n', at)) != std::string::npos;) words.replace(at, 1, "; ");
  return words;
}

// What the job file says; and whether it can be built.
Finding read_job_options(const std::string& path, Options& job) {
  try {
    const JobFile file = read_job(path, job.text("config_args"), job);
    build_model(file, 1);
    return {Finding::Level::ok, "job file", path + " can be run", ""};
  } catch (const Error& e) {
    return {Finding::Level::problem, "job file", joined_lines(e.what()),
            "correct it (docs/job-files.md); the other findings are those of the defaults"};
  }
}

// Flags and variables of the doctor come before what the job file says.
void take_from_job(const Options& job, Options& options) {
  for (const char* name : {"pservers", "port", "ports_num", "ports_num_for_sparse", "save_dir",
                           "workspace", "num_gradient_servers"})
    if (!options.given(name) && job.given(name)) {
      std::string value;
      for (const Options::Setting& s : job.settings())
        if (s.name == name) value = s.value;
      options.replace(name, value, job.source(name));
    }
}

void add_all(Findings more, Findings& out) {
  for (Finding& f : more) out.push_back(std::move(f));
}

void look_at_peers(const Options& options, double seconds, Findings& out) {
  if (!options.given("pservers")) {
    const int64_t ports = options.integer("ports_num") + options.integer("ports_num_for_sparse");
    for (int64_t i = 0; i < ports; ++i)
      out.push_back(check_port(port_facts(options.integer("port") + i)));
    return;
  }
  wire::Credentials credentials;
  try {
    credentials = wire::client_credentials(credential_files(options));
  } catch (const Error&) {
    // That they are no good has a finding of its own; the ways to the peers are worth a look.
  }
  const std::string block = version_block();
  add_all(check_peers(peer_facts(endpoints_of(options), seconds, credentials),
                      block.substr(0, block.find(','))),
          out);
}

Findings look_at_all(const Options& options, const Options& job) {
  const auto seconds = static_cast<double>(options.integer("timeout"));
  Findings out;
  look_at_peers(options, seconds, out);
  add_all(check_credentials(credential_facts(credential_files(options))), out);
  std::vector<std::pair<std::string, std::string>> directories{
      {"workspace", options.text("workspace")}};
  for (const char* name : {"save_dir", "snapshot_dir"})
    if (!options.text(name).empty())
      directories.emplace_back(name, in_workspace(options, options.text(name)));
  for (const DirectoryFacts& d : directory_facts(directories, seconds))
    out.push_back(check_directory(d));
  add_all(check_limits(limit_facts(options.integer("num_gradient_servers"))), out);
  out.push_back(check_memory(memory_facts()));
  add_all(check_processor(processor_facts(job.integer("trainer_count"))), out);
  add_all(check_blas(blas_facts()), out);
  add_all(check_network(network_facts()), out);
  out.push_back(check_huge_pages(huge_page_facts()));
  return out;
}

}  // namespace

int doctor_main(std::span<const std::string> arguments) {
  const bool named = !arguments.empty() && !arguments[0].starts_with("-");
  const Environment environment = current_environment();
  Options options = Options::parse(arguments.subspan(named ? 1 : 0), environment, doctor_options());
  if (answer_help(options, doctor_usage, std::cout) || answer_print_config(options, std::cout))
    return 0;
  Findings findings;
  Options job = Options::parse({}, environment, trainer_options());
  if (named) {
    job.replace("config_args", options.text("config_args"), "flag --config_args");
    findings.push_back(read_job_options(arguments[0], job));
    take_from_job(job, options);
  }
  add_all(look_at_all(options, job), findings);
  std::cout << (options.flag("json") ? findings_json(findings) : findings_text(findings))
            << std::flush;
  require(static_cast<bool>(std::cout), Error::Kind::io, "cannot write to stdout");
  const auto has = [&](Finding::Level level) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& f) { return f.level == level; });
  };
  const bool bad =
      has(Finding::Level::problem) || (options.flag("strict") && has(Finding::Level::warning));
  return bad ? found_something : 0;
}

}  // namespace paddle
