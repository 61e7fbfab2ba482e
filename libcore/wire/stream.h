// Bytes both ways between two processes: what a connection reads from and writes to. TCP is one
// kind (tcp_stream.h), TLS over it another (tls_stream.h).
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "wire/asio.h"
#include "wire/binding.h"

namespace paddle::wire {

// What one waits for.
enum class StreamEvent : uint8_t {
  readable,  // read_some() may have something
  writable,  // write_some() may take something
  closed,    // the other side has closed, as far as the system reports it while no one reads
};

// Is called when what it waited for has come.
class StreamUser {
 public:
  virtual ~StreamUser() = default;
  virtual void on_ready(StreamEvent event, const std::error_code& error) = 0;
};

class Stream {
 public:
  // What one call of read_some() or write_some() has done.
  struct Moved {
    enum class Kind : uint8_t {
      some,    // `bytes` were moved
      again,   // none; worth another try after `until`
      ended,   // reading: the other side has closed
      failed,  // for the reason in `error`
    };
    Kind kind = Kind::some;
    // Not always what one asked for: TLS may have to write before it can read, and the reverse.
    StreamEvent until = StreamEvent::readable;
    size_t bytes = 0;
    std::error_code error;
  };

  virtual ~Stream() = default;
  // To be called before the first byte is moved, again and again until it answers `some`: TLS
  // greets here.
  virtual Moved prepare() { return {}; }
  virtual Binding binding() const { return {}; }
  // The role in the other side's certificate ("trainer-3"); "" without TLS.
  virtual std::string certificate_role() const { return ""; }

  // Neither blocks. Parts are filled or sent in order; not all of them in one call.
  virtual Moved read_some(std::span<const iovec> parts) = 0;
  virtual Moved write_some(std::span<const iovec> parts) = 0;
  // Calls user->on_ready() once, from the thread that runs the executor, and keeps `user` until
  // then. One wait per kind of event at a time.
  virtual void wait(StreamEvent event, std::shared_ptr<StreamUser> user) = 0;
  // Ends both directions; pending waits end with an error.
  virtual void close() = 0;
  virtual const std::string& peer() const = 0;  // "127.0.0.1:40312"
  virtual asio::any_io_executor executor() = 0;
};

// "host:port"; throws Error(config) naming `what` where it is none, or where the port is missing.
struct Endpoint {
  std::string host;
  uint16_t port = 0;
  std::string text() const { return host + ":" + std::to_string(port); }
  bool operator==(const Endpoint&) const = default;
};
Endpoint parse_endpoint(const std::string& text, const std::string& what);

struct Credentials;  // credentials.h
struct Purpose;      // handshake.h

// Resolves anew and connects; throws Error(peer) with the endpoint and the reason after `seconds`.
// Give it an Endpoint with a name: g++ 12 destroys a braced temporary in a co_await twice.
asio::awaitable<std::unique_ptr<Stream>> connect(Endpoint to, double seconds);
// The same with TLS and the job's token, where the credentials have them: `purpose` is what the
// greeting will say. Throws Error(config) where the two sides do not fit and waiting does not help.
// `shared`: over shared memory where that is possible (shared_connect.h), but never instead of TLS.
asio::awaitable<std::unique_ptr<Stream>> connect(Endpoint to, double seconds,
                                                 const Credentials& credentials, Purpose purpose,
                                                 bool shared = false);

}  // namespace paddle::wire
