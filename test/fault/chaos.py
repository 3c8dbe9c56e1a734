"""A transparent proxy for the connections of its network namespace, which loses, repeats and delays whole
messages of executors and the AM while it is told to, and slows down and breaks connections to some servers.

    chaos = Chaos(seed); await chaos.open(); chaos.rate = 0.3 ... chaos.rate = 0

nft redirects what is connected to it; its own connections carry a mark by which they are let through.
Below HTTP, TCP repairs what a network does; a message is lost when its connection breaks. So that is
what is done here: before the request is passed on (it never arrived), after that (it arrived, the
answer did not), or the request arrives twice.
"""

import asyncio
import random
import socket
import struct

MARK = 7
SO_ORIGINAL_DST = 80
MESSAGE_CAP = 16 << 20
EVERY_PORT = "1-65535"
PIECE = 65536
RULES = """
table ip chaos {
  chain out {
    type nat hook output priority -100;
    meta mark %d accept
    ip daddr 127.0.0.0/8 tcp dport { %s } tcp dport != %d redirect to :%d
  }
}
"""


async def nft(rules):
    child = await asyncio.create_subprocess_exec("nft", "-f", "-", stdin=asyncio.subprocess.PIPE)
    await child.communicate(rules.encode())
    if child.returncode:
        raise OSError(f"nft refuses {rules}")


async def connect(address):
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
    await asyncio.get_running_loop().sock_connect(sock, address)
    return await asyncio.open_connection(sock=sock, limit=MESSAGE_CAP)


async def read_message(reader):
    """Head and body as they came. b"": the connection has ended."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head + (await reader.readexactly(length) if length else b"")


class Chaos:
    def __init__(self, seed, servers=()):
        self.dice = random.Random(seed)
        self.rate = 0  # of messages that something happens to
        self.servers = servers  # ports, of which bytes are passed on, not messages
        self.pause_s = 0  # before each piece of what is sent to these
        self.break_rate = 0  # of these pieces, before which the connection breaks
        self.port = 0
        self.serving = set()  # the loop itself holds no task
        self.counts = {"lost requests": 0, "lost answers": 0, "repeated requests": 0, "delayed": 0}

    async def open(self, ports=EVERY_PORT):
        """`ports`: of the connections that pass through the proxy, as nft writes them."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=MESSAGE_CAP)
        self.port = server.sockets[0].getsockname()[1]
        await nft(RULES % (MARK, ports, self.port, self.port))

    async def serve(self, reader, writer):
        raw = writer.get_extra_info("socket").getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
        port, address = struct.unpack("!2xH4s8x", raw)
        target = (socket.inet_ntoa(address), port)
        self.serving.add(asyncio.current_task())
        try:
            relay = self.relay_bytes if port in self.servers else self.relay
            await relay(reader, writer, target)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            self.serving.discard(asyncio.current_task())
        writer.transport.abort()

    async def relay(self, reader, writer, target):
        up_reader, up_writer = await connect(target)
        answers = asyncio.ensure_future(self.pass_answers(up_reader, writer))
        try:
            while message := await read_message(reader):
                if message.startswith(b"POST /v1/tasks/") and self.dice.random() < self.rate:
                    if await self.disturb(message, target, answers):
                        return
                up_writer.write(message)
                await up_writer.drain()
        finally:
            answers.cancel()
            up_writer.transport.abort()

    async def pass_answers(self, reader, writer):
        try:
            while data := await reader.read(PIECE):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def relay_bytes(self, reader, writer, target):
        up_reader, up_writer = await connect(target)
        answers = asyncio.ensure_future(self.pass_answers(up_reader, writer))
        try:
            while data := await reader.read(PIECE):
                if self.dice.random() < self.break_rate:
                    return
                await asyncio.sleep(self.pause_s)
                up_writer.write(data)
                await up_writer.drain()
            up_writer.write_eof()
            await answers
            await writer.wait_closed()
        finally:
            answers.cancel()
            up_writer.transport.abort()

    async def disturb(self, message, target, answers):
        """True: the connection is to break."""
        what = self.dice.choice(list(self.counts))
        self.counts[what] += 1
        if what == "delayed":
            await asyncio.sleep(self.dice.uniform(0.01, 0.4))
            return False
        if what == "lost requests":
            return True
        _, once = await connect(target)
        once.write(message)
        await once.drain()
        if what == "repeated requests":
            await asyncio.sleep(self.dice.uniform(0, 0.05))
            once.transport.abort()
            return False
        answers.cancel()
        await asyncio.sleep(0.02)
        once.transport.abort()
        return True
