// The way of a feed to a GPU: through pinned memory of the host, and where the next batch is known,
// while the GPU computes on this one.
#pragma once

#include <memory>

#include "tensor/scope.h"

namespace paddle {

class FeedCopies {
 public:
  // `bytes` from the host's memory into `to`, behind what was started before.
  void send(const std::shared_ptr<Accelerator>& device, const void* from, size_t bytes, void* to);
  // The same bytes will be sent in the next step. Not while a step is under way.
  void send_ahead(const std::shared_ptr<Accelerator>& device, const void* from, size_t bytes);

 private:
  // Two, as the next batch comes while this one may be read.
  struct Place {
    Tensor host;
    PinnedTensor pinned;
    DeviceMemory device;
    CopyTicket copy = 0;
    const void* from = nullptr;  // null where nothing was sent ahead
    size_t bytes = 0;
  };
  void start(const std::shared_ptr<Accelerator>& device, const void* from, size_t bytes, Place& to);

  Place places_[2];
  int next_ = 0;
};

}  // namespace paddle
