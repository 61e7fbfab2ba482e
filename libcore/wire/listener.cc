#include "wire/listener.h"

#include "base/error.h"
#include "base/log.h"
#include "wire/shared_connect.h"
#include "wire/tcp_stream.h"

namespace paddle::wire {
namespace {

std::string remedy(const boost::system::error_code& error, uint16_t port) {
  if (error == asio::error::address_in_use)
    return text(
        "another program listens there; choose another --port, or --port=0 for any free "
        "one (ss -ltnp 'sport = :",
        port, "' shows who it is)");
  if (error == asio::error::access_denied) return "ports below 1024 need root; choose a higher one";
  return "--host must be an address of this machine";
}

}  // namespace

Listener::Listener(asio::io_context& io, const std::string& host, uint16_t port, Reach reach)
    : acceptor_(io) {
  boost::system::error_code error;
  const std::string where = (host.empty() ? "*" : host) + ":" + std::to_string(port);
  const auto check = [&] {
    require(!error, Error::Kind::config, "cannot listen on ", where, ": ", error.message(), "; ",
            remedy(error, port));
  };
  tcp::endpoint at(tcp::v4(), port);
  if (!host.empty()) {
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(host, std::to_string(port), error);
    check();
    at = found.begin()->endpoint();
  }
  acceptor_.open(at.protocol(), error);
  check();
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  acceptor_.bind(at, error);
  check();
  require(reach == Reach::everywhere || at.address().is_loopback(), Error::Kind::config,
          "will not listen on ", where,
          ": other machines reach it, and anybody there could read and change the model. Give all "
          "processes of the job a --token_file ('paddle token --new FILE' makes one), or "
          "certificates (--cert_file, --key_file, --ca_file; see 'paddle certs'), or listen on "
          "--host=127.0.0.1; on a network that you trust, --insecure allows it without protection");
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  check();
  port_ = acceptor_.local_endpoint().port();
}

Listener::~Listener() = default;

void Listener::share_memory(ByteBudget* memory) {
  boost::system::error_code error;
  const std::string host = acceptor_.local_endpoint(error).address().to_string();
  shared_ = std::make_unique<SharedListener>(acceptor_.get_executor(), Endpoint{host, port_}.text(),
                                             memory);
}

void Listener::accept(std::function<void(std::unique_ptr<Stream>)> on_stream) {
  if (shared_) shared_->accept(on_stream);
  asio::co_spawn(acceptor_.get_executor(), loop(std::move(on_stream)), asio::detached);
}

void Listener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (shared_) shared_->stop();
}

asio::awaitable<void> Listener::loop(std::function<void(std::unique_ptr<Stream>)> on_stream) {
  bool said = false;
  while (acceptor_.is_open()) {
    boost::system::error_code error;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      // Out of descriptors, or the peer was gone before we came: neither is a reason to stop.
      if (!said) log_warn(text("port ", port_, " cannot take a connection: ", error.message()));
      said = true;
      asio::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(200));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    said = false;
    on_stream(std::make_unique<TcpStream>(std::move(socket)));
  }
}

}  // namespace paddle::wire
