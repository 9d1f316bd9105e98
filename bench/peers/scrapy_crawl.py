"""A crawl with Scrapy's CrawlSpider: every link and what shows pages, each into a file."""

import os

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Crawl(CrawlSpider):
    name = "crawl"
    allowed_domains = ["127.0.0.1"]
    custom_settings = {
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
    }
    rules = (
        Rule(
            LinkExtractor(
                tags=("a", "area", "link", "img", "script", "object"),
                attrs=("href", "src", "data"),
                deny_extensions=[],
            ),
            callback="keep",
            follow=True,
        ),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [self.url]

    def keep(self, response):
        name = os.path.join(self.out, *response.url.split("?")[0].split("/")[3:])
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(response.body)
