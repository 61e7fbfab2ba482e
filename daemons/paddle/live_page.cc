#include "paddle/live_page.h"

#include <openssl/crypto.h>
#include <signal.h>
#include <sys/random.h>

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "obs/json.h"
#include "paddle/shard_status.h"

namespace paddle {
namespace {

constexpr double answer_within = 3;
constexpr auto end_within = std::chrono::seconds(1);
constexpr auto watched_period = std::chrono::seconds(1), idle_period = std::chrono::seconds(5);

// 128 random bits, for an address that nobody guesses.
std::string new_key() {
  unsigned char bytes[16];
  require(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes, Error::Kind::io,
          "the kernel gives no random numbers");
  std::string out;
  for (const unsigned char b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// A browser that follows the stream.
class LivePage::Follower {
 public:
  explicit Follower(LivePage& page) : page_(page) {
    const std::scoped_lock lock(page_.mutex_);
    ++page_.followers_;
  }
  ~Follower() { leave(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  std::string next() {
    if (std::string part = page_.feed_.since(cursor_, Clock::now()); !part.empty()) return part;
    if (told_) leave();  // it is called again when what it gave was sent
    const std::scoped_lock lock(page_.mutex_);
    if (told_ || !page_.end_) return "";
    told_ = true;
    return "event: end\ndata: " + JsonObject().add("words", *page_.end_).done() + "\n\n";
  }

 private:
  void leave() {
    const std::scoped_lock lock(page_.mutex_);
    if (std::exchange(left_, true)) return;
    --page_.followers_;
    page_.changed_.notify_all();
  }

  LivePage& page_;
  Feed::Cursor cursor_;
  bool told_ = false, left_ = false;
};

LivePage::LivePage(const std::string& host, int64_t port, const std::string& title)
    : title_(title), key_(new_key()) {
  server_ = std::make_unique<HttpServer>(
      HttpOptions{.host = host, .port = static_cast<uint16_t>(port), .guarded = true},
      [this](const HttpRequest& request) { return answer(request); });
}

LivePage::~LivePage() {
  server_.reset();
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (asking_.joinable()) asking_.join();
}

std::string LivePage::address() const { return server_->address() + "/?key=" + key_; }

HttpReply LivePage::answer(const HttpRequest& request) {
  if (!same(query_value(request.query, "key"), key_))
    return {.status = 401,
            .body =
                "use the whole address that was printed, with its key; a job that is started "
                "again has another one\n"};
  if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = page_html};
  if (request.path != "/events") return {.status = 404, .body = "there is / and /events\n"};
  HttpReply out{.type = "text/event-stream"};
  out.body = "event: begin\ndata: " + JsonObject().add("title", title_).done() + "\n\n";
  out.more = [follower = std::make_shared<Follower>(*this)] { return follower->next(); };
  return out;
}

void LivePage::watch(const Endpoints& endpoints, const wire::Credentials& credentials,
                     const Watching& what) {
  sigset_t all, before;  // signals are for the main thread
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  asking_ = std::thread(
      [this, endpoints, credentials, what] { ask_again_and_again(endpoints, credentials, what); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void LivePage::end(const std::string& words) {
  std::unique_lock lock(mutex_);
  end_ = words;
  changed_.wait_for(lock, end_within, [this] { return followers_ == 0; });
}

void LivePage::ask_again_and_again(const Endpoints& endpoints, const wire::Credentials& credentials,
                                   const Watching& what) {
  StatusWatch watch(what);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const std::vector<ShardStatus> shards = ask_shards(endpoints, answer_within, credentials);
    for (const std::string& line : watch.take(shards, unix_seconds())) feed_.put(line);
    if (watch.reached()) feed_.set_status(status_json(shards));
    const Time asked = Clock::now();
    lock.lock();
    const auto due = [&] {
      const Time now = Clock::now();
      return stop_ || now - asked >= (feed_.watched(now) ? watched_period : idle_period);
    };
    while (!due()) changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
}

}  // namespace paddle
