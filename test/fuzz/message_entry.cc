#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "fuzz/entries.h"
#include "pserver/client.h"
#include "support/frames.h"

namespace paddle::fuzz {
namespace {

// Not an assert: it must also stop a release build.
void must(bool ok) {
  if (!ok) std::abort();
}

std::string hello() {
  wire::Hello hello = wire::make_hello(wire::Role::trainer);
  hello.job = "job";
  hello.program = "abc";
  hello.incarnation = 5;
  return frame_of(1, hello);
}

std::optional<RunningShard> running;

// A shard that has a job; made anew where an input has ended or changed it.
std::optional<RunningShard>& shard() {
  const auto serves = [&] {
    Client c(running->port());
    const Answer w = c.greet({.trainer = 0, .trainers = 1, .incarnation = 5});
    return w.state == wire::ShardState::ready && w.epoch == 0 &&
           c.join(w.versions[0]).type == AnswerType::Ack;
  };
  if (running && serves()) return running;
  running.reset();  // before the log starts anew: its thread logs
  start_log({.to_stderr = false, .min_level = 4});
  running.emplace();
  Client c(running->port());
  must(c.greet({.trainer = 0, .trainers = 1, .incarnation = 5}).type == AnswerType::Welcome);
  must(c.provide(small_job({.sizes = {5}})).type == AnswerType::Ack);
  must(c.join().type == AnswerType::Ack);
  return running;
}

// Reads frames until the answer to status_ask() or the end of the connection. False after a time in
// which any shard answers.
bool answers_or_ends(tcp::socket& s, asio::io_context& io) {
  std::string buffer(1 << 16, '\0'), all;
  bool ended = false;
  std::function<void()> read = [&] {
    s.async_read_some(asio::buffer(buffer), [&](const boost::system::error_code& e, size_t n) {
      all.append(buffer, 0, n);
      ended = static_cast<bool>(e);
      if (!ended) read();
    });
  };
  read();
  // The id of all ones stands in no other answer.
  const auto done = [&] { return ended || all.find(std::string(8, '\xff')) != std::string::npos; };
  const auto end = wire::Clock::now() + std::chrono::seconds(10);
  while (!done() && wire::Clock::now() < end) io.run_one_for(std::chrono::milliseconds(50));
  return done();
}

}  // namespace

void end_messages() { running.reset(); }

bool message(std::string_view input) {
  if (input.size() > 1 << 20) return false;
  std::vector<uint64_t> aligned((input.size() + 7) / 8 + wire::header_bytes / 8);
  input.copy(reinterpret_cast<char*>(aligned.data()), input.size());
  bool whole = false;
  try {
    const auto bytes = std::as_bytes(std::span(aligned));
    wire::read_message(bytes.first((input.size() + 7) / 8 * 8));
    whole = true;
  } catch (const Error&) {
  }
  try {
    wire::read_header(std::as_bytes(std::span(aligned)).first<wire::header_bytes>(),
                      wire::trainer_limits.head);
  } catch (const Error&) {
  }
  asio::io_context io;
  tcp::socket s(io);
  s.connect({asio::ip::make_address("127.0.0.1"), shard()->port()});
  const std::string bulk(input.size() % 2 == 0 ? 20 : 0, '\0');
  const std::string all =
      hello() + frame_of(input, bulk) + frame_of(~uint64_t{0}, wire::StatusAsk{});
  boost::system::error_code gone;
  for (size_t sent = 0; sent < all.size() && !gone;)
    sent += s.write_some(asio::buffer(all.data() + sent, all.size() - sent), gone);
  must(answers_or_ends(s, io));
  return whole;
}

}  // namespace paddle::fuzz
