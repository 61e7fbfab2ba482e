"""A TCP proxy that does to connections what networks do: by a seeded plan it cuts them anywhere in the stream, delays
bytes, stalls, and refuses new connections. After `faults` faults it only forwards, so that every job can end."""
import asyncio
import random
import socket
import struct
import threading


class Plan:
    """What shall happen. Ranges are (least, most); a connection that is not cut has no limit."""

    def __init__(self, seed, faults, cut_after=None, delay=(0, 0), delay_share=0.0, stall=(0, 0), stall_share=0.0, drop_share=0.0):
        self.random = random.Random(seed)
        self.faults, self.cut_after = faults, cut_after
        self.delay, self.delay_share = delay, delay_share
        self.stall, self.stall_share = stall, stall_share
        self.drop_share = drop_share
        self.seed = seed

    def happens(self, share):
        if self.faults <= 0 or self.random.random() >= share:
            return False
        self.faults -= 1
        return True


class Proxy:
    """Ports of its own for every target port. Lives in a thread; close() ends it."""

    def __init__(self, plan):
        self.plan = plan
        self.counts = {"connections": 0, "cuts": 0, "delays": 0, "stalls": 0, "drops": 0, "bytes": 0}
        self.servers, self.ports, self.writers = [], {}, set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def port_for(self, target):
        if target not in self.ports:
            self.ports[target] = asyncio.run_coroutine_threadsafe(self.listen(target), self.loop).result(20)
        return self.ports[target]

    def cut_all(self):
        """Every connection ends now."""
        async def cut():
            for w in list(self.writers):
                reset(w)
        asyncio.run_coroutine_threadsafe(cut(), self.loop).result(20)

    def close(self):
        async def end():
            for s in self.servers:
                s.close()
            for w in list(self.writers):
                reset(w)
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(20)
        self.loop.close()

    async def listen(self, target):
        async def serve(reader, writer):
            await self.serve(target, reader, writer)
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.servers.append(server)
        return server.sockets[0].getsockname()[1]

    async def serve(self, target, reader, writer):
        self.counts["connections"] += 1
        if self.plan.happens(self.plan.drop_share):
            self.counts["drops"] += 1
            reset(writer)
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            reset(writer)
            return
        both = (writer, up_writer)
        self.writers.update(both)
        # The cut falls after so many bytes in one of the directions: within a frame as a rule.
        limits = [None, None]
        if self.plan.cut_after and self.plan.faults > 0:
            limits[self.plan.random.randrange(2)] = self.plan.random.randint(*self.plan.cut_after)
        await asyncio.gather(self.pump(reader, up_writer, both, limits[0]), self.pump(up_reader, writer, both, limits[1]),
                             return_exceptions=True)
        self.writers.difference_update(both)

    async def pump(self, reader, writer, both, limit):
        try:
            while data := await reader.read(1 << 16):
                if limit is not None and len(data) >= limit and self.plan.happens(1):
                    writer.write(data[:limit])
                    await writer.drain()
                    self.counts["cuts"] += 1
                    break
                limit = None if limit is None else max(1, limit - len(data))
                await self.hinder()
                writer.write(data)
                self.counts["bytes"] += len(data)
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        # Half of the ends are orderly ones.
        for w in both:
            if self.plan.random.random() < 0.5:
                reset(w)
            else:
                w.close()

    async def hinder(self):
        if self.plan.happens(self.plan.delay_share):
            self.counts["delays"] += 1
            await asyncio.sleep(self.plan.random.uniform(*self.plan.delay))
        if self.plan.happens(self.plan.stall_share):
            self.counts["stalls"] += 1
            await asyncio.sleep(self.plan.random.uniform(*self.plan.stall))


class Recorder(Proxy):
    """Keeps the messages that come from the one who connects, which have no bulk."""

    def __init__(self, plan):
        super().__init__(plan)
        self.frames, self.taken = [], b""

    async def serve(self, target, reader, writer):
        whole, feed = self, reader.feed_data
        def look(data):
            whole.taken += data
            while len(whole.taken) >= 16:
                size = 16 + struct.unpack("<IIQ", whole.taken[:16])[1]
                if len(whole.taken) < size:
                    break
                whole.frames.append(whole.taken[:size])
                whole.taken = whole.taken[size:]
            feed(data)
        early = bytes(reader._buffer)
        reader.feed_data = look
        if early:
            reader._buffer.clear()
            look(early)
        await super().serve(target, reader, writer)


def reset(writer):
    """RST instead of FIN: what is on its way is lost."""
    s = writer.get_extra_info("socket")
    if s is not None and s.fileno() >= 0:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
