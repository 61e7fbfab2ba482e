// A client and a gate with certificates, which meet over TCP in one thread.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "base/error.h"
#include "support/temporary.h"
#include "wire/connection.h"
#include "wire/gate.h"
#include "wire/listener.h"
#include "wire/make_certificates.h"
#include "wire/tls.h"

namespace paddle::wire::tls_test {

// Two CAs with certificates, made once.
struct Authority {
  TemporaryDirectory own, other;

  Authority() {
    const std::vector<CertificateOrder> orders{{"pserver", {"localhost", "127.0.0.1"}},
                                               {"trainer-1", {}},
                                               {"trainer", {}},
                                               {"observer", {}}};
    make_certificates(own.path(), orders, {});
    make_certificates(other.path(), orders, {});
  }
  static CredentialFiles files(const std::string& directory, const std::string& role,
                               const std::string& ca_directory) {
    const std::string start = directory + "/" + role;
    return {"", start + ".pem", start + ".key", ca_directory + "/ca.pem"};
  }
  CredentialFiles of(const std::string& role) const { return files(own.path(), role, own.path()); }
};

inline Authority& authority() {
  static Authority made;
  return made;
}

class Mirror : public Handler {
 public:
  Landing land(Connection&, const Message&, uint64_t bulk) override {
    bytes.resize(bulk);
    return Landing::into(bytes);
  }
  void handle(Connection& c, Message& message, uint64_t) override {
    ++messages;
    if (answers) c.send(message.id, message.body, bytes, Bulk::changes);
  }
  void arrived(Connection& c) override { c.flush(); }
  void closed(Connection&, const std::string& why) override { reason = why; }

  bool answers = true;
  size_t messages = 0;
  std::vector<std::byte> bytes;
  std::string reason;
};

struct TlsMeeting {
  asio::io_context io{1};
  Listener listener{io, "127.0.0.1", 0};
  Gate gate;
  Mirror server, client;
  std::shared_ptr<Connection> server_side, client_side;
  std::optional<Proof> proof;
  std::string problem = "unfinished";
  Error::Kind kind = Error::Kind::io;

  explicit TlsMeeting(Credentials at_server) : gate(io, std::move(at_server)) {
    client.answers = false;
    listener.accept([this](std::unique_ptr<Stream> s) {
      gate.take(std::move(s), [this](std::unique_ptr<Stream> stream, const Proof& p) {
        proof = p;
        server_side = Connection::start(std::move(stream), server, true);
        server_side->set_limits(trainer_limits);
      });
    });
  }
  ~TlsMeeting() {
    listener.stop();
    if (client_side) client_side->close("the test is over");
    if (server_side) server_side->close("the test is over");
    io.poll();
  }
  template <class Done>
  bool until(const Done& done, double seconds = 20) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!done() && Clock::now() < end) io.run_one_for(std::chrono::milliseconds(20));
    return done();
  }
  const std::string& dial(const Credentials& credentials, const std::string& host = "127.0.0.1",
                          const Purpose& purpose = {}, uint16_t port = 0) {
    problem = "unfinished";
    const Endpoint to{host, port ? port : listener.port()};
    asio::co_spawn(
        io, [&]() { return wire::connect(to, 5, credentials, purpose); },
        [&](std::exception_ptr e, std::unique_ptr<Stream> made) {
          problem.clear();
          try {
            if (e) std::rethrow_exception(e);
            client_side = Connection::start(std::move(made), client, false);
          } catch (const Error& error) {
            problem = error.what();
            kind = error.kind();
          }
        });
    until([&] { return problem != "unfinished"; });
    return problem;
  }
};

inline Credentials server_of(const CredentialFiles& files) { return server_credentials(files); }
inline Credentials client_of(const CredentialFiles& files) { return client_credentials(files); }

}  // namespace paddle::wire::tls_test
