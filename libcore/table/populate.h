// Memory that is made in other threads before it is used. A new page has to be cleared, and where a
// virtual machine must get it from its host, that takes longer than anything that is done with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace paddle {

class Populate {
 public:
  // From the end towards the beginning: the user of the memory starts at the beginning, and makes
  // the pages there by using them. What is in the pages does not change. Where the system cannot do
  // it, nothing happens.
  Populate(std::byte* address, size_t bytes);
  ~Populate();  // stops it
  Populate(const Populate&) = delete;
  Populate& operator=(const Populate&) = delete;

 private:
  void run(std::byte* address, size_t bytes);
  std::atomic<size_t> next_;  // pieces in front of it are not begun
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace paddle
