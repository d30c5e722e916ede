"""The codes of findings: what each means, how grave it is, and which text says so.

``docs/reference/lint-codes.rst`` shows each code with an example of what it reports and of what
it does not; tests keep that page equal to this table.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Severity = Literal["error", "warning", "information"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "information")
"""From the gravest to the least.

Error: crawlers do not do what the file says. Warning: some do not, or the file hardly says what is
meant. Information: nothing has to be changed.
"""

_RFC: Final = "RFC 9309 section "
_HABIT: Final = "habit"
_USAGE: Final = "draft-ietf-aipref-attach-05"
_VOCABULARY: Final = "draft-ietf-aipref-vocab-08"
_SIGNAL: Final = "draft-romm-aipref-contentsignals-00"


class Code(NamedTuple):
    """A code: its name, its usual severity, what it means in one sentence, and its source.

    ``source`` is a section of RFC 9309, another published text, or "habit": what crawlers and
    sites do although no text says so.
    """

    name: str
    severity: Severity
    meaning: str
    source: str


_ALL: Final = (
    Code(
        "agent-digit",
        "information",
        "The name of a crawler holds a digit. A product token has letters, - and _ only; Google's "
        "parser cuts the name there, most others read all of it.",
        _RFC + "2.2.1",
    ),
    Code(
        "agent-not-a-token",
        "warning",
        "The value of a user-agent line is not a product token, so that only its beginning counts.",
        _RFC + "2.2.1",
    ),
    Code(
        "blank-line-in-group",
        "information",
        "A blank line stands within a group. It ends the group for crawlers that follow the "
        "documents of 1994 and 1996, and for no others.",
        _RFC + "2.2",
    ),
    Code(
        "byte-order-mark",
        "information",
        "The file begins with a byte order mark. Parsers that do not skip it lose the first line.",
        _RFC + "2.2",
    ),
    Code(
        "comment-in-path",
        "warning",
        "A # within a path begins a comment, so that the rest of the path does not count.",
        _RFC + "2.2.3",
    ),
    Code(
        "content-signal-unknown-label",
        "warning",
        "A Content-Signal names a signal that is not defined: search, ai-input, ai-train and use "
        "are.",
        _SIGNAL,
    ),
    Code(
        "content-signal-unknown-value",
        "warning",
        "A signal of Content-Signal has no value, or one that is not defined for it.",
        _SIGNAL,
    ),
    Code(
        "content-usage-does-not-parse",
        "warning",
        "A Content-Usage value is not a structured-field dictionary, so that all of it counts as "
        "unknown.",
        _USAGE,
    ),
    Code(
        "content-usage-unknown-label",
        "warning",
        "A Content-Usage value names a category that the vocabulary lacks: train-ai, ai-use and "
        "search are known.",
        _VOCABULARY,
    ),
    Code(
        "content-usage-unknown-value",
        "warning",
        "A category of Content-Usage has a value other than y and n, and counts as unknown.",
        _VOCABULARY,
    ),
    Code(
        "control-character",
        "warning",
        "A line holds a control character or an invisible one, which counts as part of the value.",
        _RFC + "2.2",
    ),
    Code(
        "dollar-inside",
        "information",
        "A $ that is not the last character of a path stands for itself.",
        _RFC + "2.2.3",
    ),
    Code("empty-file", "information", "The file says nothing: all is allowed.", _RFC + "2.3.1.1"),
    Code(
        "group-read-two-ways",
        "warning",
        "Between two user-agent lines stands something that is not a rule. By RFC 9309 both belong "
        "to one group and share the rules that follow; other readers see two groups.",
        _RFC + "2.1",
    ),
    Code(
        "group-repeated",
        "information",
        "A second group for the same crawler. By RFC 9309 both count together; some crawlers read "
        "the first alone.",
        _RFC + "2.2.1",
    ),
    Code(
        "group-without-rules",
        "information",
        "A group names a crawler and has no rule: that crawler may fetch everything, whatever the "
        "group of * says.",
        _RFC + "2.2.1",
    ),
    Code(
        "html-not-text",
        "error",
        "The file is a page of HTML. Its text is read as rules all the same.",
        _RFC + "2.3",
    ),
    Code(
        "key-not-standard",
        "information",
        "A record that RFC 9309 does not define. Some crawlers read it, others pass it by.",
        _RFC + "2.2.4",
    ),
    Code(
        "key-without-effect",
        "warning",
        "A record that no crawler is known to read.",
        _HABIT,
    ),
    Code(
        "license-not-absolute",
        "warning",
        "The value of License is not an absolute URL.",
        "RSL 1.0",
    ),
    Code("license-not-https", "warning", "The URL of License is not an https one.", "RSL 1.0"),
    Code(
        "line-not-understood",
        "warning",
        "A line has no key that is known, and no colon.",
        _RFC + "2.2",
    ),
    Code(
        "line-too-long",
        "warning",
        "A line is longer than 16,663 octets. Google's parser ignores what lies behind them.",
        _HABIT,
    ),
    Code(
        "missing-colon",
        "warning",
        "A key and its value have no colon between them. Lenient crawlers read the line, others "
        "pass it by.",
        _RFC + "2.2",
    ),
    Code(
        "misspelt-key",
        "warning",
        "A key is misspelt. Lenient crawlers may read the line, others pass it by.",
        _RFC + "2.2.4",
    ),
    Code(
        "not-utf-8",
        "warning",
        "The file is not encoded in UTF-8.",
        _RFC + "2.3",
    ),
    Code(
        "over-500-kib",
        "warning",
        "The file is larger than 500 KiB. Crawlers need not read what lies behind that.",
        _RFC + "2.5",
    ),
    Code(
        "path-cannot-match",
        "error",
        "A path begins with neither / nor *, so that the rule matches nothing.",
        _RFC + "2.2.2",
    ),
    Code(
        "rule-before-group",
        "error",
        "A line that needs a group stands before the first user-agent line, and is ignored.",
        _RFC + "2.2.1",
    ),
    Code(
        "rule-without-effect",
        "information",
        "A rule changes no verdict: without it the crawlers of its group may fetch the same URLs. "
        "A warning where a disallow rule is overruled altogether.",
        _RFC + "2.2.2",
    ),
    Code(
        "signal-before-group",
        "warning",
        "A usage preference stands before the first user-agent line. Whom it is for is undefined.",
        _SIGNAL,
    ),
    Code(
        "sitemap-not-absolute",
        "warning",
        "The value of Sitemap is not an absolute URL.",
        "sitemaps.org",
    ),
    Code(
        "value-unreadable",
        "warning",
        "A value is not what its key calls for, so that the line is ignored.",
        _HABIT,
    ),
)

CODES: Final = {code.name: code for code in _ALL}
"""Every code by its name, in alphabetical order."""
