#include "pserver/dump_on_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

namespace paddle {
namespace {

constexpr uint64_t direct_block = 4096;   // O_DIRECT requires it
constexpr size_t most_ahead = 32u << 20;  // bytes of parts that were read and not taken

Descriptor open_direct(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!file && errno == EINVAL) file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw io_error("open", path, errno);
  return file;
}

}  // namespace

// Shared by the thread that reads ahead and the one that takes the parts.
struct DumpOnDisk::Ahead {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<PartBytes> ready;
  size_t bytes = 0;  // of `ready`
  size_t next = 0;   // the part that is taken next
  std::exception_ptr problem;
  bool ends = false;
  std::thread thread;
};

void DumpOnDisk::Free::operator()(void* p) const { std::free(p); }

DumpOnDisk::DumpOnDisk(std::string path, const Sum& expected)
    : name_(std::move(path)), expected_(expected), file_(open_direct(name_)) {
  find_parts();
  ahead_ = std::make_unique<Ahead>();
}

DumpOnDisk::~DumpOnDisk() {
  if (!ahead_ || !ahead_->thread.joinable()) return;
  {
    const std::lock_guard lock(ahead_->mutex);
    ahead_->ends = true;
  }
  ahead_->changed.notify_all();
  ahead_->thread.join();
}

// Each part stands behind its length (8 bytes).
void DumpOnDisk::find_parts() {
  struct stat s {};
  if (::fstat(file_.get(), &s) != 0) throw io_error("read", name_, errno);
  const auto size = static_cast<uint64_t>(s.st_size);
  require(S_ISREG(s.st_mode) && size == expected_.bytes, Error::Kind::data, "'", name_, "' has ",
          size, " bytes, and its manifest says ", expected_.bytes);
  Scratch scratch;
  for (uint64_t at = 0, length = 0; at < size; at += length) {
    require(size - at >= sizeof length, Error::Kind::data, "'", name_, "' is cut short");
    std::memcpy(&length, read_at(at, sizeof length, scratch), sizeof length);
    at += sizeof length;
    require(length <= size - at, Error::Kind::data, "'", name_, "' is cut short");
    places_.push_back({at, length});
  }
}

// Some file systems accept O_DIRECT and refuse the first read. The bytes are good until the next
// call with the same scratch.
const std::byte* DumpOnDisk::read_at(uint64_t offset, uint64_t length, Scratch& scratch) const {
  const uint64_t begin = offset / direct_block * direct_block, before = offset - begin;
  const size_t wanted = static_cast<size_t>(before + length);
  const size_t whole = (wanted + direct_block - 1) / direct_block * direct_block;
  if (scratch.size < whole) {
    void* memory = nullptr;
    const int failed = ::posix_memalign(&memory, direct_block, whole);
    if (failed != 0) throw io_error("take memory to read", name_, failed);
    scratch.bytes.reset(static_cast<std::byte*>(memory));
    scratch.size = whole;
  }
  for (size_t at = 0; at < wanted;) {
    const ssize_t got =
        ::pread(file_.get(), scratch.bytes.get() + at, whole - at, static_cast<off_t>(begin + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL) {  // refused, or no longer aligned after a part of a block
      const int flags = ::fcntl(file_.get(), F_GETFL);
      require((flags & O_DIRECT) != 0 && ::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) == 0,
              Error::Kind::io, "cannot read '", name_, "'");
      continue;
    }
    if (got < 0) throw io_error("read", name_, errno);
    require(got > 0, Error::Kind::data, "'", name_, "' became shorter while it was read");
    at += static_cast<size_t>(got);
  }
  return scratch.bytes.get() + before;
}

PartBytes DumpOnDisk::read_part(size_t part, Scratch& scratch) const {
  const Place& p = places_[part];
  const std::byte* from = read_at(p.offset, p.length, scratch);
  return {from, from + p.length};
}

PartBytes DumpOnDisk::begin(size_t bytes) const {
  if (places_.empty()) return {};
  Scratch scratch;
  const uint64_t length = std::min<uint64_t>(bytes, places_[0].length);
  const std::byte* from = read_at(places_[0].offset, length, scratch);
  return {from, from + length};
}

void DumpOnDisk::check_sum(const Sum& sum) const {
  require(sum.checksum == expected_.checksum, Error::Kind::data, "'", name_,
          "' was changed since it was written: its checksum is wrong");
}

void DumpOnDisk::check() const {
  Sum sum;
  Scratch scratch;
  for (size_t i = 0; i < places_.size(); ++i) sum.add(read_part(i, scratch));
  check_sum(sum);
}

void DumpOnDisk::run_ahead() const {
  Ahead& a = *ahead_;
  Sum sum;
  Scratch scratch;
  std::unique_lock lock(a.mutex);
  for (size_t i = 0; i < places_.size(); ++i) {
    a.changed.wait(lock, [&] { return a.ends || a.bytes < most_ahead; });
    if (a.ends) return;
    lock.unlock();
    PartBytes part;
    std::exception_ptr problem;
    try {
      part = read_part(i, scratch);
      sum.add(part);
      if (i + 1 == places_.size()) check_sum(sum);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    a.problem = problem;
    if (!problem) {
      a.bytes += part.size();
      a.ready.push_back(std::move(part));
    }
    a.changed.notify_all();
    if (problem) return;
  }
}

PartBytes DumpOnDisk::read(size_t part) const {
  Ahead& a = *ahead_;
  if (part != a.next) {
    Scratch scratch;
    return read_part(part, scratch);
  }
  if (!a.thread.joinable()) a.thread = std::thread([this] { run_ahead(); });
  std::unique_lock lock(a.mutex);
  a.changed.wait(lock, [&] { return !a.ready.empty() || a.problem; });
  if (a.ready.empty()) std::rethrow_exception(a.problem);
  PartBytes out = std::move(a.ready.front());
  a.ready.pop_front();
  a.bytes -= out.size();
  ++a.next;
  a.changed.notify_all();
  return out;
}

void DumpOnDisk::add(PartBytes) { throw Error(Error::Kind::io, "'", name_, "' is only read"); }

TableDump::Sum DumpOnDisk::store(AtomicDirectory&, const std::string&) {
  throw Error(Error::Kind::io, "'", name_, "' is in a snapshot already");
}

}  // namespace paddle
