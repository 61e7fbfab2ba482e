#include "wire/close_watch.h"

#include <sys/epoll.h>

namespace paddle::wire {

void CloseWatch::wait(const asio::any_io_executor& io, int socket,
                      std::shared_ptr<StreamUser> user) {
  if (!descriptor_) {
    const int watch = ::epoll_create1(EPOLL_CLOEXEC);
    if (watch < 0) return;
    descriptor_.emplace(io, watch);
    epoll_event event{.events = EPOLLRDHUP, .data = {}};
    if (::epoll_ctl(watch, EPOLL_CTL_ADD, socket, &event) != 0) return;
  }
  descriptor_->async_wait(asio::posix::stream_descriptor::wait_read,
                          [user = std::move(user)](const boost::system::error_code& error) {
                            user->on_ready(StreamEvent::closed, error);
                          });
}

void CloseWatch::close() {
  boost::system::error_code ignored;
  if (descriptor_) descriptor_->close(ignored);
}

}  // namespace paddle::wire
