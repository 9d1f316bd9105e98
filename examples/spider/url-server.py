#!/usr/bin/env python3
"""A URL server for spiders, as lcc-spider(5) has it: url-server.py PORT FILE [TIMEOUT_UPDATE_MS]

Has the urls of FILE, one a line, fetched by the spiders that connect, and ends with 0 when all are done and no spider was
silent about a url for longer than Timeout_Update. Not polite: any number of urls of a host at a time. lccurld(8) is."""
import asyncio, collections, sys, time
from urllib.parse import urlsplit

PORT, UPDATE = int(sys.argv[1]), int(sys.argv[3] if len(sys.argv) > 3 else 10000) / 1000
waiting = collections.deque(enumerate(open(sys.argv[2]).read().split(), 1))
spiders, total, done, number, longest = [], len(waiting), 0, 0, 0.0

class Spider(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest, self.credit, self.out = transport, b"", 0, {}
        spiders.append(self)

    def data_received(self, data):
        global done, longest
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            word, _, operand = line.decode("ascii", "replace").rstrip("\r").partition(" ")
            if word == "GET" and operand.isdecimal() and 1 <= int(operand) <= 65535:
                self.credit = min(65535, self.credit + int(operand))
            elif word in ("WORKING", "DONE") and operand in self.out:  # of another transaction they mean nothing
                url, heard = self.out.pop(operand)
                longest = max(longest, time.monotonic() - heard)
                if word == "DONE": done += 1
                else: self.out[operand] = url, time.monotonic()
            elif word not in ("WORKING", "DONE", "ERR"):
                self.transport.write(b"ERR write GET, WORKING or DONE\n")
        send()

    def connection_lost(self, _):
        spiders.remove(self)
        waiting.extend(url for url, _ in self.out.values())  # others fetch them
        send()

def send():
    global number
    for spider in spiders:
        while spider.credit > 0 and waiting:
            url, number, spider.credit = waiting.popleft(), number + 1, spider.credit - 1
            spider.out[str(number)] = url, time.monotonic()
            host = urlsplit(url[1]).hostname
            spider.transport.write(f"{number} {url[0]} - {host} {url[1]}\n".encode())

async def main():
    global longest
    server = await asyncio.get_running_loop().create_server(Spider, "127.0.0.1", PORT)
    print("listening on port", server.sockets[0].getsockname()[1], flush=True)
    while done < total:
        await asyncio.sleep(UPDATE / 10)
        for spider in spiders:  # the first that are out are those of which nothing was heard for longest
            for name, (url, heard) in list(spider.out.items()):
                if time.monotonic() - heard < 3 * UPDATE: break
                longest = max(longest, time.monotonic() - heard)
                waiting.append(spider.out.pop(name)[0])
        send()
    for spider in list(spiders): spider.transport.close()
    print(f"{done} of {total} done; the longest silence about a url was {longest:.3f} s", flush=True)
    sys.exit(0 if longest <= UPDATE else 1)

asyncio.run(main())
