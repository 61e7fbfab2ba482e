#include "wire/tls.h"

#include <openssl/ssl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "support/quiet_log.h"
#include "wire/tls_meeting.h"

using namespace paddle;
using namespace paddle::wire;
using Catch::Matchers::Contains;

namespace paddle::wire::tls_test {

// Two streams, each of which reads what the other writes; nothing waits.
class Loop final : public Stream {
 public:
  Loop(asio::io_context& io, std::deque<std::byte>& in, std::deque<std::byte>& out)
      : io_(io), in_(in), out_(out) {}

  Moved read_some(std::span<const iovec> parts) override {
    if (left == 0) return {.kind = Moved::Kind::ended};
    const size_t take = std::min({parts[0].iov_len, in_.size(), left});
    if (take == 0) return {.kind = Moved::Kind::again, .until = StreamEvent::readable};
    left -= take;
    const auto end = in_.begin() + static_cast<std::ptrdiff_t>(take);
    std::copy(in_.begin(), end, static_cast<std::byte*>(parts[0].iov_base));
    in_.erase(in_.begin(), end);
    return {.kind = Moved::Kind::some, .bytes = take};
  }
  Moved write_some(std::span<const iovec> parts) override {
    const auto* from = static_cast<const std::byte*>(parts[0].iov_base);
    out_.insert(out_.end(), from, from + parts[0].iov_len);
    return {.kind = Moved::Kind::some, .bytes = parts[0].iov_len};
  }
  void wait(StreamEvent, std::shared_ptr<StreamUser>) override {}
  void close() override {}
  const std::string& peer() const override { return peer_; }
  asio::any_io_executor executor() override { return io_.get_executor(); }

  size_t left = SIZE_MAX;  // so many bytes come in before the other side has closed

 private:
  asio::io_context& io_;
  std::deque<std::byte>&in_, &out_;
  const std::string peer_ = "the other side";
};

// A client and a server over such a pair.
struct Looped {
  asio::io_context io{1};
  std::deque<std::byte> up, down;
  Loop* server_below = nullptr;
  std::unique_ptr<Stream> client, server;

  explicit Looped(size_t up_limit = SIZE_MAX) {
    client =
        tls("trainer", Tls::Side::client).over(std::make_unique<Loop>(io, down, up), "localhost");
    auto below = std::make_unique<Loop>(io, up, down);
    below->left = up_limit;
    server_below = below.get();
    server = tls("pserver", Tls::Side::server).over(std::move(below));
  }
  static Tls tls(const std::string& role, Tls::Side side) {
    const CredentialFiles f = authority().of(role);
    return Tls(TlsFiles{f.cert_file, f.key_file, f.ca_file}, side);
  }
  // What the server's greeting came to.
  Stream::Moved::Kind greet() {
    Stream::Moved m{.kind = Stream::Moved::Kind::again};
    for (int turn = 0; turn < 10 && m.kind == Stream::Moved::Kind::again; ++turn) {
      client->prepare();
      m = server->prepare();
    }
    return m.kind;
  }
};

// Lengths of the TLS records in these bytes.
std::vector<size_t> records_of(const std::deque<std::byte>& bytes) {
  std::vector<size_t> out;
  for (size_t at = 0; at + 5 <= bytes.size(); at += 5 + out.back())
    out.push_back(std::to_integer<size_t>(bytes[at + 3]) << 8 |
                  std::to_integer<size_t>(bytes[at + 4]));
  return out;
}

}  // namespace paddle::wire::tls_test

using namespace paddle::wire::tls_test;

