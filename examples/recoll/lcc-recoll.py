#!/usr/bin/python3
"""External indexer of Recoll: `lcc-recoll.py CONFDIR <DELTA`, lines of lccq --format=jsonl --text=all on standard input.

Documents are known by the id of their row (udi lcc:ID), so a page whose URL changed leaves no old entry.
"""
import json
import sys

from recoll import recoll


def document(row):
    doc = recoll.Doc()
    doc.url = row["burl"]
    doc.title = row["title"]
    doc.text = row["text"]
    doc.mimetype = row["mimetype"]
    doc.mtime = str(row["fetched_time"])
    doc.fbytes = doc.dbytes = str(row["len"])
    # Recoll ignores a document whose signature it knows: the number of the change.
    doc.sig = str(row["seq"])
    doc.rclbes = "LCC"
    return doc


def main():
    database = recoll.connect(confdir=sys.argv[1], writable=True)
    for line in sys.stdin:
        row = json.loads(line)
        udi = f"lcc:{row['id']}"
        if row["op"] == "delete" or row["burl"] == "" or row["text"] is None:
            database.delete(udi)
        else:
            database.addOrUpdate(udi, document(row))
    database.close()


main()
