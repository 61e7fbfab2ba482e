// The judgements of `paddle doctor`: pure functions from facts to findings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "paddle/doctor_facts.h"

namespace paddle {

struct Finding {
  enum class Level { ok, warning, problem };
  Level level = Level::ok;
  std::string check;   // "open files"
  std::string what;    // a sentence without a full stop
  std::string remedy;  // what to do; "" where all is well
};
using Findings = std::vector<Finding>;

const char* name_of(Finding::Level level);

// A line for every peer; then versions and clocks, one line each where all agree.
Findings check_peers(std::span<const PeerFacts> peers, const std::string& own_build);
Finding check_port(const PortFacts& port);
Findings check_limits(const LimitFacts& limits);
Finding check_memory(const MemoryFacts& memory);
Finding check_directory(const DirectoryFacts& directory);
Findings check_processor(const ProcessorFacts& processor);
Findings check_blas(const BlasFacts& blas);
Findings check_network(const NetworkFacts& network);
Finding check_huge_pages(const HugePageFacts& pages);
Findings check_credentials(const CredentialFacts& credentials);

// "ok        open files   …", with the remedy of a finding on a line of its own, and a sum at the
// end.
std::string findings_text(const Findings& findings);
// One JSON object in one line, with a newline.
std::string findings_json(const Findings& findings);

}  // namespace paddle
