#include "paddle/host_list.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace paddle {
namespace {

constexpr uint64_t max_host_file = 1 << 20;

std::string words_of_file(const std::string& path) {
  std::istringstream in(read_file(path, max_host_file));
  std::string out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    if (std::string host; words >> host) out += host + ",";
  }
  return out;
}

// What is wrong with a word, "" if nothing.
std::string read_host(const std::string& word, Host& host) {
  host.word = host.target = word;
  const size_t at = word.rfind('@'), colon = word.rfind(':');
  if (colon != std::string::npos && colon > (at == std::string::npos ? 0 : at)) {
    host.port = word.substr(colon + 1);
    host.target = word.substr(0, colon);
    if (host.port.empty() || host.port.size() > 5 ||
        host.port.find_first_not_of("0123456789") != std::string::npos)
      return "has no port after its colon";
  }
  host.name = host.target.substr(at == std::string::npos ? 0 : at + 1);
  // ssh would take it for one of its options.
  if (host.target[0] == '-' || host.name.empty() || host.name[0] == '-') return "names no host";
  return "";
}

}  // namespace

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : list + ",") {
    if (c == ' ' || c == '\t') continue;
    if (c != ',') {
      word += c;
      continue;
    }
    if (!word.empty()) out.push_back(word);
    word.clear();
  }
  return out;
}

std::vector<Host> hosts_of(const Options& options) {
  const std::string &list = options.text("hosts"), &file = options.text("hostfile");
  if (list.empty() && file.empty()) return {};
  require(list.empty() || file.empty(), Error::Kind::config,
          "--hosts and --hostfile both name the machines; give one of them");
  std::vector<Host> hosts;
  std::vector<std::string> problems;
  for (const std::string& word : split_list(file.empty() ? list : words_of_file(file))) {
    Host host;
    if (const std::string problem = read_host(word, host); !problem.empty())
      problems.push_back("'" + word + "' " + problem + ": write [user@]host[:port]");
    const bool twice = std::any_of(hosts.begin(), hosts.end(),
                                   [&](const Host& other) { return other.name == host.name; });
    if (twice) problems.push_back(word + " is listed twice: every host is one node of the job");
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) problems.push_back((file.empty() ? "--hosts" : file) + " names no host");
  if (!problems.empty()) throw Error(Error::Kind::config, problem_list(problems));
  return hosts;
}

}  // namespace paddle
