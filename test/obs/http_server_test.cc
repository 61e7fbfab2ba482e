#include "obs/http_server.h"

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "obs/http_pages.h"
#include "wire/asio.h"

using namespace paddle;
using Catch::Contains;

namespace http_test {

std::string text_of(const Secret& s) {
  return {reinterpret_cast<const char*>(s.bytes().data()), s.size()};
}

HttpReply echo(const HttpRequest& r) {
  if (r.path == "/throw") throw Error(Error::Kind::io, "the disk is gone");
  if (r.path == "/stream") {
    HttpReply out{.body = "begin\n"};
    out.more = [n = 0]() mutable { return "part " + std::to_string(++n) + "\n"; };
    return out;
  }
  return {.body = r.path + " " + r.query + " " + text_of(r.bearer) + "\n"};
}

class Client {
 public:
  explicit Client(const HttpServer& server) : socket_(io_) {
    socket_.connect({asio::ip::address_v4::loopback(), server.port()});
  }
  Client& send(const std::string& bytes) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
    return *this;
  }
  std::string all() {
    std::string out;
    boost::system::error_code error;
    asio::read(socket_, asio::dynamic_buffer(out), error);
    return out;
  }
  std::string some() {
    char bytes[512];
    boost::system::error_code error;
    return {bytes, socket_.read_some(asio::buffer(bytes), error)};
  }

 private:
  asio::io_context io_;
  tcp::socket socket_;
};

std::string get(const HttpServer& server, const std::string& target, const std::string& more = "",
                const std::string& host = "localhost") {
  return Client(server)
      .send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n")
      .all();
}

TEST_CASE("HTTP: a GET is answered", "[obs]") {
  const HttpServer server({}, echo);
  const std::string reply = get(server, "/a?b=1&c", "Authorization: Bearer secret\r\n");
  CHECK_THAT(reply, Contains("HTTP/1.1 200 OK\r\n") && Contains("\r\n\r\n/a b=1&c secret\n"));
  CHECK_THAT(reply, Contains("Content-Length: 16\r\n"));
  CHECK(server.address() == "http://127.0.0.1:" + std::to_string(server.port()));
}

TEST_CASE("HTTP: what is no GET is refused", "[obs]") {
  const HttpServer server({}, echo);
  const auto answer = [&](const std::string& bytes) { return Client(server).send(bytes).all(); };
  CHECK_THAT(answer("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
             Contains(" 405 ") && Contains("Allow: GET"));
  CHECK_THAT(answer("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
             Contains(" 400 "));
  CHECK_THAT(answer("\x16\x03\x01garbage\r\n\r\n"), Contains(" 400 "));
  CHECK_THAT(get(server, "/", "X: " + std::string(20000, 'x') + "\r\n"), Contains(" 431 "));
  CHECK_THAT(get(server, "/throw"), Contains(" 500 ") && Contains("the disk is gone"));
}

TEST_CASE("HTTP: the name in the Host header must be this machine's", "[obs]") {
  const HttpServer server({}, echo);
  CHECK_THAT(get(server, "/", "", "evil.example.com"), Contains(" 403 "));
  CHECK_THAT(get(server, "/", "", "127.0.0.1.evil.com"), Contains(" 403 "));
  CHECK_THAT(get(server, "/", "", ""), Contains(" 403 "));
  CHECK_THAT(get(server, "/", "", "127.0.0.1:99"), Contains(" 200 "));
  CHECK(names_loopback("[::1]:8080"));
  CHECK_FALSE(names_loopback("[::1].com"));
  CHECK_FALSE(names_loopback("10.0.0.1"));
  CHECK_FALSE(names_loopback("localhost.com"));
}

TEST_CASE("HTTP: a slow client is closed, and does not keep others out", "[obs]") {
  const HttpServer server({.limits = {.connections = 4, .seconds = 0.3}}, echo);
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<Client>(server));
    slow.back()->send("GET / HT");
  }
  CHECK_THAT(get(server, "/x"), Contains("/x"));
  for (auto& client : slow) CHECK(client->all().empty());  // ends, as the server closes
}

TEST_CASE("HTTP: answers without an end are few", "[obs]") {
  const HttpServer server({.limits = {.streams = 1}}, echo);
  Client first(server);
  first.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string got;
  while (got.find("part 2") == std::string::npos) got += first.some();
  CHECK_THAT(got, Contains("begin\npart 1"));
  CHECK_THAT(get(server, "/stream"), Contains(" 503 "));
  CHECK_THAT(get(server, "/other"), Contains(" 200 "));
}

TEST_CASE("HTTP: others than this machine need a token", "[obs]") {
  const auto open = [](bool guarded, bool insecure) {
    HttpServer({.host = "0.0.0.0", .guarded = guarded, .insecure = insecure}, echo);
  };
  CHECK_THROWS_WITH(open(false, false), Contains("--token_file"));
  CHECK_NOTHROW(open(true, false));
  CHECK_NOTHROW(open(false, true));
}

TEST_CASE("HTTP: a port that is taken is named", "[obs]") {
  const HttpServer server({}, echo);
  CHECK_THROWS_WITH(HttpServer({.port = server.port()}, echo), Contains("--http_port"));
}

TEST_CASE("HTTP: values of a query", "[obs]") {
  CHECK(query_value("a=1&key=xyz&b", "key") == "xyz");
  CHECK(query_value("akey=1&b", "key").empty());
  CHECK(query_value("", "key").empty());
}

wire::Token token_of(const Secret& text) { return wire::parse_token(text.bytes(), "test"); }

TEST_CASE("pages want the token where there is one", "[obs]") {
  const HttpPages pages{.metrics = [] { return "m 1\n"; },
                        .status = [] { return "{}\n"; },
                        .sick = [] { return ""; },
                        .not_ready = [] { return "not joined yet"; }};
  const Secret text = wire::new_token_text();
  const wire::Token token = token_of(text);
  const auto code = [&](const std::string& path, const std::string& bearer) {
    Secret proof(bearer.size());
    std::copy(bearer.begin(), bearer.end(), reinterpret_cast<char*>(proof.bytes().data()));
    const HttpRequest request{.path = path, .query = "", .bearer = std::move(proof)};
    return answer_page(request, pages, &token).status;
  };
  const Secret observer = wire::derived_token_text(token, {wire::Grant::Kind::observer, 0});
  const Secret stranger = wire::new_token_text();
  std::string job_token = text_of(text);
  job_token.erase(job_token.find_last_not_of("\n") + 1);
  CHECK(code("/metrics", "") == 401);
  CHECK(code("/metrics", "nonsense") == 401);
  CHECK(code("/metrics", text_of(stranger)) == 401);
  CHECK(code("/metrics", job_token) == 200);
  CHECK(code("/status", text_of(observer)) == 200);
  CHECK(code("/status", "") == 401);
  CHECK(code("/healthz", "") == 200);
  CHECK(code("/readyz", "") == 503);
  CHECK(code("/other", job_token) == 404);
  CHECK(answer_page({.path = "/metrics", .query = "", .bearer = {}}, pages, nullptr).body ==
        "m 1\n");
}

}  // namespace http_test
