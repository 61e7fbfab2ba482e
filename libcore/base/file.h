// Files that are either the old one or the new one, never a part of either; and errors that say
// what to do. Everything here throws Error(io) with the path, the system's words and a remedy.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"

namespace paddle {

// "cannot <what> '<path>': <system's words>; <remedy>". `code` is an errno.
Error io_error(std::string_view what, const std::string& path, int code);

// The whole file. A regular file larger than max_bytes is refused before memory is taken for it
// (Error(data)).
std::string read_file(const std::string& path, uint64_t max_bytes);

// Writes the parts one after the other under a temporary name in the same directory, brings them to
// the disk and renames: a reader of `path` sees the old file or the whole new one, also after a
// crash.
void write_file_atomically(const std::string& path, std::span<const std::string_view> parts);
void write_file_atomically(const std::string& path, std::string_view contents);

// Makes the symbolic link `link` point to `target`. It is made aside and renamed, so that a reader
// always finds one.
void point_link(const std::string& target, const std::string& link);

// A file to add lines to, made where it is missing. A symbolic link in its place is refused:
// whoever may write to the directory could lead the lines to another file.
Descriptor open_to_append(const std::string& path);

// Like mkdir -p, with mode 0750: models, snapshots and logs are not for everybody.
void make_directories(const std::string& path);
// The same for one that files will be written to.
void make_writable_directory(const std::string& path);

// Removes parent/name and everything below. `name` must be one plain path component, so that no
// computed path can reach above `parent`; symbolic links are removed, not followed. Nothing there
// is no error.
void remove_tree(const std::string& parent, const std::string& name);

// The names in a directory, sorted, without . and ..
std::vector<std::string> list_directory(const std::string& path);

bool is_file(const std::string& path);
bool is_directory(const std::string& path);

// A directory that appears complete or not at all. Files are written into `<path>.tmp-<unique>`;
// commit() adds the file `done` last, brings all of it to the disk and puts the directory in the
// place of `path`. What is not committed is removed by the destructor, or, after a kill, by the
// next AtomicDirectory for the same path.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(const std::string& path);  // makes the parents
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const std::string& path() const { return path_; }            // where it will stand
  const std::string& temporary() const { return temporary_; }  // where to write until then
  void write(const std::string& name, std::span<const std::string_view> parts);
  void write(const std::string& name, std::string_view contents);
  // `done` is what the file of that name will hold.
  void commit(std::string_view done = "");

 private:
  void put_in_place();
  void remove_abandoned();

  std::string parent_, name_, path_, temporary_;
  int lock_ = -1;  // held while we write: an abandoned directory has no lock
  bool committed_ = false;
};

}  // namespace paddle
