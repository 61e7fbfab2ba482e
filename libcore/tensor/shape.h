// The lengths of a tensor's dimensions, held inline. -1 is a length not known yet.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

namespace paddle {

class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);  // throws Error(config) above max_rank

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + rank_; }

  // Number of elements; -1 if any length is unknown. A rank-0 shape has one.
  int64_t numel() const;
  // Product of dims [from, to); -1 if any is unknown.
  int64_t product(int from, int to) const;
  bool known() const { return numel() >= 0; }
  void append(int64_t dim);
  Shape slice(int from, int to) const;  // dims [from, to)

  bool operator==(const Shape& o) const;
  // Equal where both are known.
  bool compatible(const Shape& o) const;
  std::string str() const;  // "[-1, 13]"

 private:
  int64_t dims_[max_rank] = {};
  int rank_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.str(); }

}  // namespace paddle
