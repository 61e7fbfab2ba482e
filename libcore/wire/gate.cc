#include "wire/gate.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "wire/frame.h"

namespace paddle::wire {
namespace {

constexpr double report_seconds = 10;  // between two lines about strangers
constexpr const char* needs_proof =
    "this pserver takes processes with the job's token or certificates only: start this one with "
    "--token_file, or with --cert_file, --key_file and --ca_file (docs/security.md)";

// Without the port, which is another one each time.
std::string address_of(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

// The one answer that a stranger gets, so that a process that lacks a token ends with a reason.
void refuse_plainly(Stream& stream) {
  MessageWriter writer;
  const Bytes head = writer.write(0, Failure{FailureCode::refused, needs_proof});
  std::vector<std::byte> frame(header_bytes + (head.size() + 7) / 8 * 8);
  write_header(frame.data(), {static_cast<uint32_t>(frame.size() - header_bytes), 0});
  std::memcpy(frame.data() + header_bytes, head.data(), head.size());
  const iovec all{frame.data(), frame.size()};
  stream.write_some({&all, 1});  // what the kernel does not take at once is not worth a wait
}

}  // namespace

Gate::Gate(asio::io_context& io, Credentials credentials, GateLimits limits)
    : credentials_(std::move(credentials)), limits_(limits), timer_(io) {}

Gate::~Gate() {
  for (Stranger& s : waiting_)
    if (s.opening) s.opening->drop();
}

void Gate::take(std::unique_ptr<Stream> stream, OnStream pass) {
  if (!credentials_) return pass(std::move(stream), {});
  const std::string address = address_of(stream->peer());
  make_place(address);
  Opening::Make handshake = [token = credentials_.token](const Binding& binding) {
    return token ? server_handshake(*token, binding, new_nonce()) : certificate_accepted();
  };
  if (credentials_.tls) stream = credentials_.tls->over(std::move(stream));
  const Place place = waiting_.insert(waiting_.end(), {address, nullptr});
  // It may end before start() returns: then there is nothing to keep.
  const auto alive = std::make_shared<bool>(true);
  auto opening =
      Opening::start(std::move(stream), std::move(handshake),
                     [this, place, alive, pass = std::move(pass)](Opening::Result result) {
                       *alive = false;
                       ended(place, std::move(result), pass);
                     });
  if (*alive) place->opening = std::move(opening);
  watch();
}

void Gate::make_place(const std::string& address) {
  const auto same = [&](const Stranger& s) { return s.address == address; };
  const auto count = static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), same));
  if (count >= limits_.per_address)
    close(std::find_if(waiting_.begin(), waiting_.end(), same),
          text("no proof, and ", count, " connections of its address are without one"));
  else if (waiting_.size() >= limits_.total)
    close(waiting_.begin(),
          text("no proof, and ", waiting_.size(), " connections are without one"));
}

void Gate::close(Place place, const std::string& why) {
  count_refusal(place->opening->peer(), why);
  const auto opening = std::move(place->opening);
  waiting_.erase(place);
  opening->drop();
}

void Gate::ended(Place place, Opening::Result result, const OnStream& pass) {
  const std::string peer = result.stream ? "" : place->address;
  waiting_.erase(place);
  if (result.stream) return pass(std::move(result.stream), result.proof);
  if (result.probe) {
    ++refused_;
    return log_detail(1, text(label_, "closed the connection of ", peer));
  }
  if (result.plain) refuse_plainly(*result.failed);
  count_refusal(peer, result.problem);
}

// One line now and then: strangers shall not fill the log.
void Gate::count_refusal(const std::string& peer, const std::string& why) {
  ++refused_;
  ++unreported_;
  const Time now = Clock::now();
  if (last_report_ != Time{} && seconds(last_report_, now) < report_seconds) return;
  last_report_ = now;
  log_warn(text(label_, "refused ", unreported_ == 1 ? "a connection" : "connections", " of ", peer,
                ": ", why,
                unreported_ == 1 ? std::string() : text(" (the last of ", unreported_, ")")));
  unreported_ = 0;
}

void Gate::watch() {
  if (watching_ || waiting_.empty()) return;
  watching_ = true;
  const double left = limits_.seconds - seconds(waiting_.front().opening->since(), Clock::now());
  timer_.expires_after(std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::max(left, 0.001))));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    watching_ = false;
    while (!waiting_.empty() &&
           seconds(waiting_.front().opening->since(), Clock::now()) >= limits_.seconds)
      close(waiting_.begin(), text("no proof within ", limits_.seconds, " s"));
    watch();
  });
}

}  // namespace paddle::wire
