#include "paddle/doctor_gather.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/machine_memory.h"
#include "exec/kernel_choice.h"
#include "paddle/cpus.h"
#include "paddle/within.h"
#include "wire/certificate_dates.h"
#include "wire/credentials.h"

namespace paddle {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Files of /proc have no size.
std::string kernel_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  std::string text = std::move(out).str();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

uint64_t hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return unlimited;
  return limit.rlim_max;
}

uint64_t meminfo(const std::string& text, const std::string& key) {
  const size_t at = text.find(key + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + key.size() + 1, nullptr, 10) * 1024;
}

uint64_t last_of_three(const std::string& text) {
  std::istringstream in(text);
  uint64_t value = 0;
  for (uint64_t next; in >> next;) value = next;
  return value;
}

DirectoryFacts look_at_directory(const std::string& purpose, const std::string& path) {
  DirectoryFacts out{.purpose = purpose, .path = path};
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  struct statvfs disk {};
  if (!std::filesystem::is_directory(at, error))
    out.problem = "'" + at.string() + "' is no directory";
  else if (::access(at.c_str(), W_OK | X_OK) != 0 || ::statvfs(at.c_str(), &disk) != 0)
    out.problem = std::strerror(errno);
  out.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  out.bytes = uint64_t{disk.f_blocks} * disk.f_frsize;
  out.free_files = disk.f_favail;
  out.files = disk.f_files;
  return out;
}

CredentialFacts::Certificate certificate_facts(const std::string& path) {
  CredentialFacts::Certificate out{.path = path};
  try {
    const wire::CertificateDates dates = wire::certificate_dates(path);
    out.role = dates.role;
    out.from = dates.from;
    out.until = dates.until;
  } catch (const Error& e) {
    out.problem = e.what();
  }
  return out;
}

// The name of the process and its number, if it has the socket open and is not hidden from us.
std::string holder_of_socket(uint64_t inode) {
  const std::string wanted = text("socket:[", inode, "]");
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string number = process.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code hidden;
    for (const auto& file : std::filesystem::directory_iterator(process.path() / "fd", hidden)) {
      std::error_code gone;
      if (std::filesystem::read_symlink(file.path(), gone) != wanted) continue;
      return text(kernel_text("/proc/" + number + "/comm"), " (process ", number, ")");
    }
  }
  return "";
}

}  // namespace

std::optional<uint64_t> listening_socket(std::string_view table, int64_t port) {
  constexpr std::string_view listening = "0A";
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, word;
    words >> slot >> local >> remote >> state;
    const size_t colon = local.rfind(':');
    if (state != listening || colon == std::string::npos) continue;
    int64_t found = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), found, 16);
    if (found != port) continue;
    for (int i = 0; i < 5; ++i) words >> word;  // queues, timer, retransmits, user, timeout
    uint64_t inode = 0;
    if (words >> inode) return inode;
  }
  return {};
}

std::string port_holder(int64_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"})
    if (const auto inode = listening_socket(kernel_text(table), port); inode && *inode != 0)
      return holder_of_socket(*inode);
  return "";
}

std::string chosen_word(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return text.substr(open + 1, close - open - 1);
}

PortFacts port_facts(int64_t port) {
  PortFacts out{.port = port};
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;  // as the pserver does: ends of old connections do not count
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      ::listen(socket.get(), 1) == 0)
    return out;
  out.free = false;
  out.why = std::strerror(errno);
  out.holder = port_holder(port);
  return out;
}

LimitFacts limit_facts(int64_t trainers) {
  return {.open_files = hard_limit(RLIMIT_NOFILE),
          .locked_memory = hard_limit(RLIMIT_MEMLOCK),
          .address_space = hard_limit(RLIMIT_AS),
          .trainers = trainers};
}

MemoryFacts memory_facts() {
  const std::string info = kernel_text("/proc/meminfo");
  const uint64_t usable = machine_memory();
  return {.machine = meminfo(info, "MemTotal"),
          .usable = usable,
          .available = std::min(usable, meminfo(info, "MemAvailable"))};
}

ProcessorFacts processor_facts(int64_t threads) {
  const KernelChoice choice = kernel_choice();
  return {.instructions = choice.instructions,
          .vectors = choice.vectors,
          .usable = static_cast<int64_t>(own_cpus().size()),
          .threads = threads};
}

BlasFacts blas_facts() {
  const KernelChoice choice = kernel_choice();
  return {.chosen = choice.gemm,
          .problem = choice.problem,
          .openblas = choice.openblas,
          .openblas_problem = choice.openblas_problem,
          .onednn = choice.onednn,
          .onednn_problem = choice.onednn_problem};
}

NetworkFacts network_facts() {
  const std::string ipv4 = "/proc/sys/net/ipv4/";
  return {.congestion = kernel_text(ipv4 + "tcp_congestion_control"),
          .allowed = kernel_text(ipv4 + "tcp_allowed_congestion_control"),
          .receive_most = last_of_three(kernel_text(ipv4 + "tcp_rmem")),
          .send_most = last_of_three(kernel_text(ipv4 + "tcp_wmem"))};
}

HugePageFacts huge_page_facts() {
  return {chosen_word(kernel_text("/sys/kernel/mm/transparent_hugepage/enabled"))};
}

CredentialFacts credential_facts(const CredentialFiles& files) {
  CredentialFacts out{.token_file = files.token_file};
  out.now = unix_seconds();
  try {
    if (!files.token_file.empty())
      out.token_grant = wire::name_of(wire::read_token(files.token_file).grant);
  } catch (const Error& e) {
    out.token_problem = e.what();
  }
  for (const std::string* path : {&files.cert_file, &files.ca_file})
    if (!path->empty()) out.certificates.push_back(certificate_facts(*path));
  try {
    CredentialFiles tls = files;
    tls.token_file.clear();
    wire::client_credentials(tls);
  } catch (const Error& e) {
    out.tls_problem = e.what();
  }
  return out;
}

std::vector<DirectoryFacts> directory_facts(
    const std::vector<std::pair<std::string, std::string>>& purposes_and_paths, double seconds) {
  const SteadyTime deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  std::vector<Aside<DirectoryFacts>> looks;
  looks.reserve(purposes_and_paths.size());
  for (const auto& [purpose, path] : purposes_and_paths)
    looks.emplace_back([p = purpose, at = path] { return look_at_directory(p, at); });
  std::vector<DirectoryFacts> out;
  for (size_t i = 0; i < looks.size(); ++i) {
    const auto& [purpose, path] = purposes_and_paths[i];
    out.push_back(looks[i].by(deadline).value_or(
        DirectoryFacts{.purpose = purpose, .path = path, .late = true}));
  }
  return out;
}

}  // namespace paddle
