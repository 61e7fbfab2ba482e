// A stream of TLS 1.3 records over another stream. Many records are moved by one call of the stream
// below, in both directions.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "wire/stream.h"

namespace paddle::wire {

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPointer = std::unique_ptr<SSL, SslFree>;

class TlsStream final : public Stream {
 public:
  // `ssl` is set to accept or to connect. `wanted_role`, if any, is that of the other side's
  // certificate.
  TlsStream(std::unique_ptr<Stream> below, SslPointer ssl, std::string wanted_role);
  ~TlsStream() override;

  Moved prepare() override;
  Binding binding() const override;
  std::string certificate_role() const override { return role_; }
  Moved read_some(std::span<const iovec> parts) override;
  Moved write_some(std::span<const iovec> parts) override;
  void wait(StreamEvent event, std::shared_ptr<StreamUser> user) override;
  void close() override { below_->close(); }
  const std::string& peer() const override { return below_->peer(); }
  asio::any_io_executor executor() override { return below_->executor(); }

 private:
  friend struct TlsBio;

  int take_in(char* to, int size);  // for OpenSSL: bytes from below
  bool fill();
  Moved flush();
  Moved outcome(int result);
  Moved greeted();
  size_t encrypt(std::span<const iovec> parts);
  void seal(const std::byte* from, size_t size);  // makes one record

  const std::unique_ptr<Stream> below_;
  const SslPointer ssl_;
  const std::string wanted_role_;
  std::string role_;
  std::vector<std::byte> in_, out_;  // records on their way
  std::vector<std::byte> gathered_;  // plain bytes of several parts that become one record
  size_t in_begin_ = 0, in_end_ = 0, out_begin_ = 0;
  size_t greeting_ = 0;   // bytes that came in before the other side was known
  size_t accepted_ = 0;   // bytes that are encrypted, and not reported as written yet
  Moved last_in_;         // what the stream below said last
  bool ready_ = false;    // the greeting is done
  bool drained_ = false;  // what came in so far has been read
};

}  // namespace paddle::wire
