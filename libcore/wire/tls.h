// TLS 1.3 under a connection, with certificates on both sides. A certificate names what its owner
// may be (role_of()); a client takes nobody but a pserver of the name that it connects to.
#pragma once

#include <memory>
#include <string>

#include "wire/stream.h"

namespace paddle::wire {

struct TlsFiles {
  std::string cert_file, key_file, ca_file;
};

// Certificates and key of this process. May be used by several threads.
class Tls {
 public:
  enum class Side { server, client };

  // Throws Error(config) for what is missing, does not fit or may be read by others.
  Tls(TlsFiles files, Side side);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // A stream whose prepare() greets. Files that have changed are read first; where the new ones are
  // no good, the log says so and the old ones stay. `host` is whom a client connects to.
  std::unique_ptr<Stream> over(std::unique_ptr<Stream> below, const std::string& host = "");

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Until the other side has shown its certificate, at most so many bytes of it are read: of whoever
// connects, and of who is connected to.
inline constexpr size_t max_client_greeting = 4u << 10, max_server_greeting = 16u << 10;

}  // namespace paddle::wire
