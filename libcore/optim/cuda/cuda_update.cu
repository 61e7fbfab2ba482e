#include <utility>

#include "kernels/cuda/launch.h"
#include "optim/apply.h"
#include "optim/cuda/cuda_update.h"

namespace paddle::optim {
namespace {

template <class Rule, class T, size_t... i>
void launch(cudaStream_t stream, int64_t n, const Rule& rule, T* p, const T* g, T* const* states,
            std::index_sequence<i...>) {
  cuda::launch_update(stream, n, rule, p, g, states[i]...);
}

}  // namespace

template <class Rule, class T>
void update_on_gpu(cuda::Stream stream, int64_t n, const Rule& rule, T* p, const T* g,
                   T* const* states) {
  launch(static_cast<cudaStream_t>(stream), n, rule, p, g, states,
         std::make_index_sequence<Rule::states>{});
}

using cuda::Stream;
using F = float;
using D = double;
template void update_on_gpu(Stream, int64_t, const Sgd<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Sgd<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Momentum<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Momentum<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Adagrad<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Adagrad<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const DecayedAdagrad<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const DecayedAdagrad<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Adam<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Adam<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Adamax<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Adamax<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Rmsprop<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Rmsprop<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const CenteredRmsprop<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const CenteredRmsprop<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Adadelta<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Adadelta<D>&, D*, const D*, D* const*);
template void update_on_gpu(Stream, int64_t, const Ftrl<F>&, F*, const F*, F* const*);
template void update_on_gpu(Stream, int64_t, const Ftrl<D>&, D*, const D*, D* const*);

}  // namespace paddle::optim
