#include "obs/http_server.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <list>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "wire/asio.h"

namespace paddle {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto stream_period = std::chrono::milliseconds(200);
constexpr auto idle_period = std::chrono::seconds(5);  // then a comment shows that it lives
constexpr int thread_nice = 10;
constexpr size_t discarded_bytes = 256 << 10;

// A token may stand in a request.
using Parser = http::request_parser<http::empty_body, WipingAllocator<char>>;
using Buffer = beast::basic_flat_buffer<WipingAllocator<char>>;

struct Visit {
  explicit Visit(tcp::socket socket) : stream(std::move(socket)) {}
  beast::tcp_stream stream;
  bool asked = false;  // its request is there
};

std::string header_of(const HttpReply& reply) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(reply.status));
  std::string out =
      text("HTTP/1.1 ", reply.status, " ", std::string_view(reason.data(), reason.size()),
           "\r\nContent-Type: ", reply.type,
           "\r\nConnection: close\r\nCache-Control: no-store"
           "\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer"
           "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
           "script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
           "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  if (reply.status == 405) out += "\r\nAllow: GET";
  if (reply.status == 401) out += "\r\nWWW-Authenticate: Bearer";
  if (!reply.more) out += text("\r\nContent-Length: ", reply.body.size());
  return out + "\r\n\r\n";
}

HttpReply refusal(unsigned status, const std::string& why) {
  return {.status = status, .body = why + "\n"};
}

tcp::endpoint http_endpoint(asio::io_context& io, const HttpOptions& o) {
  boost::system::error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(o.host, std::to_string(o.port), error);
  require(!error && !found.empty(), Error::Kind::config, "--http_host=", o.host, ": ",
          error.message(), "; give an address of this machine");
  const tcp::endpoint at = found.begin()->endpoint();
  require(at.address().is_loopback() || o.guarded || o.insecure, Error::Kind::config,
          "will not open the HTTP port on ", o.host,
          ": other machines reach it, and anybody there could look at the job. Give a --token_file "
          "('paddle token --new FILE' makes one), or leave --http_host at 127.0.0.1 and use an ssh "
          "tunnel");
  return at;
}

}  // namespace

class HttpServer::Loop {
 public:
  Loop(const HttpOptions& options, Handler handler)
      : limits_(options.limits), handler_(std::move(handler)), acceptor_(io_) {
    const tcp::endpoint at = http_endpoint(io_, options);
    boost::system::error_code error;
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    require(!error, Error::Kind::config, "cannot open the HTTP port ", options.host, ":",
            options.port, ": ", error.message(),
            "; choose another --http_port, or --http_port=0 for any free one");
    local_ = acceptor_.local_endpoint();
    asio::co_spawn(io_, accept(), asio::detached);
    start();
  }
  ~Loop() {
    io_.stop();
    thread_.join();
  }

  const tcp::endpoint& local() const { return local_; }

