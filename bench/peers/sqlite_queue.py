"""A queue as one would write it in an afternoon: a table in SQLite, durable (WAL, synchronous=FULL), unique urls.

    sqlite_queue.py fill DB URLS            thousand rows a transaction
    sqlite_queue.py fill-and-die DB URLS    the same, killed (-9) in place of closing
    sqlite_queue.py drain DB                hundred at a time out of the table, prints how many
"""

import os
import signal
import sqlite3
import sys

A_TRANSACTION = 1000
AT_A_TIME = 100


def main(action, path, count=0):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE IF NOT EXISTS queue(id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, len INTEGER, mtime TEXT)")
    if action == "drain":
        done = 0
        while True:
            rows = db.execute("SELECT id FROM queue ORDER BY id LIMIT ?", (AT_A_TIME,)).fetchall()
            if not rows:
                break
            db.execute("BEGIN IMMEDIATE")
            db.executemany("DELETE FROM queue WHERE id = ?", rows)
            db.execute("COMMIT")
            done += len(rows)
        print(done)
    for first in range(0, count, A_TRANSACTION):
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            "INSERT OR IGNORE INTO queue(url, len, mtime) VALUES (?, ?, ?)",
            (
                ("http://www.example.org/docs/section%04d/page-%08d.html" % (i // 1000, i), 4096, "2026-11-20T10:13:01Z")
                for i in range(first, min(first + A_TRANSACTION, count))
            ),
        )
        db.execute("COMMIT")
    if action == "fill-and-die":
        os.kill(os.getpid(), signal.SIGKILL)
    db.close()


main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
