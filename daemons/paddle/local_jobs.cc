#include "paddle/local_jobs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/output_copy.h"
#include "base/suggest.h"
#include "paddle/output.h"

namespace paddle {
namespace {

namespace fs = std::filesystem;

std::string proc_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  return std::move(out).str();
}

// The parts between the zeros.
std::vector<std::string> zero_list(const std::string& bytes) {
  std::vector<std::string> out;
  std::istringstream in(bytes);
  for (std::string part; std::getline(in, part, '\0');) out.push_back(part);
  return out;
}

// The value that a process got for an option: its last flag, else its variable.
std::string given_value(const SeenProcess& p, const std::string& option) {
  std::string out, upper = "PADDLE_INIT_";
  for (const char c : option) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  out = variable(p.environment, upper);
  for (size_t i = 0; i < p.words.size(); ++i) {
    const std::string& word = p.words[i];
    if (word.starts_with("--" + option + "=")) out = word.substr(option.size() + 3);
    if (word == "--" + option && i + 1 < p.words.size()) out = p.words[i + 1];
  }
  return out;
}

std::string absolute_of(const SeenProcess& p, const std::string& path) {
  return fs::path(p.directory).append(path).lexically_normal().string();
}

std::string workspace_of(const SeenProcess& p) {
  const std::string given = given_value(p, "workspace");
  std::string out = absolute_of(p, given.empty() ? "." : given);
  while (out.size() > 1 && (out.ends_with("/") || out.ends_with("/."))) out.pop_back();
  return out;
}

enum class LocalRole { other, trainer, alone, pserver };

LocalRole role_of_process(const SeenProcess& p) {
  if (p.words.empty()) return LocalRole::other;
  const std::string program = fs::path(p.words[0]).filename().string();
  const std::string command = p.words.size() > 1 ? p.words[1] : "";
  if (program == "paddle_pserver" || program == "paddle_pserver_main" ||
      (program == "paddle" && command == "pserver"))
    return LocalRole::pserver;
  const bool ours = program == "paddle_trainer" ||
                    (program == "paddle" && (command == "trainer" || command == "train"));
  if (!ours && !program.starts_with("python")) return LocalRole::other;
  if (!given_value(p, "pservers").empty()) return LocalRole::trainer;
  return ours ? LocalRole::alone : LocalRole::other;
}

LocalJob& job_with(const std::string& pservers, std::vector<LocalJob>& jobs) {
  for (LocalJob& job : jobs)
    if (job.pservers == pservers) return job;
  LocalJob& job = jobs.emplace_back();
  job.pservers = pservers;
  return job;
}

void take_options(const SeenProcess& p, LocalJob& job) {
  job.workspace = workspace_of(p);
  for (const char* name : {"token_file", "cert_file", "key_file", "ca_file"})
    if (const std::string value = given_value(p, name); !value.empty())
      job.options[name] = absolute_of(p, value);
  for (const char* name : {"port", "ports_num", "ports_num_for_sparse"})
    if (const std::string value = given_value(p, name); !value.empty()) job.options[name] = value;
}

// Where a pserver listens by its command line; "" where the kernel chose the port.
std::string endpoint_of_server(const SeenProcess& p) {
  std::string port = given_value(p, "port");
  if (port == "0") return "";
  if (port.empty()) port = "7164";
  const std::string host = given_value(p, "host");
  return (host.empty() || host == "0.0.0.0" ? "127.0.0.1" : host) + ":" + port;
}

void add_server(const SeenProcess& p, std::vector<LocalJob>& jobs) {
  const std::string endpoint = endpoint_of_server(p);
  for (LocalJob& job : jobs) {
    const bool named = !endpoint.empty() &&
                       ("," + job.pservers + ",").find("," + endpoint + ",") != std::string::npos;
    // Of one launch: the same token, which no other job has.
    const std::string token = given_value(p, "token_file");
    const auto theirs = job.options.find("token_file");
    const bool one_token =
        !token.empty() && theirs != job.options.end() && theirs->second == absolute_of(p, token);
    if (!named && !one_token) continue;
    job.servers.push_back(p.id);
    return;
  }
  if (endpoint.empty()) return;
  LocalJob& job = job_with(endpoint, jobs);
  take_options(p, job);
  job.options.erase("port");  // the endpoint has it
  job.servers.push_back(p.id);
}

std::string id_list(const char* what, const std::vector<int64_t>& ids) {
  if (ids.empty()) return "";
  std::vector<std::string> words;
  for (const int64_t id : ids) words.push_back(std::to_string(id));
  return text(", ", what, ids.size() == 1 ? " " : "es ", listed(words));
}

}  // namespace

