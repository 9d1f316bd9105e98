"""Scrapy's own scheduler with JOBDIR, nothing else of it: what a crawl that must survive a restart is told to use.

    scrapy_queue.py fill JOBDIR URLS        takes URLS in, closes properly
    scrapy_queue.py fill-and-die JOBDIR N   the same, killed (-9) in place of closing
    scrapy_queue.py drain JOBDIR            takes all out, prints how many
"""

import os
import signal
import sys

from scrapy.core.scheduler import Scheduler
from scrapy.http import Request
from scrapy.spiders import Spider
from scrapy.utils.test import get_crawler


class Queue(Spider):
    name = "queue"


def main(action, jobdir, count=0):
    crawler = get_crawler(Queue, {"JOBDIR": jobdir, "LOG_ENABLED": False})
    crawler.spider = spider = Queue.from_crawler(crawler)
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(spider)
    if action == "drain":
        done = 0
        while scheduler.next_request() is not None:
            done += 1
        print(done)
    for i in range(count):
        url = "http://www.example.org/docs/section%04d/page-%08d.html" % (i // 1000, i)
        scheduler.enqueue_request(Request(url))
    if action == "fill-and-die":
        os.kill(os.getpid(), signal.SIGKILL)
    scheduler.close("finished")


main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
