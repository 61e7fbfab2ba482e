// The live page of a job (docs/ui.md): one HTML page and the stream of lines that it draws from, on
// a port of its own. Used by `paddle launch` and `paddle ui`.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "obs/http_server.h"
#include "options/cluster.h"
#include "paddle/feed.h"
#include "paddle/status_watch.h"
#include "wire/credentials.h"

namespace paddle {

// The page as it stands in page/page.html, with its parts.
extern const char* const page_html;

class LivePage {
 public:
  // `title` stands over the page. Only who knows the key in the address can look. Throws
  // Error(config).
  LivePage(const std::string& host, int64_t port, const std::string& title);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  std::string address() const;  // "http://127.0.0.1:4711/?key=…"
  Feed& feed() { return feed_; }
  const Feed& feed() const { return feed_; }
  // Asks the shards again and again from here on: every second while a browser shows the page.
  void watch(const Endpoints& endpoints, const wire::Credentials& credentials,
             const Watching& what);
  // The job is over: browsers get what is left and these words, and do not ask again. Waits until
  // they have them, for a second at most.
  void end(const std::string& words);

 private:
  class Follower;

  HttpReply answer(const HttpRequest& request);
  void ask_again_and_again(const Endpoints& endpoints, const wire::Credentials& credentials,
                           const Watching& what);

  const std::string title_, key_;
  Feed feed_;
  std::mutex mutex_;  // of the next four
  std::condition_variable changed_;
  bool stop_ = false;
  size_t followers_ = 0;  // that have not been told of the end
  std::optional<std::string> end_;
  std::thread asking_;
  std::unique_ptr<HttpServer> server_;  // ends first
};

}  // namespace paddle
