// A connection to somebody who listens, made at once.
#pragma once

#include <memory>

#include "wire/credentials.h"
#include "wire/stream.h"

namespace paddle {

inline std::unique_ptr<wire::Stream> connect_to(asio::io_context& io, const wire::Endpoint& to,
                                                const wire::Credentials& credentials = {},
                                                const wire::Purpose& purpose = {}) {
  std::unique_ptr<wire::Stream> out;
  std::exception_ptr failure;
  bool done = false;
  asio::co_spawn(
      io, [&]() { return wire::connect(to, 20, credentials, purpose); },
      [&](std::exception_ptr e, std::unique_ptr<wire::Stream> stream) {
        failure = e;
        out = std::move(stream);
        done = true;
      });
  io.restart();
  while (!done && io.run_one() > 0) {
  }
  io.restart();  // it stops when it runs out of work, as it does here
  if (failure) std::rethrow_exception(failure);
  return out;
}

}  // namespace paddle