TEST_CASE("messages of all sizes go through TLS, both ways", "[wire][tls]") {
  const QuietLog quiet;
  TlsMeeting m(server_of(authority().of("pserver")));
  REQUIRE(m.dial(client_of(authority().of("trainer-1"))) == "");
  REQUIRE(m.until([&] { return m.server_side != nullptr; }));
  CHECK(m.proof->certificate == Grant{Grant::Kind::trainer, 1});
  const std::vector<PushPart> parts{{1, 2, 0}};
  size_t sent = 0;
  for (const size_t size : {0, 1, 100, 4096, 5000, 16384, 16385, 100'000, 1'000'003, 9'000'000}) {
    INFO(size << " bytes");
    std::vector<std::byte> bulk(size);
    for (size_t i = 0; i < bulk.size(); ++i) bulk[i] = static_cast<std::byte>(i * 7 + i / 251);
    for (int n = 0; n < 3; ++n) {
      m.client_side->send(1, Push{.step = 1, .parts = parts}, bulk);
      m.client_side->flush();
      ++sent;
    }
    REQUIRE(m.until([&] { return m.client.messages == sent; }));
    if (size > 0) CHECK(m.client.bytes == bulk);
  }
  m.client_side->close("done");
  REQUIRE(m.until([&] { return !m.server_side->open(); }));
  CHECK(m.server.reason == "the other side closed it");
}

TEST_CASE("heads and bulk of several messages share TLS records", "[wire][tls]") {
  Looped l;
  REQUIRE(l.greet() == Stream::Moved::Kind::some);
  REQUIRE(l.up.empty());

  // 20 messages of a short head and some bulk.
  std::vector<std::byte> sent(20 * 6200);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 251);
  std::vector<iovec> parts;
  for (size_t at = 0; at < sent.size(); at += 6200) {
    parts.push_back({sent.data() + at, 152});
    parts.push_back({sent.data() + at + 152, 6048});
  }
  CHECK(l.client->write_some(parts).bytes == sent.size());
  const std::vector<size_t> records = records_of(l.up);
  CHECK(records.size() == (sent.size() + 16383) / 16384);
  CHECK(*std::max_element(records.begin(), records.end()) == 16384 + 17);  // type and tag

  std::vector<std::byte> got(sent.size());
  for (size_t have = 0; have < got.size();) {
    const iovec rest{got.data() + have, got.size() - have};
    const Stream::Moved m = l.server->read_some({&rest, 1});
    REQUIRE(m.kind == Stream::Moved::Kind::some);
    have += m.bytes;
  }
  CHECK(got == sent);
}

TEST_CASE("a TLS greeting that is cut anywhere lets nobody pass", "[wire][tls]") {
  Looped whole;
  REQUIRE(whole.greet() == Stream::Moved::Kind::some);
  const size_t bytes = SIZE_MAX - whole.server_below->left;
  REQUIRE(bytes > 1000);
  CHECK(bytes < max_client_greeting / 2);  // there is room for those of another CA
  std::vector<size_t> cuts{bytes - 20};    // signatures differ in length by some bytes
  for (size_t cut = 0; cut < cuts[0]; cut += 37) cuts.push_back(cut);
  for (const size_t cut : cuts) {
    INFO(cut << " of " << bytes << " bytes");
    const Stream::Moved::Kind kind = Looped(cut).greet();
    CHECK((kind == Stream::Moved::Kind::ended || kind == Stream::Moved::Kind::failed));
  }
}

TEST_CASE("a token on top of TLS is proven, too", "[wire][tls]") {
  const QuietLog quiet;
  const std::string text(64, 'c');
  const auto token =
      std::make_shared<const Token>(parse_token(std::as_bytes(std::span(text)), "the test"));
  Credentials server = server_of(authority().of("pserver")),
              client = client_of(authority().of("trainer"));
  server.token = token;
  TlsMeeting m(server);
  CHECK_THAT(m.dial(client), Contains("closed the connection") || Contains("did not prove"));
  client.token = token;
  REQUIRE(m.dial(client, "localhost", {Role::trainer, 4}) == "");
  REQUIRE(m.until([&] { return m.server_side != nullptr; }));
  CHECK(m.proof->grant == Grant{Grant::Kind::trainer, 4});
  CHECK(m.proof->certificate == Grant{Grant::Kind::trainers, 0});
}

TEST_CASE("certificates that are not good are refused by both sides", "[wire][tls]") {
  const QuietLog quiet;
  const auto& a = authority();
  const auto outcome = [](const CredentialFiles& server, const CredentialFiles& client,
                          const std::string& host = "127.0.0.1") {
    TlsMeeting m(server_of(server));
    const std::string problem = m.dial(client_of(client), host);
    CHECK(m.server_side == nullptr);
    if (!problem.empty()) CHECK(m.kind == Error::Kind::config);
    return problem;
  };
  SECTION("another CA") {
    CHECK_THAT(outcome(a.of("pserver"), Authority::files(a.other.path(), "trainer", a.own.path())),
               Contains("refuses the certificate"));
    CHECK_THAT(outcome(a.of("pserver"), Authority::files(a.own.path(), "trainer", a.other.path())),
               Contains("is not accepted"));
  }
  SECTION("another name") {
    TemporaryDirectory d;
    make_certificates(d.path(), {{"pserver", {"ps7.example"}}, {"trainer", {}}}, {});
    CHECK_THAT(outcome(Authority::files(d.path(), "pserver", d.path()),
                       Authority::files(d.path(), "trainer", d.path())),
               Contains("another name"));
    CHECK_THAT(outcome(Authority::files(d.path(), "pserver", d.path()),
                       Authority::files(d.path(), "trainer", d.path()), "localhost"),
               Contains("another name"));
  }
  SECTION("not valid yet") {
    TemporaryDirectory d;
    make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}, {"trainer", {}}}, {});
    make_certificates(d.path(), {{"trainer", {}}}, {.days = 10, .from_day = 5});
    CHECK_THAT(outcome(Authority::files(d.path(), "pserver", d.path()),
                       Authority::files(d.path(), "trainer", d.path())),
               Contains("refuses the certificate"));
    make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}}, {.days = 10, .from_day = 5});
    make_certificates(d.path(), {{"trainer", {}}}, {});
    CHECK_THAT(outcome(Authority::files(d.path(), "pserver", d.path()),
                       Authority::files(d.path(), "trainer", d.path())),
               Contains("not valid yet"));
  }
  SECTION("a client's certificate as a server's") {
    TemporaryDirectory d;
    make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}, {"trainer", {"127.0.0.1"}}}, {});
    CHECK_THROWS_WITH(server_of(Authority::files(d.path(), "trainer", d.path())),
                      Contains("is for 'trainer'"));
    CHECK_THROWS_WITH(client_of(Authority::files(d.path(), "pserver", d.path())),
                      Contains("is for 'pserver'"));
  }
}

