#!/usr/bin/python3
"""Lines of lccq --format=jsonl --text=all on standard input → a mail a page, below the directory given, for notmuch.

A page is the file ID.SEQ (row, change), a new file and a new Message-ID with each change: notmuch looks at a file once.
"""
import email.message
import email.policy
import email.utils
import json
import os
import sys


def mail(row):
    message = email.message.EmailMessage(policy=email.policy.SMTP.clone(linesep="\n"))
    message["From"] = "LCC <lcc@localhost>"
    message["Subject"] = " ".join(row["title"].split()) or row["burl"]
    message["Date"] = email.utils.formatdate(row["fetched_time"])
    message["Message-ID"] = f"<{row['id']}.{row['seq']}@lcc>"
    message.set_content(row["text"], cte="base64")
    # As it is: a header that is folded or encoded would be no URL.
    return f"X-LCC-URL: {row['burl']}\n".encode("ascii", "replace") + message.as_bytes()


def main():
    folder = sys.argv[1]
    known = {}
    for name in os.listdir(folder):
        known.setdefault(name.split(".")[0], set()).add(name)
    for line in sys.stdin:
        row = json.loads(line)
        key = str(row["id"])
        name = f"{row['id']}.{row['seq']}"
        old = known.pop(key, set())
        if row["op"] != "delete" and row["burl"] != "" and row["text"] is not None:
            with open(os.path.join(folder, "..", "tmp", name), "wb") as file:
                file.write(mail(row))
            os.rename(os.path.join(folder, "..", "tmp", name), os.path.join(folder, name))
            known[key] = {name}
            old.discard(name)
        for gone in old:
            os.remove(os.path.join(folder, gone))


main()
