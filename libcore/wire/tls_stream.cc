#include "wire/tls_stream.h"

#include <openssl/err.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "wire/certificate_role.h"
#include "wire/handshake.h"
#include "wire/tls.h"
#include "wire/tls_error.h"
#include "wire/token.h"

namespace paddle::wire {
namespace {

constexpr size_t in_bytes = 256u << 10;   // of records that one call brings
constexpr size_t out_bytes = 256u << 10;  // of plain bytes that become records before one call
constexpr size_t record = SSL3_RT_MAX_PLAIN_LENGTH;

using Kind = Stream::Moved::Kind;

}  // namespace

// OpenSSL's view of the stream below.
struct TlsBio {
  static TlsStream& stream(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }
  static int read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    const int got = stream(bio).take_in(to, size);
    if (got < 0 && stream(bio).last_in_.kind == Kind::again) BIO_set_retry_read(bio);
    return got;
  }
  static int write(BIO* bio, const char* from, int size) {
    std::vector<std::byte>& out = stream(bio).out_;
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    out.insert(out.end(), bytes, bytes + size);
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "paddle stream");
      BIO_meth_set_read(m, read);
      BIO_meth_set_write(m, write);
      BIO_meth_set_ctrl(m, control);
      return m;
    }();
    return made;
  }
};

TlsStream::TlsStream(std::unique_ptr<Stream> below, SslPointer ssl, std::string wanted_role)
    : below_(std::move(below)), ssl_(std::move(ssl)), wanted_role_(std::move(wanted_role)) {
  BIO* bio = BIO_new(TlsBio::method());
  require(bio != nullptr, Error::Kind::io, "no memory for a TLS connection");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

TlsStream::~TlsStream() = default;

// ---- the stream below

// Brings what is there, once the greeting is done.
bool TlsStream::fill() {
  const iovec all{in_.data(), in_.size()};
  last_in_ = below_->read_some({&all, 1});
  in_begin_ = 0;
  in_end_ = last_in_.kind == Kind::some ? last_in_.bytes : 0;
  return in_end_ > 0;
}

int TlsStream::take_in(char* to, int size) {
  if (ready_) {
    if (in_begin_ == in_end_ && !fill()) return last_in_.kind == Kind::ended ? 0 : -1;
    const size_t take = std::min(static_cast<size_t>(size), in_end_ - in_begin_);
    std::memcpy(to, in_.data() + in_begin_, take);
    in_begin_ += take;
    return static_cast<int>(take);
  }
  const size_t limit = SSL_is_server(ssl_.get()) ? max_client_greeting : max_server_greeting;
  const iovec part{to, std::min(static_cast<size_t>(size), limit - greeting_)};
  if (part.iov_len == 0) {
    last_in_ = {.kind = Kind::failed, .error = tls_error(TlsProblem::too_much)};
    return -1;
  }
  last_in_ = below_->read_some({&part, 1});
  if (last_in_.kind != Kind::some) return last_in_.kind == Kind::ended ? 0 : -1;
  const bool first = greeting_ == 0;
  greeting_ += last_in_.bytes;
  if (first && begins_plain({reinterpret_cast<const std::byte*>(to), last_in_.bytes})) {
    last_in_ = {.kind = Kind::failed, .error = tls_error(TlsProblem::plain)};
    return -1;
  }
  return static_cast<int>(last_in_.bytes);
}

// `some`: nothing is left.
Stream::Moved TlsStream::flush() {
  while (out_begin_ < out_.size()) {
    const iovec rest{out_.data() + out_begin_, out_.size() - out_begin_};
    const Moved m = below_->write_some({&rest, 1});
    if (m.kind != Kind::some) return m;
    out_begin_ += m.bytes;
  }
  out_.clear();
  out_begin_ = 0;
  return {};
}

// What OpenSSL's answer means where it moved nothing.
Stream::Moved TlsStream::outcome(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return {.kind = Kind::again, .until = StreamEvent::readable};
    case SSL_ERROR_WANT_WRITE: return {.kind = Kind::again, .until = StreamEvent::writable};
    case SSL_ERROR_ZERO_RETURN: return {.kind = Kind::ended};
    default: break;
  }
  if (last_in_.kind == Kind::failed) {
    ERR_clear_error();
    return last_in_;
  }
  const bool cut = last_in_.kind == Kind::ended;
  const std::error_code why = last_tls_error(ssl_.get());
  if (cut && why == tls_error(TlsProblem::broken)) return {.kind = Kind::ended};
  return {.kind = Kind::failed, .error = why};
}

// ---- the greeting

