#include "pserver/table_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "io/binary_reader.h"
#include "table/checksum.h"

namespace paddle {
namespace {

constexpr uint64_t much = 32u << 20;  // bytes that may wait for the disk

// Each part stands behind its length (8 bytes).
class DumpOnDisk final : public TableDump {
 public:
  DumpOnDisk(const std::string& path, const Sum& expected)
      : name_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!file_) throw io_error("open", path, errno);
    BinaryReader in(path);
    require(in.left() == expected.bytes, Error::Kind::data, "'", path, "' has ", in.left(),
            " bytes, and its manifest says ", expected.bytes);
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Sum sum;
    PartBytes part;
    while (in.left() > 0) {
      const auto length = in.number<uint64_t>("the length of a part");
      require(length <= in.left(), Error::Kind::data, "'", path, "' is cut short");
      places_.push_back({in.offset(), length});
      part.resize(static_cast<size_t>(length));
      in.read(part.data(), part.size(), "a part of a table");
      sum.add(part);
    }
    require(sum.checksum == expected.checksum, Error::Kind::data, "'", path,
            "' was changed since it was written: its checksum is wrong");
  }

  void add(PartBytes) override { throw Error(Error::Kind::io, "'", name_, "' is only read"); }
  Sum store(AtomicDirectory&, const std::string&) override {
    throw Error(Error::Kind::io, "'", name_, "' is in a snapshot already");
  }
  size_t parts() const override { return places_.size(); }
  PartBytes read(size_t part) const override {
    PartBytes out(static_cast<size_t>(places_[part].length));
    for (size_t at = 0; at < out.size();) {
      const ssize_t got = ::pread(file_.get(), out.data() + at, out.size() - at,
                                  static_cast<off_t>(places_[part].offset + at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw io_error("read", name_, errno);
      require(got > 0, Error::Kind::data, "'", name_, "' became shorter while it was read");
      at += static_cast<size_t>(got);
    }
    return out;
  }

 private:
  struct Place {
    uint64_t offset, length;
  };
  const std::string name_;
  const Descriptor file_;
  std::vector<Place> places_;
};

}  // namespace

// The length of a part is in its checksum.
void TableDump::Sum::add(const PartBytes& part) {
  checksum = checksum64(part.data(), part.size(), checksum);
  bytes += sizeof(uint64_t) + part.size();
}

TableDump::Sum DumpInMemory::store(AtomicDirectory& snapshot, const std::string& name) {
  Sum sum;
  std::vector<uint64_t> lengths;
  for (const PartBytes& p : parts_) lengths.push_back(p.size());
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < parts_.size(); ++i) {
    pieces.emplace_back(reinterpret_cast<const char*>(&lengths[i]), sizeof lengths[i]);
    pieces.emplace_back(reinterpret_cast<const char*>(parts_[i].data()), parts_[i].size());
  }
  for (const PartBytes& p : parts_) sum.add(p);
  snapshot.write(name, pieces);
  return sum;
}

DumpInFile::DumpInFile(std::string path, Later later, std::function<void()> has_room)
    : path_(std::move(path)), later_(std::move(later)), has_room_(std::move(has_room)) {}

DumpInFile::~DumpInFile() {
  if (file_ && !stored_) ::unlink(path_.c_str());
}

PartBytes DumpInFile::spare() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  PartBytes out = std::move(spare_.back());
  spare_.pop_back();
  return out;
}

bool DumpInFile::waits_for_disk() const { return queued_ > much; }

void DumpInFile::wait_for_disk() {
  for (uint64_t bytes = queued_; bytes > much; bytes = queued_) queued_.wait(bytes);
}

void DumpInFile::add(PartBytes part) {
  queued_ += part.size();
  later_([self = shared_from_this(), kept = std::make_shared<PartBytes>(std::move(part))] {
    const uint64_t size = kept->size();
    self->write(*kept);
    {
      const std::lock_guard lock(self->mutex_);
      self->spare_.push_back(std::move(*kept));
    }
    const uint64_t before = self->queued_.fetch_sub(size);
    self->queued_.notify_all();
    if (before > much && before - size <= much) self->has_room_();
  });
}

// What goes wrong is told when the snapshot is written: it will not be one.
void DumpInFile::write(const PartBytes& part) {
  if (!problem_.empty()) return;
  try {
    if (!file_) file_.emplace(path_);
    const uint64_t length = part.size();
    file_->add(std::as_bytes(std::span(&length, 1)));
    file_->add(part);
    sum_.add(part);
  } catch (const Error& e) {
    problem_ = e.what();
  }
}

TableDump::Sum DumpInFile::store(AtomicDirectory& snapshot, const std::string& name) {
  require(problem_.empty(), Error::Kind::io, problem_);
  const std::string to = snapshot.temporary() + "/" + name;
  file_->finish();
  if (std::rename(path_.c_str(), to.c_str()) != 0) throw io_error("put in place", path_, errno);
  stored_ = true;
  return sum_;
}

PartBytes DumpInFile::read(size_t) const {
  throw Error(Error::Kind::io, "'", path_, "' is only written");
}

void DumpChain::add(PartBytes) {
  throw Error(Error::Kind::io, "dumps that are read take no further part");
}

TableDump::Sum DumpChain::store(AtomicDirectory&, const std::string&) {
  throw Error(Error::Kind::io, "dumps that are read are in a snapshot already");
}

size_t DumpChain::parts() const {
  size_t sum = 0;
  for (const auto& d : dumps_) sum += d->parts();
  return sum;
}

PartBytes DumpChain::read(size_t part) const {
  for (const auto& d : dumps_) {
    if (part < d->parts()) return d->read(part);
    part -= d->parts();
  }
  throw Error(Error::Kind::io, "there is no such part of a dump");
}

std::shared_ptr<TableDump> open_dump(const std::string& path, const TableDump::Sum& expected) {
  return std::make_shared<DumpOnDisk>(path, expected);
}

}  // namespace paddle
