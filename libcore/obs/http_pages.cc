#include "obs/http_pages.h"

#include <openssl/crypto.h>

#include "base/error.h"
#include "base/log.h"
#include "obs/events.h"

namespace paddle {
namespace {

HttpReply sentence(unsigned status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

HttpReply state_page(const std::string& problem) {
  return problem.empty() ? sentence(200, "ok") : sentence(503, problem);
}

}  // namespace

bool proves(const wire::Token& token, std::span<const std::byte> text) try {
  const wire::Token shown = wire::parse_token(text, "the request");
  const Secret ours = wire::key_of(token, shown.grant), theirs = wire::key_of(shown, shown.grant);
  return ours.size() == theirs.size() &&
         ::CRYPTO_memcmp(ours.bytes().data(), theirs.bytes().data(), ours.size()) == 0;
} catch (const Error&) {
  return false;
}

HttpReply answer_page(const HttpRequest& request, const HttpPages& pages,
                      const wire::Token* token) {
  if (request.path == "/healthz") return state_page(pages.sick());
  if (request.path == "/readyz") return state_page(pages.not_ready());
  const bool metrics = request.path == "/metrics";
  if (!metrics && request.path != "/status")
    return sentence(404, "there is /metrics, /status, /healthz and /readyz");
  if (token != nullptr && !proves(*token, request.bearer.bytes()))
    return sentence(401,
                    "this job has a token: send 'Authorization: Bearer TOKEN' with the contents of "
                    "its token file, or of one for observers ('paddle token --role=observer')");
  if (metrics) return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = pages.metrics()};
  return {.type = "application/json", .body = pages.status()};
}

std::unique_ptr<HttpServer> serve_pages(const HttpPlace& place, HttpPages pages,
                                        std::shared_ptr<const wire::Token> token) {
  if (place.port < 0) return nullptr;
  const HttpOptions options{.host = place.host,
                            .port = static_cast<uint16_t>(place.port),
                            .guarded = token != nullptr,
                            .insecure = place.insecure};
  auto server = std::make_unique<HttpServer>(
      options, [pages = std::move(pages), token = std::move(token)](const HttpRequest& request) {
        return answer_page(request, pages, token.get());
      });
  log_info(text("metrics and health are at ", server->address()));
  emit(event::Serving{server->address()});
  return server;
}

}  // namespace paddle
