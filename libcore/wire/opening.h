// The beginning of a connection, before its first message: TLS, then the job's token, as far as the
// credentials have them. Nothing is read beyond it, and no memory is taken that the other side
// could choose. It lives on the thread that runs its stream's executor.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/handshake.h"
#include "wire/stream.h"

namespace paddle::wire {

class Opening final : public StreamUser, public std::enable_shared_from_this<Opening> {
 public:
  struct Result {
    std::unique_ptr<Stream> stream;  // null where it failed
    Proof proof;
    std::string problem;       // why it failed
    bool again = true;         // another try may help
    bool plain = false;        // the other side began as one does without token and TLS
    bool cut = false;          // it closed the connection
    bool probe = false;        // it closed it soon and sent nothing: a port probe
    Stream* failed = nullptr;  // the stream, for a last word; it is closed when `done` returns
  };
  using Make = std::function<std::unique_ptr<Handshake>(const Binding& binding)>;
  using Done = std::function<void(Result)>;

  // Calls `done` once, perhaps from within this call, but not after drop(). The handshake is made
  // when the stream below it is ready.
  static std::shared_ptr<Opening> start(std::unique_ptr<Stream> stream, Make handshake, Done done);
  // Ends it without a call of `done`.
  void drop();

  bool open() const { return stream_ != nullptr; }
  const std::string& peer() const { return stream_->peer(); }
  Time since() const { return since_; }

  void on_ready(StreamEvent event, const std::error_code& error) override;

 private:
  Opening(std::unique_ptr<Stream> stream, Make handshake, Done done);
  void advance();
  bool prepare();
  bool send();
  bool receive();
  bool moved(const Stream::Moved& m);
  void finish();
  void fail(Result why);

  std::unique_ptr<Stream> stream_;
  const Make make_;
  Done done_;
  std::unique_ptr<Handshake> handshake_;
  std::vector<std::byte> in_, out_;
  size_t have_ = 0, sent_ = 0;
  bool heard_ = false;  // something came in
  const Time since_ = Clock::now();
};

}  // namespace paddle::wire
