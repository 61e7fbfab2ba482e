"""Hosts whose packets go through this program (TUN devices), which delays, loses and reorders them. The connections are the
kernel's own, so what is lost is sent again by its TCP. `tc netem` does the same, where a kernel has it."""
import errno
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import threading
import time

from net_hosts import NetHosts, run_ip

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000
LONGEST = 1 << 16  # of a packet


def missing():
    """What the machine lacks beside what net_hosts.missing() names, "" where TUN devices work."""
    try:
        os.close(open_tun("pd%x" % os.getpid()))
        return ""
    except OSError as e:
        return f"TUN devices: {e}"


def open_tun(name):
    """The device exists as long as the descriptor is open."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError:
        os.close(tun)
        raise
    return tun


class LossyHosts(NetHosts):
    """Every packet arrives after `delay` seconds (least, most), but `loss` of them never, and `early` of them at once."""

    def __init__(self, test, names, seed, delay, loss, early):
        self.random, self.delay, self.loss, self.early = random.Random(seed), delay, loss, early
        self.counts = {"packets": 0, "lost": 0, "overtaken": 0}
        self.ports = {}  # descriptor by address
        self.ending = threading.Event()
        super().__init__(test, names)
        self.carrier = threading.Thread(target=self.carry, daemon=True)
        self.carrier.start()
        test.addCleanup(self.end)  # before close(), which is older

    def make_switch(self):
        """It is carry()."""

    def plug_in(self, i, space):
        device = f"{self.tag}t{i}"
        self.ports[self.addresses[self.names[i]]] = open_tun(device)
        run_ip("link", "set", device, "netns", space)
        run_ip("-n", space, "link", "set", device, "name", "eth0")

    def end(self):
        self.ending.set()
        self.carrier.join()
        for port in self.ports.values():
            os.close(port)

    def carry(self):
        waiting, number, newest = [], 0, {}  # (when it arrives, its number, where, packet); last number delivered, by place
        sources = list(self.ports.values())
        while not self.ending.is_set():
            pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1
            for source in select.select(sources, [], [], pause)[0]:
                for packet in packets(source):
                    to = self.ports.get(socket.inet_ntoa(packet[16:20])) if packet[0] >> 4 == 4 else None
                    if to is None:  # the kernel's own words about IPv6
                        continue
                    number += 1
                    self.counts["packets"] += 1
                    if self.random.random() < self.loss:
                        self.counts["lost"] += 1
                        continue
                    delay = 0 if self.random.random() < self.early else self.random.uniform(*self.delay)
                    heapq.heappush(waiting, (time.monotonic() + delay, number, to, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, sent, to, packet = heapq.heappop(waiting)
                self.counts["overtaken"] += sent < newest.get(to, 0)
                newest[to] = max(sent, newest.get(to, 0))
                deliver(to, packet)


def packets(source):
    """All that are there."""
    while True:
        try:
            yield os.read(source, LONGEST)
        except BlockingIOError:
            return


def deliver(to, packet):
    """A host that cannot take it now loses it, as real ones do."""
    try:
        os.write(to, packet)
    except OSError as e:
        if e.errno not in (errno.EAGAIN, errno.EIO, errno.ENOBUFS):
            raise
