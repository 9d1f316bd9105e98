"""The robot's work done with Scrapy: every url of a list into a file of its own, with its md5."""

import hashlib
import os

import scrapy


class Files(scrapy.Spider):
    name = "files"
    custom_settings = {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
    }

    def start_requests(self):
        with open(self.urls) as urls:
            for line in urls:
                yield scrapy.Request(line.strip(), dont_filter=True)

    def parse(self, response):
        hashlib.md5(response.body).hexdigest()
        name = "/".join(response.url.split("/")[4:])
        with open(os.path.join(self.out, name), "wb") as file:
            file.write(response.body)
