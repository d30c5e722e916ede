"""A project whose spiders obey robots.txt: the line that does it is ADDONS."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]

# The whole plugin: ROBOTSTXT_OBEY is on, and scrapy_rep stands in the place of Scrapy's middleware.
ADDONS = {"scrapy_rep.Addon": 100}

# Who we are. The product token ("examplebot") names our group in every robots.txt.
USER_AGENT = "examplebot/1.0 (+https://example.org/examplebot)"
ROBOTSTXT_USER_AGENT = "examplebot"

# Little on the screen but the table. At DEBUG there is one line for each forbidden request.
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False
