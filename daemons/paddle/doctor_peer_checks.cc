// What the answers of peers say.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/suggest.h"
#include "paddle/doctor_checks.h"

namespace paddle {
namespace {

using enum Finding::Level;

constexpr double clock_warning = 1, clock_problem = 300;  // seconds

std::string short_time(double seconds) {
  char out[32];
  if (seconds < 1)
    std::snprintf(out, sizeof out, "%.1f ms", seconds * 1e3);
  else
    std::snprintf(out, sizeof out, "%.1f s", seconds);
  return out;
}

Finding check_unreached(const PeerFacts& p, const std::string& name) {
  if (!p.name_problem.empty())
    return {problem, name, "the name has no address: " + p.name_problem,
            "correct --pservers, or give the machine its name in DNS or /etc/hosts"};
  if (!p.own_machine)
    return {problem, name, "nothing accepts a connection: " + p.connect_problem,
            "start the pserver there with a --host that other machines reach, and let the port "
            "through the firewall"};
  return {problem, name, "no process of this machine listens: " + p.connect_problem,
          "start it: paddle pserver --port=" + p.endpoint.substr(p.endpoint.rfind(':') + 1)};
}

Finding check_peer(const PeerFacts& p) {
  const std::string name = "pserver " + p.endpoint;
  if (!p.name_problem.empty() || !p.connect_problem.empty()) return check_unreached(p, name);
  const std::string by = p.holder.empty() ? "" : " (" + p.holder + ")";
  if (p.silent)
    return {problem, name, text("the port is open", by, ", but no answer came in time"),
            "look at its log; the process is stopped (kill -CONT) or overloaded, or it is no "
            "pserver"};
  if (!p.problem.empty())
    return {problem, name, text("the port is open", by, ", but it gave no status: ", p.problem),
            "see that it is a pserver of this version, and that token and certificates here and "
            "there are of one job"};
  return {
      ok, name,
      text("answers in ", short_time(p.answer_seconds), " (connected in ",
           short_time(p.connect_seconds), "), ", p.state, p.job.empty() ? "" : ", job " + p.job),
      ""};
}

Finding check_builds(std::span<const PeerFacts> peers, const std::string& own_build) {
  std::map<std::string, std::vector<std::string>> by_build;
  for (const PeerFacts& p : peers)
    if (p.answer_seconds >= 0) by_build[p.build].push_back(p.endpoint);
  if (by_build.size() == 1 && by_build.begin()->first == own_build)
    return {ok, "versions", "all have " + own_build + ", and one protocol", ""};
  std::string words;
  for (const auto& [build, endpoints] : by_build)
    words += text(words.empty() ? "" : "; ", listed(endpoints), ": ", build);
  return {warning, "versions", text("here ", own_build, "; ", words, " (the protocols agree)"),
          "run one version on all machines"};
}

Findings check_clocks(std::span<const PeerFacts> peers) {
  Findings out;
  double most_apart = 0;
  size_t known = 0;
  for (const PeerFacts& p : peers) {
    if (p.clock_error < 0) continue;
    ++known;
    const double sure = std::max(0., std::abs(p.clock_ahead) - p.clock_error);
    most_apart = std::max(most_apart, std::abs(p.clock_ahead) + p.clock_error);
    if (sure <= clock_warning) continue;
    out.push_back({sure > clock_problem ? problem : warning, "clock of " + p.endpoint,
                   text("is ", short_time(std::abs(p.clock_ahead)),
                        p.clock_ahead > 0 ? " ahead of" : " behind", " the clock here"),
                   "set the clocks by NTP (chrony, systemd-timesyncd): logs and events are merged "
                   "by time, and certificates have dates"});
  }
  if (out.empty() && known > 0)
    out.push_back({ok, "clocks", "differ by " + short_time(most_apart) + " at most", ""});
  return out;
}

}  // namespace

Findings check_peers(std::span<const PeerFacts> peers, const std::string& own_build) {
  Findings out;
  for (const PeerFacts& p : peers) out.push_back(check_peer(p));
  if (std::any_of(peers.begin(), peers.end(),
                  [](const PeerFacts& p) { return p.answer_seconds >= 0; }))
    out.push_back(check_builds(peers, own_build));
  for (Finding& f : check_clocks(peers)) out.push_back(std::move(f));
  return out;
}

}  // namespace paddle
