// Answers HTTP requests on a thread of its own, with little: GET alone, one request per connection,
// small headers, few connections, and a deadline for each. Nothing that a client does reaches the
// threads that train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace paddle {

struct HttpRequest {
  std::string path;   // "/metrics"
  std::string query;  // behind the '?', as it came
  Secret bearer;      // of "Authorization: Bearer …"; empty where there is none
};

struct HttpReply {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  // Where it is set, `body` is only the beginning of the answer: it is called five times a second
  // and gives what there is to add, until the client leaves.
  std::function<std::string()> more = nullptr;
};

struct HttpLimits {
  size_t connections = 64;  // of more, the oldest that has not asked yet is closed
  size_t streams = 16;      // answers without an end; further ones are refused
  size_t header_bytes = 8 << 10;
  double seconds = 10;  // to send a request, and to take a part of the answer
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;      // 0: the kernel chooses
  bool guarded = false;   // the handler asks for a token: others than this machine may connect
  bool insecure = false;  // they may anyway
  HttpLimits limits = {};
};

class HttpServer {
 public:
  // Called in the server's thread. What it throws becomes an answer with code 500.
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  // Listens and serves until it is destroyed. Throws Error(config) where it cannot listen, or where
  // others could read without a token.
  HttpServer(const HttpOptions& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  std::string address() const;  // "http://127.0.0.1:4711"

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

// Whether a Host header names this machine's own loopback: "localhost:8080", "127.0.0.1", "[::1]".
// A page of another site whose name was made to point here has that name in the header.
bool names_loopback(std::string_view host);

// The value of `name` in "a=1&b=2"; "" where there is none. Nothing is decoded.
std::string query_value(std::string_view query, std::string_view name);

}  // namespace paddle
