// A TCP proxy in the test's own process: it cuts connections anywhere in the stream, delays bytes,
// and sends the bytes of an ended connection once more on a new one.
#pragma once

#include <atomic>
#include <boost/asio/write.hpp>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "wire/asio.h"

namespace paddle {

struct CuttingPlan {
  uint64_t seed = 1;
  int cuts = 0, delays = 0;                    // how many; afterwards it only forwards
  uint64_t least = 1, most = 1;                // bytes in one direction before the cut
  std::chrono::milliseconds longest_delay{0};  // of one read in eight
  bool repeats = false;                        // what an ended connection said is said again
};

class CuttingProxy {
 public:
  CuttingProxy(const CuttingPlan& plan, const std::vector<uint16_t>& targets)
      : plan_(plan), random_(plan.seed, 1), work_(io_.get_executor()) {
    for (const uint16_t target : targets) {
      acceptors_.emplace_back(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
      ports_.push_back(acceptors_.back().local_endpoint().port());
      asio::co_spawn(io_, accept(acceptors_.back(), target), asio::detached);
    }
    thread_ = std::thread([this] { io_.run(); });
  }
  ~CuttingProxy() {
    io_.stop();
    thread_.join();
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  const std::vector<uint16_t>& ports() const { return ports_; }
  int cuts() const { return cuts_; }
  int repeats() const { return repeats_; }

 private:
  // Both ends of one connection, shared by the two directions; the last one to end destroys it.
  struct Pipe {
    explicit Pipe(asio::io_context& io) : down(io), up(io) {}
    tcp::socket down, up;
    uint16_t target = 0;
    uint64_t left[2] = {~uint64_t{0}, ~uint64_t{0}};  // bytes until the cut, up and down
    std::vector<char> said;                           // by the trainer, for the repetition
    bool ended = false;
  };
  static constexpr auto value_of = asio::use_awaitable;

  uint64_t draw(uint64_t below) { return random_.bits(drawn_++) % below; }

  asio::awaitable<void> accept(tcp::acceptor& acceptor, uint16_t target) {
    for (;;) {
      auto pipe = std::make_shared<Pipe>(io_);
      boost::system::error_code error;
      co_await acceptor.async_accept(pipe->down, asio::redirect_error(value_of, error));
      if (error) co_return;
      pipe->target = target;
      if (cuts_ < plan_.cuts)
        pipe->left[draw(2)] = plan_.least + draw(plan_.most - plan_.least + 1);
      const tcp::endpoint to(asio::ip::address_v4::loopback(), target);
      co_await pipe->up.async_connect(to, asio::redirect_error(value_of, error));
      if (error) continue;
      asio::co_spawn(io_, pump(pipe, true), asio::detached);
      asio::co_spawn(io_, pump(pipe, false), asio::detached);
    }
  }

  asio::awaitable<void> pump(std::shared_ptr<Pipe> pipe, bool upwards) {
    tcp::socket &from = upwards ? pipe->down : pipe->up, &to = upwards ? pipe->up : pipe->down;
    uint64_t& left = pipe->left[upwards ? 0 : 1];
    std::vector<char> room(16384);
    boost::system::error_code error;
    bool cut = false;
    while (!error && !cut) {
      size_t n =
          co_await from.async_read_some(asio::buffer(room), asio::redirect_error(value_of, error));
      if (error) break;
      if (n >= left && cuts_ < plan_.cuts) {
        n = static_cast<size_t>(left);
        cut = true;
        ++cuts_;
      }
      left -= std::min<uint64_t>(left - 1, n);
      if (delays_ < plan_.delays && draw(8) == 0) {
        ++delays_;
        asio::steady_timer timer(io_);
        timer.expires_after(std::chrono::milliseconds(
            draw(static_cast<uint64_t>(plan_.longest_delay.count()) + 1)));
        co_await timer.async_wait(asio::redirect_error(value_of, error));
      }
      if (upwards && plan_.repeats && pipe->said.size() < said_limit)
        pipe->said.insert(pipe->said.end(), room.begin(),
                          room.begin() + static_cast<std::ptrdiff_t>(n));
      co_await asio::async_write(to, asio::buffer(room, n), asio::redirect_error(value_of, error));
    }
    co_await end(*pipe, cut);
  }

  // Some ends are resets, so that bytes on their way are lost.
  asio::awaitable<void> end(Pipe& pipe, bool cut) {
    if (pipe.ended) co_return;
    pipe.ended = true;
    boost::system::error_code ignored;
    for (tcp::socket* s : {&pipe.down, &pipe.up}) {
      if (draw(2) == 0) s->set_option(tcp::socket::linger(true, 0), ignored);
      s->close(ignored);
    }
    if (cut && plan_.repeats && draw(2) == 0) co_await repeat(pipe);
  }

  // The shard hears all of it a second time, answers, and is not listened to.
  asio::awaitable<void> repeat(Pipe& pipe) {
    ++repeats_;
    tcp::socket again(io_);
    boost::system::error_code error;
    const tcp::endpoint to(asio::ip::address_v4::loopback(), pipe.target);
    co_await again.async_connect(to, asio::redirect_error(value_of, error));
    if (!error)
      co_await asio::async_write(again, asio::buffer(pipe.said),
                                 asio::redirect_error(value_of, error));
  }

  static constexpr size_t said_limit = 1 << 18;
  CuttingPlan plan_;
  RandomStream random_;
  uint64_t drawn_ = 0;
  int delays_ = 0;
  std::atomic<int> cuts_ = 0, repeats_ = 0;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::list<tcp::acceptor> acceptors_;
  std::vector<uint16_t> ports_;
  std::thread thread_;
};

}  // namespace paddle
