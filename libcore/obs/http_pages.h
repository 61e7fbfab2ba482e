// What a daemon answers over HTTP: /metrics, /healthz, /readyz and /status.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "obs/http_server.h"
#include "wire/credentials.h"

namespace paddle {

// Asked in the server's thread.
struct HttpPages {
  std::function<std::string()> metrics, status;
  // "" while the process works, and while it can take part in a job; else why not.
  std::function<std::string()> sick, not_ready;
};

// With a token, /metrics and /status want it (or one derived from it) as "Authorization: Bearer …";
// /healthz and /readyz tell nothing of the job and are for everybody.
HttpReply answer_page(const HttpRequest& request, const HttpPages& pages, const wire::Token* token);

// Whether `text` is the token, or was derived from it.
bool proves(const wire::Token& token, std::span<const std::byte> text);

struct HttpPlace {
  std::string host;
  int64_t port = -1;  // -1: no server
  bool insecure = false;
};
// Says in the log and in an event where it serves; null where there is no port.
std::unique_ptr<HttpServer> serve_pages(const HttpPlace& place, HttpPages pages,
                                        std::shared_ptr<const wire::Token> token);

}  // namespace paddle
