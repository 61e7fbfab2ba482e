#include "base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>

#include "base/descriptor.h"
#include "support/quiet_log.h"
#include "support/temporary.h"

using namespace paddle;

namespace {

// What systemd has on the other side.
class Listener {
 public:
  Listener() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
  }
  std::string path() const { return directory_.path() + "/notify"; }
  // The next datagram, "" where there is none.
  std::string next() {
    char out[256];
    const ssize_t n = ::recv(socket_.get(), out, sizeof out, 0);
    return n < 0 ? "" : std::string(out, static_cast<size_t>(n));
  }

 private:
  TemporaryDirectory directory_;
  Descriptor socket_;
};

}  // namespace

TEST_CASE("a service manager", "[base]") {
  Listener systemd;

  SECTION("hears that the process is ready and that it stops") {
    const ServiceManager manager(systemd.path(), "", 1);
    manager.ready("listening on port 7164");
    CHECK(systemd.next() == "READY=1\nSTATUS=listening on port 7164");
    manager.stopping();
    CHECK(systemd.next() == "STOPPING=1\nSTATUS=stopping");
  }
  SECTION("hears that the process is alive when all parts have said so") {
    ServiceManager manager(systemd.path(), "30000000", 2);
    manager.alive(0);
    manager.alive(0);
    CHECK(systemd.next().empty());
    manager.alive(1);
    CHECK(systemd.next() == "WATCHDOG=1");
    manager.alive(1);
    CHECK(systemd.next().empty());
    manager.alive(0);
    CHECK(systemd.next() == "WATCHDOG=1");
  }
  SECTION("that does not watch hears nothing of it") {
    ServiceManager manager(systemd.path(), "", 1);
    manager.alive(0);
    CHECK(systemd.next().empty());
  }
  SECTION("that is not there is no failure") {
    const QuietLog quiet;
    const ServiceManager none("", "", 1);
    none.ready("here");
    const ServiceManager gone(TemporaryDirectory().path() + "/gone", "", 1);
    gone.ready("here");
    const ServiceManager long_name(std::string(300, 'x'), "", 1);
    long_name.ready("here");
    CHECK(systemd.next().empty());
  }
}