namespace paddle::wire::tls_test {

// What becomes of a client of OpenSSL itself with one version of TLS, from a thread of its own.
bool greets(uint16_t port, int version, const CredentialFiles& files) {
  SSL_CTX* c = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_min_proto_version(c, version);
  SSL_CTX_set_max_proto_version(c, version);
  SSL_CTX_use_certificate_file(c, files.cert_file.c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_use_PrivateKey_file(c, files.key_file.c_str(), SSL_FILETYPE_PEM);
  asio::io_context io;
  tcp::socket s(io);
  s.connect({asio::ip::make_address("127.0.0.1"), port});
  SSL* ssl = SSL_new(c);
  SSL_set_fd(ssl, s.native_handle());
  char byte = 0;
  const bool ok = SSL_connect(ssl) == 1 && SSL_read(ssl, &byte, 1) == 1;
  SSL_free(ssl);
  SSL_CTX_free(c);
  return ok;
}

// A server of OpenSSL itself, which shows any certificate, for one connection.
class AnyServer {
 public:
  explicit AnyServer(const CredentialFiles& files) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate_file(context_, files.cert_file.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context_, files.key_file.c_str(), SSL_FILETYPE_PEM);
    thread_ = std::thread([this] {
      tcp::socket s = acceptor_.accept();
      SSL* ssl = SSL_new(context_);
      SSL_set_fd(ssl, s.native_handle());
      char bytes[100];
      if (SSL_accept(ssl) == 1) SSL_read(ssl, bytes, sizeof bytes);
      SSL_free(ssl);
    });
  }
  ~AnyServer() {
    thread_.join();
    SSL_CTX_free(context_);
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  asio::io_context io_;
  tcp::acceptor acceptor_{io_, {asio::ip::make_address("127.0.0.1"), 0}};
  SSL_CTX* const context_;
  std::thread thread_;
};

}  // namespace paddle::wire::tls_test

TEST_CASE("an expired certificate is refused when it is read and when it is shown", "[wire][tls]") {
  const QuietLog quiet;
  TemporaryDirectory d;
  make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}, {"trainer", {}}},
                    {.days = 1, .from_day = -3});
  CHECK_THROWS_WITH(server_of(Authority::files(d.path(), "pserver", d.path())),
                    Contains("has expired"));
  CHECK_THROWS_WITH(client_of(Authority::files(d.path(), "trainer", d.path())),
                    Contains("has expired"));
  SECTION("by a client that does not mind") {
    make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}}, {});
    const auto attempt = [&] {
      TlsMeeting m(server_of(Authority::files(d.path(), "pserver", d.path())));
      std::atomic<int> outcome = -1;
      std::thread client([&] {
        const bool ok = greets(m.listener.port(), TLS1_3_VERSION,
                               Authority::files(d.path(), "trainer", d.path()));
        outcome = ok ? 1 : 0;
      });
      CHECK(m.until([&] { return outcome >= 0; }));
      client.join();
      CHECK((m.server_side != nullptr) == (outcome == 1));
      return outcome == 1;
    };
    CHECK_FALSE(attempt());
    make_certificates(d.path(), {{"trainer", {}}}, {});
    CHECK(attempt());
  }
  SECTION("by a pserver that does not mind") {
    const AnyServer server(Authority::files(d.path(), "pserver", d.path()));
    make_certificates(d.path(), {{"trainer", {}}}, {});
    TlsMeeting m(Credentials{});
    const Credentials client = client_of(Authority::files(d.path(), "trainer", d.path()));
    CHECK_THAT(m.dial(client, "127.0.0.1", {}, server.port()), Contains("has expired"));
    CHECK(m.kind == Error::Kind::config);
  }
}

