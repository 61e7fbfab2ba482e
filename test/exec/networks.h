// Small networks that the tests of this module train.
#pragma once

#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "support/op_check.h"

namespace paddle::test {

struct Trained {
  Net net;
  std::string loss;
  Feeds feeds;
};

inline Tensor labels(int64_t n, int64_t classes) {
  Tensor t(DType::i64, {n, 1});
  for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = (i * 7 + 3) % classes;
  return t;
}

// Two hidden layers, softmax, cross entropy.
inline void mlp(Trained& t, const std::string& act, int64_t batch) {
  const Builder b(t.net);
  t.net.startup.random_seed = 3;
  data(b, "x", {6});
  data(b, "y", {1}, {.dtype = DType::i64});
  const std::string h = fc(b, fc(b, "x", 8, {.act = act}), 5, {.act = act});
  t.loss = mean(b, cross_entropy(b, fc(b, h, 4, {.act = "softmax"}), "y"));
  t.feeds = {{"x", random_tensor(DType::f32, {batch, 6}, 9)}, {"y", labels(batch, 4)}};
}

// Sequences of ids, pooled.
inline void bag_of_words(Trained& t, const std::string& pool, bool is_distributed = false) {
  const Builder b(t.net);
  t.net.startup.random_seed = 3;
  data(b, "ids", {1}, {.dtype = DType::i64, .lod_level = 1});
  data(b, "y", {1}, {.dtype = DType::i64});
  const std::string e =
      embedding(b, "ids", {11, 3}, {.is_sparse = true, .is_distributed = is_distributed});
  t.loss = mean(b, cross_entropy(b, fc(b, sequence_pool(b, e, pool), 2, {.act = "softmax"}), "y"));
  Tensor ids = Tensor::of<int64_t>({7, 1}, {1, 4, 4, 10, 0, 1, 3});
  ids.set_lod({{0, 2, 6, 7}});
  t.feeds = {{"ids", ids}, {"y", labels(3, 2)}};
}

}  // namespace paddle::test
