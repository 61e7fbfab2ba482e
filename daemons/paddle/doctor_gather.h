// Finds out what doctor_checks.h judges, about this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/credential_files.h"
#include "paddle/doctor_facts.h"

namespace paddle {

PortFacts port_facts(int64_t port);
LimitFacts limit_facts(int64_t trainers);
MemoryFacts memory_facts();
ProcessorFacts processor_facts(int64_t threads);
BlasFacts blas_facts();
NetworkFacts network_facts();
HugePageFacts huge_page_facts();
CredentialFacts credential_facts(const CredentialFiles& files);

// What will be made: its nearest parent counts where it is not there yet. At most `seconds` are
// waited for the file systems of all of them.
std::vector<DirectoryFacts> directory_facts(
    const std::vector<std::pair<std::string, std::string>>& purposes_and_paths, double seconds);

// The inode of the socket that listens on a port, in the text of /proc/net/tcp or tcp6.
std::optional<uint64_t> listening_socket(std::string_view table, int64_t port);
// "paddle (process 123)": who listens on a port of this machine, as far as this user may know it;
// else "".
std::string port_holder(int64_t port);

// The mode in brackets: "always [madvise] never" is madvise.
std::string chosen_word(const std::string& text);

}  // namespace paddle