TEST_CASE("keys that others can read are refused", "[wire][tls]") {
  TemporaryDirectory d;
  make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}, {"trainer", {}}}, {});
  struct stat s {};
  for (const char* name : {"/ca.key", "/pserver.key", "/trainer.key"}) {
    REQUIRE(::stat((d.path() + name).c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0600);
  }
  CredentialFiles files = Authority::files(d.path(), "pserver", d.path());
  CHECK_NOTHROW(server_of(files));
  REQUIRE(::chmod(files.key_file.c_str(), 0644) == 0);
  CHECK_THROWS_WITH(server_of(files), Contains("chmod 600"));
  REQUIRE(::chmod(files.key_file.c_str(), 0600) == 0);
  SECTION("and keys that do not fit") {
    files.key_file = d.path() + "/trainer.key";
    CHECK_THROWS_WITH(server_of(files), Contains("does not belong to the certificate"));
  }
  SECTION("and files that are missing") {
    files.ca_file.clear();
    CHECK_THROWS_WITH(server_of(files), Contains("--ca_file is missing"));
  }
}

TEST_CASE("one side with TLS and one without do not wait for each other", "[wire][tls]") {
  const QuietLog quiet;
  const auto& a = authority();
  SECTION("a plain client") {
    TlsMeeting m(server_of(a.of("pserver")));
    REQUIRE(m.dial({}) == "");
    m.client_side->send(1, make_hello(Role::trainer));
    m.client_side->flush();
    REQUIRE(m.until([&] { return !m.client_side->open(); }));
    CHECK(m.client.messages == 1);  // a Failure that says what is needed
    CHECK(m.server_side == nullptr);
  }
  SECTION("a plain server") {
    TlsMeeting m(Credentials{});
    CHECK_THAT(m.dial(client_of(a.of("trainer"))), Contains("cannot connect"));
    CHECK(m.kind == Error::Kind::peer);
  }
}

TEST_CASE("older versions of TLS are refused", "[wire][tls]") {
  const QuietLog quiet;
  for (const auto& [version, works] : {std::pair{TLS1_3_VERSION, true}, {TLS1_2_VERSION, false}}) {
    TlsMeeting m(server_of(authority().of("pserver")));
    std::atomic<int> outcome = -1;
    std::thread client([&, version = version] {
      outcome = greets(m.listener.port(), version, authority().of("trainer")) ? 1 : 0;
    });
    CHECK(m.until([&] { return outcome >= 0; }));
    client.join();
    CHECK(outcome == (works ? 1 : 0));
    CHECK((m.server_side != nullptr) == works);
  }
}

TEST_CASE("a long TLS greeting is cut off", "[wire][tls]") {
  const QuietLog quiet;
  TlsMeeting m(server_of(authority().of("pserver")));
  SECTION("in its first message") {
    tcp::socket s(m.io);
    s.connect({asio::ip::make_address("127.0.0.1"), m.listener.port()});
    // The beginning of a hello of 16000 bytes, and no end of it.
    std::string hello("\x16\x03\x01\x3e\x80\x01\x00\x3e\x7c\x03\x03", 11);
    hello.resize(8000, 'x');
    s.write_some(asio::buffer(hello));
    CHECK(m.until([&] { return m.gate.refused() == 1; }, 5));
  }
  SECTION("in its certificates") {
    const TemporaryDirectory d;
    CredentialFiles files = authority().of("trainer");
    std::string chain = read_file(files.cert_file, 1 << 20);
    const std::string more = read_file(files.ca_file, 1 << 20);
    while (chain.size() < 6000) chain += more;  // in PEM, a third longer than what is sent
    files.cert_file = d.path() + "/chain.pem";
    write_file_atomically(files.cert_file, chain);
    CHECK(m.dial(client_of(files)) != "");
    CHECK(m.gate.refused() == 1);
    CHECK(m.server_side == nullptr);
  }
}

TEST_CASE("certificates are read anew when their files change", "[wire][tls]") {
  const QuietLog quiet;
  TemporaryDirectory d;
  make_certificates(d.path(), {{"pserver", {"elsewhere"}}, {"trainer", {}}}, {});
  const auto server = server_of(Authority::files(d.path(), "pserver", d.path()));
  const auto client = client_of(Authority::files(d.path(), "trainer", d.path()));
  TlsMeeting m(server);
  CHECK_THAT(m.dial(client), Contains("another name"));
  make_certificates(d.path(), {{"pserver", {"127.0.0.1"}}}, {});
  // The files are looked at once a second.
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (m.dial(client) != "" && Clock::now() < end) {
  }
  CHECK(m.problem == "");
  // Half a file changes nothing.
  write_file_atomically(d.path() + "/pserver.pem", "-----BEGIN CERTIFICATE-----\nMIIB");
  const auto later = Clock::now() + std::chrono::milliseconds(1500);
  while (Clock::now() < later) CHECK(m.dial(client) == "");
}
