"""Everything that scrapy_rep uses of Scrapy beyond what Scrapy documents.

Each undocumented name is an entry of one table, :data:`NAMES`. The other modules of the package
call functions that say what they want to know or to do. When a crawl starts, one check looks up
every name of the table. A name that is gone ends the crawl with one line, or switches off one
feature with one line. The crawl never changes silently.
"""

from scrapy_rep.scrapy_internals.check import Report
from scrapy_rep.scrapy_internals.inside import ScrapyInternals
from scrapy_rep.scrapy_internals.names import NAMES, Feature, PrivateName

__all__ = ["NAMES", "Feature", "PrivateName", "Report", "ScrapyInternals"]
