#include "paddle/doctor_peers.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "paddle/doctor_gather.h"
#include "paddle/shard_status.h"
#include "paddle/within.h"
#include "wire/opening.h"
#include "wire/tcp_stream.h"

namespace paddle {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

bool same_address(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  return a.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

bool of_this_machine(const sockaddr& address) {
  if (address.sa_family == AF_INET &&
      ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127)
    return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next)
    if (at->ifa_addr != nullptr && same_address(*at->ifa_addr, address)) return true;
  return false;
}

// "" once it is connected, else the system's words.
std::string try_address(const addrinfo& to, Time deadline) {
  const Descriptor socket(
      ::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol));
  if (!socket) return std::strerror(errno);
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return "";
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd wait{socket.get(), POLLOUT, 0};
  const double left = seconds(Clock::now(), deadline);
  if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left * 1e3) + 1) != 1)
    return "no answer in time";
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

// The way to a peer, without a word to it.
PeerFacts reach(const std::string& endpoint, Time deadline) {
  PeerFacts out{.endpoint = endpoint};
  const wire::Endpoint to = wire::parse_endpoint(endpoint, "pservers");
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  const int code = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &found);
  if (code != 0) {
    out.name_problem = ::gai_strerror(code);
    return out;
  }
  const AddressList owner(found, ::freeaddrinfo);
  const Time begin = Clock::now();
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    out.own_machine = out.own_machine || of_this_machine(*at->ai_addr);
    out.connect_problem = try_address(*at, deadline);
    if (out.connect_problem.empty()) break;
  }
  if (out.connect_problem.empty()) out.connect_seconds = seconds(begin, Clock::now());
  return out;
}

bool reached(const PeerFacts& p) { return p.name_problem.empty() && p.connect_problem.empty(); }

void add_answer(const ShardStatus& status, const AnswerTimes& times, PeerFacts& out) {
  if (out.own_machine)
    out.holder = port_holder(wire::parse_endpoint(out.endpoint, "pservers").port);
  out.problem = status.problem;
  out.silent = !status.answered() && times.opened >= 0 && times.answered < 0 &&
               status.problem == no_answer_in_time;
  if (!status.answered()) return;
  out.answer_seconds = times.answered;
  out.build = status.build;
  out.state = name_of(status.state);
  out.job = status.job;
  if (status.clock == 0) return;
  out.clock_ahead = status.clock - (times.asked_at + times.answered_at) / 2;
  out.clock_error = (times.answered_at - times.asked_at) / 2;
}

}  // namespace

std::vector<PeerFacts> peer_facts(const Endpoints& endpoints, double seconds_each,
                                  const wire::Credentials& credentials) {
  const Time deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds_each));
  std::vector<std::string> all = endpoints.dense;
  all.insert(all.end(), endpoints.sparse.begin(), endpoints.sparse.end());
  std::vector<Aside<PeerFacts>> ways;
  ways.reserve(all.size());
  for (const std::string& endpoint : all)
    ways.emplace_back([endpoint, deadline] { return reach(endpoint, deadline); });
  std::vector<PeerFacts> out;
  Endpoints open;
  for (size_t i = 0; i < all.size(); ++i) {
    const PeerFacts late{.endpoint = all[i],
                         .name_problem = "no name server answered in time",
                         .connect_problem = {}};
    out.push_back(ways[i].by(deadline + std::chrono::milliseconds(100)).value_or(late));
    if (reached(out.back()))
      (i < endpoints.dense.size() ? open.dense : open.sparse).push_back(all[i]);
  }
  std::vector<AnswerTimes> times;
  const std::vector<ShardStatus> answers = ask_shards(open, seconds_each, credentials, &times);
  size_t next = 0;
  for (PeerFacts& p : out)
    if (reached(p)) {
      add_answer(answers[next], times[next], p);
      ++next;
    }
  return out;
}

}  // namespace paddle
