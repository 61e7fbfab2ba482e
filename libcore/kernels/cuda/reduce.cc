// kernels/reduce.h on a GPU: parts of a fixed size, joined in order.
#include "kernels/reduce.h"

#include "kernels/cuda/search.h"

namespace paddle {
namespace {

template <bool square>
struct SumPart {
  cuda::Parts parts;
  template <class T>
  PS_HD void operator()(int64_t part, const T* x, double* sums) const {
    double sum = 0;
    for (int64_t i = parts.begin(part); i < parts.end(part); ++i)
      sum += square ? double(x[i]) * double(x[i]) : double(x[i]);
    sums[part] = sum;
  }
};

struct JoinParts {
  int64_t count;
  template <class T>
  PS_HD void operator()(int64_t, const double* sums, T* out) const {
    double sum = 0;
    for (int64_t part = 0; part < count; ++part) sum += sums[part];
    *out = static_cast<T>(sum);
  }
};

template <bool square, class T>
void sum_parts(const Device& device, int64_t n, const T* x, T* out) {
  const cuda::Parts parts(n);
  double* sums = cuda::gpu_of(device).workspace<double>(parts.count);
  cuda::launch(device, parts.count, SumPart<square>{parts}, x, sums);
  cuda::launch(device, 1, JoinParts{parts.count}, static_cast<const double*>(sums), out);
}

template <class T>
struct NotFinite {
  const T* x;
  PS_HD bool operator()(int64_t i) const { return !(x[i] - x[i] == 0); }
};

struct ColumnSum {
  int64_t m, n;
  bool add;
  template <class T>
  PS_HD void operator()(int64_t j, const T* x, T* out) const {
    T sum = add ? out[j] : T(0);
    for (int64_t i = 0; i < m; ++i) sum += x[i * n + j];
    out[j] = sum;
  }
};

struct RowSum {
  int64_t n;
  template <class T>
  PS_HD void operator()(int64_t i, const T* x, T* out) const {
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += x[i * n + j];
    out[i] = sum;
  }
};

}  // namespace

#define PS_REDUCE(T)                                                                           \
  void sum(const Device& device, int64_t n, const T* x, T* out) {                              \
    sum_parts<false>(device, n, x, out);                                                       \
  }                                                                                            \
  void sum_squares(const Device& device, int64_t n, const T* x, T* out) {                      \
    sum_parts<true>(device, n, x, out);                                                        \
  }                                                                                            \
  bool any_not_finite(const Device& device, int64_t n, const T* x) {                           \
    return cuda::first_where(device, n, NotFinite<T>{x}) >= 0;                                 \
  }                                                                                            \
  void column_sums(const Device& device, int64_t m, int64_t n, const T* x, T* out, bool add) { \
    cuda::launch(device, n, ColumnSum{m, n, add}, x, out);                                     \
  }                                                                                            \
  void row_sums(const Device& device, int64_t m, int64_t n, const T* x, T* out) {              \
    cuda::launch(device, m, RowSum{n}, x, out);                                                \
  }
PS_REDUCE(float)
PS_REDUCE(double)
#undef PS_REDUCE

}  // namespace paddle