 private:
  // Signals are for the threads that know what to do with them.
  void start() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] {
      ::setpriority(PRIO_PROCESS, 0, thread_nice);  // of this thread alone
      io_.run();
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  asio::awaitable<void> accept() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket =
          co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // out of descriptors, most likely
        asio::steady_timer pause(io_, stream_period);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      make_place();
      visits_.push_back(std::make_shared<Visit>(std::move(socket)));
      asio::co_spawn(io_, serve(visits_.back()), asio::detached);
    }
  }

  // So nobody keeps others out by connections alone.
  void make_place() {
    if (visits_.size() < limits_.connections) return;
    auto oldest =
        std::find_if(visits_.begin(), visits_.end(), [](const auto& v) { return !v->asked; });
    if (oldest == visits_.end()) oldest = visits_.begin();
    (*oldest)->stream.close();
    visits_.erase(oldest);
  }

  asio::awaitable<void> serve(std::shared_ptr<Visit> visit) {
    try {
      HttpReply reply = co_await answer(*visit);
      co_await send(*visit, reply);
    } catch (const boost::system::system_error&) {  // it left, or was too slow
    }
    visit->stream.close();
    visits_.remove(visit);
  }

  asio::awaitable<HttpReply> answer(Visit& visit) {
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(limits_.header_bytes));
    parser.body_limit(boost::none);  // none is read
    Buffer buffer(limits_.header_bytes + 1024);
    visit.stream.expires_after(deadline());
    boost::system::error_code error;
    co_await http::async_read_header(visit.stream, buffer, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    visit.asked = true;
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      co_return refusal(431, text("a request may have ", limits_.header_bytes, " bytes"));
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      co_return refusal(400, "this is no HTTP request: " + error.message());
    if (error) throw boost::system::system_error(error);
    co_return reply_to(visit, parser.get());
  }

  HttpReply reply_to(Visit& visit, const Parser::value_type& request) {
    if (request.method() != http::verb::get) return refusal(405, "only GET is answered here");
    if (request.has_content_length() || request.chunked())
      return refusal(400, "a GET without a body is expected");
    const bool local = visit.stream.socket().local_endpoint().address().is_loopback();
    const auto host = request[http::field::host];
    if (local && !names_loopback({host.data(), host.size()}))
      return refusal(403, "the Host header must be localhost or 127.0.0.1 here");
    const std::string target(request.target().data(), request.target().size());
    const size_t mark = std::min(target.find('?'), target.size());
    HttpRequest asked{.path = target.substr(0, mark), .query = {}, .bearer = {}};
    if (mark < target.size()) asked.query = target.substr(mark + 1);
    const auto proof = request[http::field::authorization];
    constexpr std::string_view scheme = "Bearer ";
    if (proof.starts_with({scheme.data(), scheme.size()})) {
      asked.bearer = Secret(proof.size() - scheme.size());
      std::copy(proof.begin() + scheme.size(), proof.end(),
                reinterpret_cast<char*>(asked.bearer.bytes().data()));
    }
    try {
      return handler_(asked);
    } catch (const std::exception& e) {
      log_warn(text("HTTP request for ", asked.path, ": ", e.what()));
      return refusal(500, e.what());
    }
  }

  asio::awaitable<void> send(Visit& visit, HttpReply& reply) {
    if (reply.more && streams_ >= limits_.streams)
      reply = refusal(503, text(streams_, " clients follow this already: close one"));
    const std::string head = header_of(reply) + reply.body;
    co_await write(visit, head);
    if (reply.more) {
      ++streams_;
      try {
        co_await stream(visit, reply);
      } catch (...) {
        --streams_;
        throw;
      }
      --streams_;
    }
    boost::system::error_code ignored;
    visit.stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    co_await discard_rest(visit);
  }

  // A socket that is closed with unread bytes in it takes the answer back.
  asio::awaitable<void> discard_rest(Visit& visit) {
    char bytes[4096];
    visit.stream.expires_after(std::chrono::seconds(1));
    for (size_t sum = 0; sum < discarded_bytes;) {
      boost::system::error_code error;
      const size_t n = co_await visit.stream.async_read_some(
          asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      sum += n;
    }
  }

  asio::awaitable<void> stream(Visit& visit, HttpReply& reply) {
    asio::steady_timer timer(io_);
    auto last = std::chrono::steady_clock::now();
    for (;;) {
      std::string part = reply.more();
      const auto now = std::chrono::steady_clock::now();
      if (part.empty() && now - last > idle_period) part = ": still here\n\n";
      if (!part.empty()) {
        last = now;
        co_await write(visit, part);
      }
      timer.expires_after(stream_period);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  asio::awaitable<void> write(Visit& visit, const std::string& bytes) {
    visit.stream.expires_after(deadline());
    co_await asio::async_write(visit.stream, asio::buffer(bytes), asio::use_awaitable);
  }

  std::chrono::milliseconds deadline() const {
    return std::chrono::milliseconds(static_cast<int64_t>(1000 * limits_.seconds));
  }

  const HttpLimits limits_;
  const Handler handler_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  tcp::endpoint local_;
  std::list<std::shared_ptr<Visit>> visits_;  // the oldest first; shared with their coroutines
  size_t streams_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, Handler handler)
    : loop_(std::make_unique<Loop>(options, std::move(handler))) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return loop_->local().port(); }

std::string HttpServer::address() const {
  const auto address = loop_->local().address();
  const std::string host = address.to_string();
  return text("http://", address.is_v6() ? "[" + host + "]" : host, ":", port());
}

bool names_loopback(std::string_view host) {
  if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
  const std::string name(host.substr(0, host.find(':')));
  if (name == "localhost") return true;
  boost::system::error_code error;
  const auto address = asio::ip::make_address_v4(name, error);
  return !error && address.is_loopback();
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name)
      return std::string(pair.substr(equals + 1));
  }
  return "";
}

}  // namespace paddle
