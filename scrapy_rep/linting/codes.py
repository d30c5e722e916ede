"""The codes of findings: what each means, how serious it is, and which text says so.

``docs/reference/lint-codes.rst`` says more about each code, with an example of what it reports and
one of what it does not; tests keep that page in step with this table.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Severity = Literal["error", "warning", "information"]
"""From the most serious to the least.

Error: crawlers do not do what the file says. Warning: some do not, or the file hardly says what is
meant. Information: nothing has to be changed.
"""

_RFC: Final = "RFC 9309 section "
_HABIT: Final = "habit"
_USAGE: Final = "draft-ietf-aipref-attach-05"
_VOCABULARY: Final = "draft-ietf-aipref-vocab-08"
_SIGNAL: Final = "draft-romm-aipref-contentsignals-00"


class Code(NamedTuple):
    """A code: its name, its usual severity, its source, and what it means in one sentence.

    ``source`` is a section of RFC 9309, another published text, or "habit": what crawlers and
    sites do although no text says so.
    """

    name: str
    severity: Severity
    source: str
    meaning: str


# fmt: off
_ALL: Final = (
    Code("agent-not-a-token", "warning", _RFC + "2.2.1",
         "The value of a user-agent line is not a product token: only its beginning counts."),
    Code("comment-in-path", "warning", _RFC + "2.2.3",
         "A # within a path begins a comment, so that the rest of the path does not count."),
    Code("content-signal-unknown-label", "warning", _SIGNAL,
         "A Content-Signal names a signal that is not defined."),
    Code("content-signal-unknown-value", "warning", _SIGNAL,
         "A signal of Content-Signal has no value, or one that is not defined for it."),
    Code("content-usage-does-not-parse", "warning", _USAGE,
         "A Content-Usage is not a structured-field dictionary: all of it counts as unknown."),
    Code("content-usage-unknown-label", "warning", _VOCABULARY,
         "A Content-Usage names a category that the vocabulary lacks."),
    Code("content-usage-unknown-value", "warning", _VOCABULARY,
         "A category of Content-Usage has a value other than y and n, and counts as unknown."),
    Code("control-character", "warning", _RFC + "2.2",
         "A line holds a control or an invisible character, which counts as part of the value."),
    Code("dollar-in-path", "information", _RFC + "2.2.3",
         "A $ before the end of a path is read as a character, not as the end."),
    Code("group-read-two-ways", "warning", _RFC + "2.1",
         "Between two user-agent lines stands something that is not a rule."),
    Code("group-without-rules", "information", _RFC + "2.2.1",
         "A group names a crawler and has no rule: that crawler may fetch everything."),
    Code("html-not-text", "error", _RFC + "2.3",
         "The file is a page of HTML."),
    Code("key-without-effect", "warning", _HABIT,
         "A record that no crawler is known to read."),
    Code("line-not-understood", "warning", _RFC + "2.2",
         "A line has no key that is known, and no colon."),
    Code("missing-colon", "warning", _RFC + "2.2",
         "A key and its value have no colon between them."),
    Code("misspelt-key", "warning", _RFC + "2.2.4",
         "A key is misspelt."),
    Code("not-utf-8", "warning", _RFC + "2.3",
         "The file is not encoded in UTF-8."),
    Code("over-500-kib", "warning", _RFC + "2.5",
         "The file is larger than 500 KiB."),
    Code("path-cannot-match", "error", _RFC + "2.2.2",
         "A path begins with neither / nor *, so that the rule matches nothing."),
    Code("rule-before-group", "error", _RFC + "2.2.1",
         "A line that needs a group stands before the first user-agent line, and is ignored."),
    Code("rule-without-effect", "information", _RFC + "2.2.2",
         "A rule changes no verdict."),
    Code("several-paths", "error", _RFC + "2.2.2",
         "A rule has several paths: they are read as one path, which matches none of them."),
    Code("signal-before-group", "warning", _SIGNAL,
         "A usage preference stands before the first user-agent line."),
    Code("sitemap-not-absolute", "warning", "sitemaps.org",
         "The value of Sitemap is not an absolute URL."),
    Code("value-unreadable", "warning", _HABIT,
         "A value is not what its key calls for, so that the line is ignored."),
)
# fmt: on

CODES: Final = {code.name: code for code in _ALL}
"""Every code by its name, in alphabetical order."""
