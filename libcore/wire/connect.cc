// Making connections: names to addresses, addresses to sockets.
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/endpoint.h"
#include "base/error.h"
#include "wire/credentials.h"
#include "wire/opening.h"
#include "wire/shared_connect.h"
#include "wire/tcp_stream.h"

namespace paddle::wire {

Endpoint parse_endpoint(const std::string& text, const std::string& what) {
  EndpointText read;
  const std::string problem = read_endpoint(text, read);
  require(problem.empty(), Error::Kind::config, what, " '", text, "' ", problem);
  require(read.port.has_value(), Error::Kind::config, what, " '", text,
          "' has no port: write host:port");
  return {read.host, static_cast<uint16_t>(*read.port)};
}

asio::awaitable<std::unique_ptr<Stream>> connect(Endpoint to, double seconds) {
  using namespace asio::experimental::awaitable_operators;
  const auto executor = co_await asio::this_coro::executor;
  const auto refuse = [&](const std::string& why) {
    return Error(Error::Kind::peer, "cannot connect to ", to.text(), ": ", why);
  };
  asio::steady_timer deadline(executor);
  deadline.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds)));
  // Errors as values: an operation that throws would leave `||` waiting for the other one.
  boost::system::error_code error;
  auto with_error = [&] { return asio::redirect_error(asio::use_awaitable, error); };
  tcp::resolver resolver(executor);
  auto found = co_await (resolver.async_resolve(to.host, std::to_string(to.port),
                                                tcp::resolver::numeric_service, with_error()) ||
                         deadline.async_wait(asio::use_awaitable));
  if (found.index() == 1) throw refuse("its name was not resolved in time");
  if (error) throw refuse(error.message());
  tcp::socket socket(executor);
  auto done = co_await (asio::async_connect(socket, std::get<0>(found), with_error()) ||
                        deadline.async_wait(asio::use_awaitable));
  if (done.index() == 1) throw refuse("it does not answer");
  if (error) throw refuse(error.message());
  // A port of the ephemeral range may connect to itself while nobody listens there.
  if (socket.local_endpoint(error) == socket.remote_endpoint(error))
    throw refuse("nobody listens there");
  co_return std::make_unique<TcpStream>(std::move(socket));
}

namespace {

std::string why_cut(const Credentials& credentials) {
  return text(
      "it closed the connection before the ", credentials.token ? "token" : "certificate",
      " was accepted: does it run with ", credentials.token ? "--token_file" : "--cert_file",
      credentials.token && credentials.tls ? " and --cert_file" : "", ", as this process does?");
}

}  // namespace

asio::awaitable<std::unique_ptr<Stream>> connect(Endpoint to, double seconds,
                                                 const Credentials& credentials, Purpose purpose,
                                                 bool shared) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Stream> stream;
  if (shared && !credentials.tls) stream = connect_shared(co_await asio::this_coro::executor, to);
  if (!stream) stream = co_await connect(to, seconds);
  if (!credentials) co_return stream;
  if (credentials.tls) stream = credentials.tls->over(std::move(stream), to.host);
  // Both outlive this coroutine where somebody ends it: the callback has them, too.
  const auto timer = std::make_shared<asio::steady_timer>(stream->executor());
  const auto result = std::make_shared<std::optional<Opening::Result>>();
  timer->expires_at(begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                std::chrono::duration<double>(seconds)));
  const auto opening = Opening::start(
      std::move(stream),
      [token = credentials.token, purpose](const Binding& binding) {
        return token ? client_handshake(*token, purpose, binding, new_nonce()) : await_acceptance();
      },
      [timer, result](Opening::Result r) {
        r.failed = nullptr;
        result->emplace(std::move(r));
        timer->cancel();
      });
  boost::system::error_code ignored;
  if (!*result) co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (!*result) opening->drop();
  const std::string start = "cannot connect to " + to.text() + ": ";
  if (!*result)
    throw Error(Error::Kind::peer, start, "it did not prove who it is within ", seconds,
                " s: does it run with the same options for tokens and certificates?");
  if ((*result)->stream) co_return std::move((*result)->stream);
  throw Error((*result)->again ? Error::Kind::peer : Error::Kind::config, start,
              (*result)->cut ? why_cut(credentials) : (*result)->problem);
}

}  // namespace paddle::wire
