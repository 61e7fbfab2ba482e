// A file system that is soon full: a small tmpfs where the test may mount one, else none.
#pragma once

#include <sys/mount.h>

#include <string>

#include "support/temporary.h"

namespace paddle {

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size = "64k")
      : mounted_(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0,
                         ("size=" + size).c_str()) == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

}  // namespace paddle
