#include "pserver/snapshots.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/log.h"

namespace paddle {
namespace {

constexpr auto ended_name = "job-ended";
constexpr uint64_t max_ended_bytes = 8192;
const std::string damaged = ".damaged";
const std::string dump_name = "rows-";  // of tables, before their snapshot is written
constexpr auto link_name = "link";      // of a directory that is there for a moment

// The step in "step-000000000100", or none.
std::optional<uint64_t> step_of(const std::string& name) {
  if (name.size() < 17 || name.compare(0, 5, "step-") != 0) return {};
  const bool digits =
      std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return {};
  return std::strtoull(name.c_str() + 5, nullptr, 10);
}

Descriptor lock_directory(const std::string& root) {
  const std::string path = root + "/lock";
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!lock) throw io_error("open", path, errno);
  require(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0, Error::Kind::config, "the directory '", root,
          "' is in use by another pserver: give each its own --snapshot_dir");
  return lock;
}

// A file can have a second name in a directory beside its own, which not every file system allows.
bool can_share(const std::string& root) {
  const std::string probe = std::string(link_name) + ".probe";
  remove_tree(root, probe);
  make_directories(root + "/" + probe);
  const bool can = ::link((root + "/lock").c_str(), (root + "/" + probe + "/lock").c_str()) == 0;
  const int code = errno;
  remove_tree(root, probe);
  if (!can)
    log_info(text("snapshots in '", root,
                  "' hold tables whole, as its file system has no hard "
                  "links (",
                  std::strerror(code), ")"));
  return can;
}

}  // namespace

Snapshots::Snapshots(const SnapshotOptions& options, const std::string& name, Written written,
                     std::function<void()> has_room)
    : options_(options),
      root_(options.directory + "/" + name),
      written_(std::move(written)),
      has_room_(std::move(has_room)) {
  make_directories(root_);
  lock_ = lock_directory(root_);
  shares_files_ = can_share(root_);
  for (const std::string& left : list_directory(root_))  // by a process that was killed
    if (left.starts_with(dump_name)) remove_tree(root_, left);
  thread_ = std::thread([this] { serve(); });
}

Snapshots::~Snapshots() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<uint64_t> Snapshots::steps() const {
  std::vector<uint64_t> out;
  if (is_file(root_ + "/" + ended_name)) return out;
  for (const std::string& name : list_directory(root_))
    if (const auto step = step_of(name); step && is_file(root_ + "/" + name + "/done"))
      out.push_back(*step);
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Snapshot> Snapshots::newest() {
  std::optional<Snapshot> out;
  try_newest(DumpCheck::first, [&](Snapshot s) { out = std::move(s); });
  return out;
}

// Checked while its rows go into their tables: reading them twice would take twice as long.
bool Snapshots::restore(const std::function<void(Snapshot)>& use) {
  return try_newest(DumpCheck::while_reading, use);
}

bool Snapshots::try_newest(DumpCheck when, const std::function<void(Snapshot)>& use) {
  const std::vector<uint64_t> all = steps();
  std::string problems;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    bool found = false;
    try {
      Snapshot snapshot = load(*step, when);
      found = true;
      use(std::move(snapshot));
      for (auto bad = all.rbegin(); bad != step; ++bad) set_aside(*bad);
      return true;
    } catch (const Error& e) {
      if (found && e.kind() != Error::Kind::data && e.kind() != Error::Kind::io) throw;
      log_error(text("the snapshot of step ", *step, " cannot be used: ", e.what(),
                     "; trying the one before"));
      problems += text("\n  ", e.what());
    }
  }
  require(all.empty(), Error::Kind::data, "none of the snapshots in '", root_,
          "' can be used; remove the directory to start the job afresh:", problems);
  return false;
}

Snapshot Snapshots::load(uint64_t step) { return load(step, DumpCheck::first); }

