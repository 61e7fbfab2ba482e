// Making connections: names to addresses, addresses to sockets.
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/endpoint.h"
#include "base/error.h"
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

}  // namespace paddle::wire
