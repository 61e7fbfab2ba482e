// The parts of Asio that we use. They are compiled once, in asio.cc: the build defines
// BOOST_ASIO_SEPARATE_COMPILATION, as it must hold for headers of Asio that come before this one.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace paddle {
namespace asio = boost::asio;
using asio::ip::tcp;
}  // namespace paddle
