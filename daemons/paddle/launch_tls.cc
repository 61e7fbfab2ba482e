#include "paddle/launch_tls.h"

#include <filesystem>
#include <system_error>

#include "wire/make_certificates.h"

namespace paddle {
namespace {

constexpr int valid_days = 3650;  // they end with the job

}  // namespace

std::vector<std::string> certificate_flags(const std::string& directory, const std::string& role) {
  if (directory.empty()) return {};
  return {"--cert_file=" + directory + "/" + role + ".pem",
          "--key_file=" + directory + "/" + role + ".key", "--ca_file=" + directory + "/ca.pem"};
}

CredentialFiles observer_files(const std::string& directory) {
  return {.cert_file = directory + "/observer.pem",
          .key_file = directory + "/observer.key",
          .ca_file = directory + "/ca.pem"};
}

LaunchCertificates::LaunchCertificates(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  wire::make_certificates(
      directory_,
      {{"pserver", {"localhost", "127.0.0.1"}}, {"trainer", {}}, {"observer", {}}, {"admin", {}}},
      {.days = valid_days});
  std::filesystem::remove(directory_ + "/ca.key");
}

LaunchCertificates::~LaunchCertificates() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace paddle
