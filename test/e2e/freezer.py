"""A TCP proxy for what a network does without a word: bytes stop, and the end of a connection is heard late or never."""
import asyncio

from proxy import Plan, Proxy, reset


class Freezer(Proxy):
    """Forwards until it is asked to stop, by target port."""

    def __init__(self):
        super().__init__(Plan(0, faults=0))
        self.frozen, self.deaf, self.changed = set(), set(), None

    def freeze(self, *targets):
        """Nothing passes any more, neither bytes nor ends; new connections are made and lead nowhere."""
        self.change(lambda: self.frozen.update(targets))

    def hold_ends(self, *targets):
        """Bytes pass; the targets do not hear of connections that end."""
        self.change(lambda: self.deaf.update(targets))

    def release(self, *targets):
        self.change(lambda: (self.frozen.difference_update(targets), self.deaf.difference_update(targets)))

    def change(self, what):
        async def do():
            what()
            if self.changed:
                self.changed.set()
            self.changed = asyncio.Event()
        asyncio.run_coroutine_threadsafe(do(), self.loop).result(20)

    async def wait_while(self, targets, target):
        while target in targets:
            await self.changed.wait()

    async def serve(self, target, reader, writer):
        self.counts["connections"] += 1
        self.writers.add(writer)
        await self.wait_while(self.frozen, target)
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            reset(writer)
            return
        self.writers.add(up_writer)
        await asyncio.gather(self.carry(target, reader, up_writer, True), self.carry(target, up_reader, writer, False), return_exceptions=True)
        self.writers.difference_update((writer, up_writer))

    async def carry(self, target, reader, writer, to_target):
        try:
            while data := await reader.read(1 << 16):
                await self.wait_while(self.frozen, target)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        await self.wait_while(self.frozen, target)
        if to_target:
            await self.wait_while(self.deaf, target)
        writer.close()