std::vector<LocalJob> jobs_of(const std::vector<SeenProcess>& processes) {
  std::vector<LocalJob> jobs;
  for (const SeenProcess& p : processes) {
    if (role_of_process(p) != LocalRole::trainer) continue;
    LocalJob& job = job_with(given_value(p, "pservers"), jobs);
    if (job.trainers.empty()) take_options(p, job);
    job.trainers.push_back(p.id);
  }
  for (const SeenProcess& p : processes)
    if (role_of_process(p) == LocalRole::pserver) add_server(p, jobs);
  std::sort(jobs.begin(), jobs.end(), [](const LocalJob& a, const LocalJob& b) {
    return std::pair(a.workspace, a.pservers) < std::pair(b.workspace, b.pservers);
  });
  return jobs;
}

std::vector<SeenProcess> own_processes() {
  std::vector<SeenProcess> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string number = entry.path().filename().string();
    struct stat owner {};
    if (number.find_first_not_of("0123456789") != std::string::npos ||
        ::stat(entry.path().c_str(), &owner) != 0 || owner.st_uid != ::getuid())
      continue;
    if (proc_text(entry.path() / "comm") == text(output_copier, "\n")) continue;
    SeenProcess p{.id = std::stoll(number)};
    p.words = zero_list(proc_text(entry.path() / "cmdline"));
    for (const std::string& setting : zero_list(proc_text(entry.path() / "environ")))
      if (const size_t equals = setting.find('='); equals != std::string::npos)
        p.environment[setting.substr(0, equals)] = setting.substr(equals + 1);
    std::error_code gone;
    p.directory = fs::read_symlink(entry.path() / "cwd", gone).string();
    if (!gone && !p.words.empty()) out.push_back(std::move(p));
  }
  std::sort(out.begin(), out.end(),
            [](const SeenProcess& a, const SeenProcess& b) { return a.id < b.id; });
  return out;
}

std::vector<LocalRun> runs_of(const std::vector<SeenProcess>& processes) {
  std::vector<LocalRun> out;
  for (const SeenProcess& p : processes)
    if (role_of_process(p) == LocalRole::alone) out.push_back({workspace_of(p), p.id});
  return out;
}

template <class Found>
static std::vector<Found> of_workspace(std::vector<Found> all, const std::string& workspace) {
  if (workspace.empty()) return all;
  std::error_code error;
  const fs::path wanted = fs::weakly_canonical(workspace, error);
  std::erase_if(all, [&](const Found& found) {
    return fs::weakly_canonical(found.workspace, error) != wanted;
  });
  return all;
}

std::vector<LocalJob> local_jobs(const std::string& workspace) {
  return of_workspace(jobs_of(own_processes()), workspace);
}
std::vector<LocalRun> local_runs(const std::string& workspace) {
  return of_workspace(runs_of(own_processes()), workspace);
}

std::string last_logged(int64_t process) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fs::path("/proc") / std::to_string(process) / "fd", error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (gone || target.find(".log.INFO.") == std::string::npos) continue;
    std::ifstream file(target, std::ios::binary | std::ios::ate);
    constexpr std::streamoff enough = 16384;
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(0, size - enough));
    std::string line, last;
    while (std::getline(file, line))
      if (log_letter(line) != '\0') last = line;
    const std::string_view message = log_message(last);
    return std::string(message.substr(std::min(message.find_first_not_of(' '), message.size())));
  }
  return "";
}

std::string describe(const LocalJob& job) {
  return text(job.workspace, ": pservers ", job.pservers, id_list("trainer process", job.trainers),
              id_list("pserver process", job.servers));
}

}  // namespace paddle
