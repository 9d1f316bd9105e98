#!/usr/bin/env python3
"""records.py: prints the records of a spider, a line each, as "lccrec --tsv" does. lcc-spider(5) describes the record.

    python3 records.py <stream

Exit status 65 at the first byte that cannot be of a record, with its offset. A document is never held in memory.
"""
import re
import struct
import sys
import zlib

REASONS = {0, 2, *range(10, 18), *range(20, 24), *range(30, 37), *range(40, 46), *range(50, 56), 60, 63}
# First and last status of a row, the byte of the first, the byte of all others of its hundred.
ROWS = ((100, 103, 1, 9), (200, 208, 20, 19), (300, 308, 30, 39), (400, 451, 40, 92), (500, 511, 100, 119))
HEAD = struct.Struct("!IBBBBIHHI")
SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*")


class Records:
    def __init__(self, stream):
        self.stream = stream
        self.offset = 0

    def bad(self, at, what):
        sys.stdout.flush()
        print(f"records.py: byte {at}: {what}", file=sys.stderr)
        sys.exit(65)

    def get(self, size, may_end=False):
        """Exactly `size` bytes; none where the stream ends before the first of them, if it may."""
        data = self.stream.read(size)
        self.offset += len(data)
        if len(data) < size and (data or not may_end):
            self.bad(self.offset, "the stream ends inside of a record")
        return data

    def check_scheme(self, url, at):
        found = SCHEME.match(url)
        length = found.end() if found else 0
        if length == 0 or url[length : length + 1] != b":":
            self.bad(at + length, "the url begins with no scheme")

    def __iter__(self):
        while head := self.get(HEAD.size, may_end=True):
            start = self.offset - HEAD.size
            doc_id, success, end, http, padding, ms, url_len, new_len, doc_len = HEAD.unpack(head)
            if success > 1:
                self.bad(start + 4, "success is not 0 or 1")
            if end & 0x3F not in REASONS:
                self.bad(start + 5, "the reason is reserved")
            if padding != 0:
                self.bad(start + 7, "the padding is not 0")
            if url_len == 0:
                self.bad(start + 12, "there is no url")
            urls = self.get(url_len + new_len)
            url, new = urls[:url_len], urls[url_len:]
            self.check_scheme(url, start + 20)
            if new:
                self.check_scheme(new, start + 20 + url_len)
            crc, left = 0, doc_len
            while left > 0:
                part = self.get(min(left, 65536))
                crc = zlib.crc32(part, crc)
                left -= len(part)
            yield doc_id, success, end, http, ms, doc_len, crc, url, new


def status(byte):
    alone = {0: "-", 29: "226", 253: "0.9", 254: "other"}
    if byte in alone:
        return alone[byte]
    for first, last, own, others in ROWS:
        if byte == others:
            return f"{first // 100}xx"
        if own <= byte <= own + last - first:
            return str(first + byte - own)
    return f"#{byte}"


def printed(url):
    return "".join(chr(c) if 0x21 <= c <= 0x7E else f"%{c:02X}" for c in url)


for doc_id, success, end, http, ms, doc_len, crc, url, new in Records(sys.stdin.buffer):
    flags = ("-", "c", "r", "rc")[end >> 6]
    fields = doc_id, success, end & 0x3F, flags, status(http), ms, doc_len, f"{crc:08x}", printed(url), printed(new)
    print(*fields, sep="\t")
