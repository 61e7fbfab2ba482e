#include "wire/opening.h"

#include "wire/tls_error.h"

namespace paddle::wire {

using MovedKind = Stream::Moved::Kind;

namespace {
constexpr double longest_probe = 2;  // seconds
}

std::shared_ptr<Opening> Opening::start(std::unique_ptr<Stream> stream, Make handshake, Done done) {
  std::shared_ptr<Opening> o(new Opening(std::move(stream), std::move(handshake), std::move(done)));
  o->advance();
  return o;
}

Opening::Opening(std::unique_ptr<Stream> stream, Make handshake, Done done)
    : stream_(std::move(stream)), make_(std::move(handshake)), done_(std::move(done)) {}

void Opening::drop() {
  done_ = nullptr;
  if (stream_) stream_->close();
}

void Opening::on_ready(StreamEvent, const std::error_code& error) {
  if (!done_) return;
  if (error) return fail({.problem = error.message()});
  advance();
}

void Opening::advance() {
  try {
    if (!prepare()) return;
    while (send()) {
      if (handshake_->wants() == 0) return finish();
      if (!receive()) return;
    }
  } catch (const PlainPeer& e) {
    fail({.problem = e.what(), .plain = true});
  } catch (const Error& e) {
    fail({.problem = e.what(), .again = e.kind() != Error::Kind::config});
  }
}

// Whether bytes were moved; else it waits, or has failed.
bool Opening::moved(const Stream::Moved& m) {
  if (m.kind == MovedKind::some) return true;
  if (m.kind == MovedKind::again)
    stream_->wait(m.until, {shared_from_this(), static_cast<StreamUser*>(this)});
  else if (m.kind == MovedKind::ended)
    fail({.problem = "it closed the connection",
          .cut = true,
          .probe = !heard_ && m.bytes == 0 && seconds(since_, Clock::now()) < longest_probe});
  else
    fail(
        {.problem = m.error.message(), .again = is_transient(m.error), .plain = is_plain(m.error)});
  return false;
}

bool Opening::prepare() {
  if (handshake_) return true;
  if (!moved(stream_->prepare())) return false;
  handshake_ = make_(stream_->binding());
  out_ = handshake_->first();
  in_.resize(handshake_->wants());
  return true;
}

bool Opening::send() {
  while (sent_ < out_.size()) {
    const iovec rest{out_.data() + sent_, out_.size() - sent_};
    const Stream::Moved m = stream_->write_some({&rest, 1});
    if (!moved(m)) return false;
    sent_ += m.bytes;
  }
  return true;
}

bool Opening::receive() {
  while (have_ < in_.size()) {
    const iovec rest{in_.data() + have_, in_.size() - have_};
    const Stream::Moved m = stream_->read_some({&rest, 1});
    if (!moved(m)) return false;
    have_ += m.bytes;
    heard_ = true;
  }
  out_ = handshake_->take(in_);
  sent_ = have_ = 0;
  in_.resize(handshake_->wants());
  return true;
}

void Opening::finish() {
  Result out{.stream = std::move(stream_), .proof = handshake_->proof()};
  if (const std::string role = out.stream->certificate_role(); !role.empty())
    out.proof.certificate = grant_named(role);
  std::exchange(done_, nullptr)(std::move(out));
}

void Opening::fail(Result why) {
  if (!done_) return;
  const auto self = shared_from_this();  // whoever is called may let go of us
  why.failed = stream_.get();
  std::exchange(done_, nullptr)(std::move(why));
  if (stream_) stream_->close();
}

}  // namespace paddle::wire
