#include "bench/raw_tls.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "bench/generator.h"
#include "bench/raw.h"

namespace paddle::bench {
namespace {

constexpr size_t tls_chunk = 256u << 10, tls_record = 16u << 10;

void check_tls(bool ok, const char* what) {
  if (!ok) throw io_error(what, "a socket with TLS", errno);
}

}  // namespace

class RawTls::End {
 public:
  End(int socket, const std::string& directory, bool server)
      : socket_(socket), in_(tls_chunk), plain_(tls_chunk) {
    tune_raw(socket);
    context_ = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    const std::string own = directory + (server ? "/pserver" : "/trainer");
    check_tls(
        SSL_CTX_set_ciphersuites(context_, "TLS_AES_128_GCM_SHA256") == 1 &&
            SSL_CTX_use_certificate_file(context_, (own + ".pem").c_str(), SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_use_PrivateKey_file(context_, (own + ".key").c_str(), SSL_FILETYPE_PEM) == 1,
        "prepare");
    SSL_CTX_set_num_tickets(context_, 0);
    ssl_ = SSL_new(context_);
    BIO* bio = BIO_new(method());
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
    out_.reserve(2 * tls_chunk);
    check_tls((server ? SSL_accept(ssl_) : SSL_connect(ssl_)) == 1, "greet on");
    flush();
  }
  ~End() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(socket_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  // A chunk whose first byte says whether it is the last one.
  void send_chunk(bool last) {
    plain_[0] = last ? 1 : 0;
    for (size_t at = 0; at < tls_chunk; at += tls_record)
      check_tls(SSL_write(ssl_, plain_.data() + at, tls_record) == int{tls_record}, "encrypt for");
    flush();
  }
  void send_byte() {
    check_tls(SSL_write(ssl_, plain_.data(), 1) == 1, "encrypt for");
    flush();
  }
  // False at the end of the connection.
  bool read(size_t bytes) {
    for (size_t at = 0; at < bytes;) {
      const int n = SSL_read(ssl_, plain_.data() + at, static_cast<int>(bytes - at));
      if (n <= 0) return false;
      at += static_cast<size_t>(n);
    }
    return true;
  }
  bool last() const { return plain_[0] == 1; }

 private:
  static End& of(BIO* bio) { return *static_cast<End*>(BIO_get_data(bio)); }
  static int take(BIO* bio, char* to, int size) {
    End& e = of(bio);
    if (e.begin_ == e.end_) {
      e.flush();
      const ssize_t n = ::recv(e.socket_, e.in_.data(), e.in_.size(), 0);
      if (n <= 0) return 0;
      e.begin_ = 0;
      e.end_ = static_cast<size_t>(n);
    }
    const size_t some = std::min(static_cast<size_t>(size), e.end_ - e.begin_);
    std::memcpy(to, e.in_.data() + e.begin_, some);
    e.begin_ += some;
    return static_cast<int>(some);
  }
  static int give(BIO* bio, const char* from, int size) {
    of(bio).out_.insert(of(bio).out_.end(), from, from + size);
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "socket");
      BIO_meth_set_read(m, take);
      BIO_meth_set_write(m, give);
      BIO_meth_set_ctrl(m, control);
      return m;
    }();
    return made;
  }
  void flush() {
    for (size_t at = 0; at < out_.size();) {
      const ssize_t n = ::send(socket_, out_.data() + at, out_.size() - at, MSG_NOSIGNAL);
      check_tls(n > 0, "write to");
      at += static_cast<size_t>(n);
    }
    out_.clear();
  }

  const int socket_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::vector<char> in_, out_, plain_;
  size_t begin_ = 0, end_ = 0;
};

RawTls::RawTls(const std::string& directory, int server_cpu) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  check_tls(::bind(listener, reinterpret_cast<sockaddr*>(&at), size) == 0, "bind");
  check_tls(::listen(listener, 1) == 0, "listen on");
  check_tls(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0, "name");
  server_ = std::make_unique<Child>([=]() -> std::vector<double> {
    pin(server_cpu);
    End end(::accept(listener, nullptr, nullptr), directory, true);
    while (end.read(tls_chunk))
      if (end.last()) end.send_byte();
    return {};
  });
  ::close(listener);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  check_tls(::connect(socket, reinterpret_cast<sockaddr*>(&at), size) == 0, "connect");
  end_ = std::make_unique<End>(socket, directory, false);
}

RawTls::~RawTls() = default;

double RawTls::rate(double secs) {
  const double start = seconds(), until = start + secs;
  double chunks = 0;
  for (bool last = false; !last; ++chunks) {
    last = seconds() > until;
    end_->send_chunk(last);
  }
  check_tls(end_->read(1), "read from");
  return chunks * tls_chunk / (seconds() - start);
}

}  // namespace paddle::bench