Stream::Moved TlsStream::prepare() {
  if (!ready_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) {
      Moved m = outcome(result);
      if (m.kind == Kind::ended) m.bytes = greeting_;
      const Moved sent = flush();  // an alert says why, where the other side still reads
      return m.kind == Kind::again && sent.kind == Kind::again ? sent : m;
    }
    const Moved m = greeted();
    if (m.kind != Kind::some) return m;
  }
  return flush();
}

Stream::Moved TlsStream::greeted() {
  const auto names = [&](TlsProblem p) {
    return Moved{.kind = Kind::failed, .error = tls_error(p)};
  };
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return names(TlsProblem::no_cert);
  role_ = role_of(*certificate);
  if (role_.empty()) return names(TlsProblem::no_role);
  if (!wanted_role_.empty() && role_ != wanted_role_) return names(TlsProblem::no_pserver);
  // A process that connects needs a role that allows something.
  if (wanted_role_.empty() && !grant_named(role_)) return names(TlsProblem::no_client);
  in_.resize(in_bytes);
  out_.reserve(out_bytes + out_bytes / 16);
  gathered_.resize(record);
  ready_ = true;
  return {};
}

Binding TlsStream::binding() const {
  constexpr const char* label = "EXPORTER-Channel-Binding";  // RFC 9266
  Binding out{};
  require(SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(out.data()),
                                     out.size(), label, std::strlen(label), nullptr, 0, 0) == 1,
          Error::Kind::io, "libssl cannot bind a token to a TLS connection");
  return out;
}

// ---- bytes

Stream::Moved TlsStream::read_some(std::span<const iovec> parts) {
  size_t done = 0;
  drained_ = false;
  ERR_clear_error();
  for (const iovec& part : parts) {
    for (size_t at = 0; at < part.iov_len;) {
      size_t got = 0;
      const int result = SSL_read_ex(ssl_.get(), static_cast<std::byte*>(part.iov_base) + at,
                                     part.iov_len - at, &got);
      if (result == 1) {
        at += got;
        done += got;
        continue;
      }
      const Moved m = outcome(result);
      drained_ = m.kind == Kind::again;
      return done > 0 ? Moved{.kind = Kind::some, .bytes = done} : m;
    }
  }
  return {.kind = Kind::some, .bytes = done};
}

// Records that are made have to leave as they are: their bytes count as written when the stream
// below has all of them, and until then nothing more is taken.
Stream::Moved TlsStream::write_some(std::span<const iovec> parts) {
  if (!ready_) return below_->write_some(parts);  // a word to somebody who does not use TLS
  if (accepted_ == 0 && out_.empty()) accepted_ = encrypt(parts);
  const Moved m = flush();
  if (m.kind != Kind::some) return m;
  return {.kind = Kind::some, .bytes = std::exchange(accepted_, 0)};
}

// Part of the plain bytes, which end at an address divisible by 8 where they end within a part:
// whoever changes what is not sent yet (Bulk::live) does not change half of a word. Every record
// but the last is full, as a record costs the same time whatever it holds: where one would end with
// a part, its bytes are gathered.
size_t TlsStream::encrypt(std::span<const iovec> parts) {
  size_t done = 0, gathered = 0;
  ERR_clear_error();
  for (const iovec& part : parts) {
    const auto* from = static_cast<const std::byte*>(part.iov_base);
    size_t size = std::min(part.iov_len, out_bytes - done);
    if (size < part.iov_len) {
      const size_t over = reinterpret_cast<uintptr_t>(from + size) % 8;
      size -= std::min(size, over);
    }
    for (size_t at = 0; at < size;) {
      const size_t next = std::min(size - at, record - gathered);
      if (next == record) {
        seal(from + at, next);
      } else {
        std::memcpy(gathered_.data() + gathered, from + at, next);
        gathered += next;
        if (gathered == record) seal(gathered_.data(), std::exchange(gathered, 0));
      }
      at += next;
    }
    done += size;
    if (size < part.iov_len) break;
  }
  if (gathered > 0) seal(gathered_.data(), gathered);
  return done;
}

void TlsStream::seal(const std::byte* from, size_t size) {
  size_t written = 0;
  const bool ok = SSL_write_ex(ssl_.get(), from, size, &written) == 1 && written == size;
  require(ok, Error::Kind::io, "libssl cannot encrypt");
}

void TlsStream::wait(StreamEvent event, std::shared_ptr<StreamUser> user) {
  const bool more = ready_ && !drained_ && (in_begin_ < in_end_ || SSL_pending(ssl_.get()) > 0);
  if (event != StreamEvent::readable || !more) return below_->wait(event, std::move(user));
  asio::post(below_->executor(),
             [user = std::move(user)] { user->on_ready(StreamEvent::readable, {}); });
}

}  // namespace paddle::wire
