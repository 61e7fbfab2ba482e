#include "pserver/table_dump.h"

#include <unistd.h>

#include <cstdio>

#include "table/checksum.h"

namespace paddle {
namespace {

constexpr uint64_t much = 32u << 20;  // bytes that may wait for the disk

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
  } catch (const std::exception& e) {
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

}  // namespace paddle
