// Keys and tokens in memory: left out of core dumps, kept out of the swap file where the system
// allows, and wiped when they are no longer needed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace paddle {

class Secret {
 public:
  Secret() = default;
  explicit Secret(size_t size);  // zeros; throws Error(io) where there is no memory
  Secret(Secret&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { clear(); }

  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {memory_, size_}; }
  std::span<const std::byte> bytes() const { return {memory_, size_}; }
  // Forgets all bytes behind the first `size`.
  void shorten(size_t size);

 private:
  void clear();

  std::byte* memory_ = nullptr;
  size_t size_ = 0;
};

// Overwrites bytes, also where nobody reads them any more.
void wipe(std::span<std::byte> bytes);

// For containers of a library that a secret passes through: memory is overwritten when it is given
// back, so a later core dump does not hold it.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  explicit(false) WipingAllocator(const WipingAllocator<U>&) {}
  T* allocate(size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, size_t n) {
    wipe(std::as_writable_bytes(std::span(p, n)));
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const WipingAllocator&) const = default;
};

// The whole of a file that holds a secret. Refused are files that others may read or write
// (Error(config) with the remedy), what is no regular file, links that belong to somebody else, and
// more than max_bytes. `what` names it in errors: "the token file".
Secret read_secret_file(const std::string& path, size_t max_bytes, const std::string& what);

// Makes a file that only this user can read. One that is there already is an error, unless
// `replace`: then the new one is put in its place at once.
void write_secret_file(const std::string& path, std::span<const std::byte> bytes, bool replace);

// This process leaves no core dump and cannot be attached to by other processes of the same user:
// for keys that stand in the memory of a library.
void forbid_core_dumps();

}  // namespace paddle