Snapshot Snapshots::load(uint64_t step, DumpCheck when) {
  drain();
  require(is_directory(path(step)), Error::Kind::data, "there is no snapshot of step ", step,
          " in '", root_, "'");
  Snapshot s = read_snapshot(path(step), when);
  require(s.step == step, Error::Kind::data, "the snapshot '", path(step), "' is that of step ",
          s.step, ": somebody copied or renamed it");
  for (const SnapshotSlice& slice : s.slices)
    require(s.identity.mode != wire::Mode::sync || slice.version == step, Error::Kind::data,
            "the snapshot '", path(step), "' holds '", slice.info.name, "' of step ",
            slice.version);
  for (const SnapshotTable& t : s.tables)
    require(s.identity.mode != wire::Mode::sync || t.version == step, Error::Kind::data,
            "the snapshot '", path(step), "' holds the table '", t.info.spec.param, "' of step ",
            t.version);
  return s;
}

void Snapshots::set_aside(uint64_t step) {
  drain();
  remove_tree(root_, snapshot_name(step) + damaged);
  const std::string from = path(step), to = from + damaged;
  if (::rename(from.c_str(), to.c_str()) == 0)
    log_warn(text("the damaged snapshot of step ", step, " is now '", to, "'"));
}

std::shared_ptr<TableDump> Snapshots::begin_dump(uint64_t step, size_t table) {
  return std::make_shared<DumpInFile>(
      text(root_, "/", dump_name, step, "-", table),
      [this](std::function<void()> work) { later(std::move(work)); }, has_room_);
}

void Snapshots::write(Snapshot snapshot) {
  auto shared = std::make_shared<Snapshot>(std::move(snapshot));  // functions are copied
  later([this, shared] { write_one(*shared); });
}

void Snapshots::later(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Snapshots::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return work_.empty() && !busy_; });
}

void Snapshots::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !work_.empty(); });
    if (work_.empty()) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    try {
      work();
    } catch (const std::exception& e) {
      log_error(text("cannot change the snapshots in '", root_, "': ", e.what()));
    }
    work = nullptr;  // its memory is free before the result is reported
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Snapshots::write_one(Snapshot& snapshot) {
  std::string problem;
  const Time begin = Clock::now();
  try {
    write_snapshot(path(snapshot.step), snapshot);
    const std::vector<uint64_t> all = steps();
    for (size_t i = 0; i + options_.keep < all.size(); ++i)
      remove_tree(root_, snapshot_name(all[i]));
  } catch (const std::exception& e) {
    problem = e.what();
  }
  {
    const std::scoped_lock lock(mutex_);
    writes_.last = seconds(begin, Clock::now());
    writes_.seconds += writes_.last;
    ++(problem.empty() ? writes_.done : writes_.failed);
  }
  written_(snapshot.step, problem);
}

Snapshots::Writes Snapshots::writes() const {
  const std::scoped_lock lock(mutex_);
  return writes_;
}

void Snapshots::remove_after(uint64_t step) {
  later([this, step] {
    for (const uint64_t s : steps())
      if (s > step) remove_tree(root_, snapshot_name(s));
  });
}

void Snapshots::mark_ended(const EndedJob& job) {
  later([this, content = write_ended_job(job, std::time(nullptr))] {
    write_file_atomically(root_ + "/" + ended_name, content);
  });
  drain();
}

std::optional<EndedJob> Snapshots::ended() const {
  const std::string path = root_ + "/" + ended_name;
  if (!is_file(path)) return {};
  try {
    return read_ended_job(read_file(path, max_ended_bytes), std::time(nullptr));
  } catch (const Error& e) {
    log_warn(text("it is not known which job has ended: ", e.what()));
    return {};
  }
}

// What is left of an ended job goes; a job that is configured anew keeps nothing of the past
// either.
void Snapshots::begin_job() {
  later([this] {
    remove_tree(root_, ended_name);
    for (const uint64_t s : steps()) remove_tree(root_, snapshot_name(s));
    for (const std::string& name : list_directory(root_))
      if (name.ends_with(damaged)) remove_tree(root_, name);
  });
}

}  // namespace paddle
