#include "obs/board_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host.h"

namespace paddle {
namespace {

constexpr std::array<uint32_t, 256> castagnoli_table() {
  std::array<uint32_t, 256> out{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);
    out[i] = c;
  }
  return out;
}
constexpr std::array<uint32_t, 256> castagnoli = castagnoli_table();

template <class Number>
void put_fixed(std::string& out, Number value) {  // little endian
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// Rotated, so that the checksum of bytes that hold checksums makes sense.
uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// A message of protocol buffers, field by field. These are few and simple, and their numbers are
// TensorBoard's (event.proto, summary.proto).
class ProtoFields {
 public:
  ProtoFields& whole(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  ProtoFields& real(int field, double value) {
    varint(static_cast<uint64_t>(field) << 3 | 1);
    put_fixed(out_, std::bit_cast<uint64_t>(value));
    return *this;
  }
  ProtoFields& single(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    put_fixed(out_, std::bit_cast<uint32_t>(value));
    return *this;
  }
  ProtoFields& bytes(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    out_ += value;
    return *this;
  }
  ProtoFields& reals(int field, std::span<const double> values) {
    std::string packed;
    for (const double v : values) put_fixed(packed, std::bit_cast<uint64_t>(v));
    return bytes(field, packed);
  }
  const std::string& done() const { return out_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

// One Summary with a value for each tag.
class BoardSummary {
 public:
  void scalar(const std::string& tag, double value) {
    out_.bytes(1, ProtoFields().bytes(1, tag).single(2, static_cast<float>(value)).done());
  }
  void scalars(const std::string& group, double cost, const event::Evaluators& evaluators) {
    scalar(group + "/cost", cost);
    for (const auto& [name, value] : evaluators) scalar(group + "/" + name, value);
  }
  void histogram(const std::string& tag, const event::Parameter& p) {
    std::vector<double> limits, counts;
    for (const char *at = p.counts.data(), *end = at + p.counts.size(); at < end; ++at) {
      double count = 0;
      at = std::from_chars(at, end, count).ptr;
      counts.push_back(count);
    }
    const auto bins = static_cast<double>(counts.size());
    for (double i = 1; i <= bins; ++i) limits.push_back(p.min + (p.max - p.min) * i / bins);
    const auto elements = static_cast<double>(p.elements);
    const std::string histogram = ProtoFields()
                                      .real(1, p.min)
                                      .real(2, p.max)
                                      .real(3, elements)
                                      .real(4, p.mean * elements)
                                      .real(5, p.norm * p.norm)
                                      .reals(6, limits)
                                      .reals(7, counts)
                                      .done();
    out_.bytes(1, ProtoFields().bytes(1, tag).bytes(5, histogram).done());
  }
  std::string event(double time, int64_t step) const {
    return ProtoFields()
        .real(1, time)
        .whole(2, static_cast<uint64_t>(step))
        .bytes(5, out_.done())
        .done();
  }

 private:
  ProtoFields out_;
};

struct BoardWords {
  double time;

  std::string operator()(const event::Progress& e) const {
    BoardSummary out;
    out.scalars("progress", e.cost, e.evaluators);
    out.scalar("progress/samples_per_second", e.samples_per_second);
    return out.event(time, e.step);
  }
  std::string operator()(const event::PassEnded& e) const {
    BoardSummary out;
    out.scalars("pass", e.cost, e.evaluators);
    return out.event(time, e.step);
  }
  std::string operator()(const event::TestResult& e) const {
    BoardSummary out;
    out.scalars("test", e.cost, e.evaluators);
    return out.event(time, e.step);
  }
  std::string operator()(const event::Parameter& e) const {
    BoardSummary out;
    out.histogram("parameters/" + e.name, e);
    return out.event(time, e.step);
  }
  // What came later was computed again: a SessionLog that says START makes TensorBoard forget it.
  std::string operator()(const event::RolledBack& e) const {
    return ProtoFields()
        .real(1, time)
        .whole(2, static_cast<uint64_t>(e.to))
        .bytes(7, ProtoFields().whole(1, 1).done())
        .done();
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t c = ~0u;
  for (const char b : bytes) c = (c >> 8) ^ castagnoli[(c ^ static_cast<uint8_t>(b)) & 0xff];
  return ~c;
}

std::string board_record(std::string_view bytes) {
  std::string out;
  put_fixed(out, static_cast<uint64_t>(bytes.size()));
  put_fixed(out, masked(crc32c(out)));
  out += bytes;
  put_fixed(out, masked(crc32c(bytes)));
  return out;
}

std::string board_event(const event::Any& event, double time) {
  return std::visit(BoardWords{time}, event);
}

std::string board_version(double time) {
  return ProtoFields().real(1, time).bytes(3, "brain.Event:2").done();
}

BoardFiles::BoardFiles(const std::string& directory)
    : directory_(std::filesystem::absolute(directory)) {
  make_directories(directory_);
  if (::access(directory_.c_str(), W_OK | X_OK) != 0)
    throw io_error("write event files to", directory_, errno);
}

void BoardFiles::take(const event::Any& event) {
  const double time = unix_seconds();
  if (const auto* e = std::get_if<event::Joined>(&event)) trainer_ = e->trainer;
  if (const auto* e = std::get_if<event::Training>(&event)) trainer_ = e->trainer;
  const std::string words = board_event(event, time);
  if (words.empty()) return;
  const std::scoped_lock lock(mutex_);
  if (!file_) open(time);
  if (file_ && !write(board_record(words))) file_ = {};
}

// The names of a directory's files stand in the order of their times. One that exists is another
// writer's.
void BoardFiles::open(double time) {
  const std::string directory = text(directory_, "/trainer-", trainer_);
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  char name[64];
  std::snprintf(name, sizeof name, "/events.out.tfevents.%010lld.", static_cast<long long>(time));
  for (bool again = true; again; again = !file_ && errno == EEXIST) {
    const std::string path =
        text(directory, name, host_name(), ".", ::getpid(), ".", files_++, ".paddle");
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
    file_ = Descriptor(::open(path.c_str(), flags, 0640));
  }
  if (file_ && !write(board_record(board_version(time)))) file_ = {};
}

bool BoardFiles::write(const std::string& record) {
  ssize_t n = 0;
  do n = ::write(file_.get(), record.data(), record.size());
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(record.size());
}

}  // namespace paddle
