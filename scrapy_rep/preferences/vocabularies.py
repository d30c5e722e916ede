"""The vocabularies in which sites say what pages may be used for, and how each is written.

None of them is a finished standard; the guide lists them with number and date. Text has one
character for each octet (Latin-1). At most 8 KiB of a value are read; real ones are far shorter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

TRAIN_AI: Final = "train-ai"
AI_USE: Final = "ai-use"
SEARCH: Final = "search"
TDM: Final = "tdm"
CATEGORIES: Final = (TRAIN_AI, AI_USE, SEARCH, TDM)
"""The categories of use: training of models, use by AI, search, text and data mining."""

ALLOWED: Final = "allowed"
DISALLOWED: Final = "disallowed"
UNKNOWN: Final = "unknown"

# The names of the vocabularies.
CONTENT_USAGE: Final = "content-usage"
CONTENT_SIGNAL: Final = "content-signal"
TDMREP: Final = "tdmrep"
META: Final = "meta"
RSL: Final = "rsl"
PRODUCT_TOKEN: Final = "product-token"  # noqa: S105 (a crawler's name)

# The labels of TDMRep: the names of its header fields and metas.
RESERVATION: Final = "tdm-reservation"
POLICY: Final = "tdm-policy"

# The sources of statements and licences.
ROBOTS_TXT: Final = "robots.txt"
HEADER: Final = "header"
META_ELEMENT: Final = "meta"
HTML: Final = "html"

MOST_OCTETS: Final = 8_192
"""The most octets of a value that are read. The parser of structured fields takes 6 ms for them,
and 45 ms for 64 KiB."""

_USAGE: Final = {"y": ALLOWED, "n": DISALLOWED}
_SIGNALS: Final = {"yes": ALLOWED, "no": DISALLOWED}
_TERMS: Final = {"noai": TRAIN_AI, "noimageai": TRAIN_AI, "noml": TRAIN_AI}
_URL: Final = re.compile(r"https?://[^\s/?#\\<>\"]+(?:[/?#][!-~]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One label and its value as written.

    ``source`` is ``robots.txt``, ``header`` or ``meta``, and ``line`` the line of a robots.txt.
    ``answer`` is ``allowed``, ``disallowed`` or ``unknown``. If the text could not be read, the
    label is empty, and ``value`` is the text.
    """

    vocabulary: str
    label: str
    value: str
    answer: str
    source: str
    line: int | None = None

    @property
    def category(self) -> str | None:
        """The category that this counts for; None if it counts for none."""
        return VOCABULARIES[self.vocabulary].counts_for.get(self.label)


def content_usage(text: str, source: str, line: int | None = None) -> list[Statement]:
    """Return what the value of a ``Content-Usage`` says, without the path of a rule.

    draft-ietf-aipref-attach-05 and draft-ietf-aipref-vocab-08. The value is a Dictionary of RFC
    9651 section 3.2. ``y`` allows and ``n`` disallows a use; any other value, and a label that is
    not there, leaves it unknown. A value that is not a Dictionary says nothing at all.
    """
    import http_sf  # late, because it would take a third of the start-up time of the matcher

    unreadable = [Statement(CONTENT_USAGE, "", text, UNKNOWN, source, line)]
    if len(text) > MOST_OCTETS:
        return unreadable
    try:
        members: Any = http_sf.parse(text.encode("latin-1"), tltype="dictionary")
    except ValueError:
        return unreadable
    found = []
    for label, (value, _) in members.items():
        is_token = isinstance(value, http_sf.Token)  # the string "n" says nothing
        answer = _USAGE.get(str(value), UNKNOWN) if is_token else UNKNOWN
        written = http_sf.ser([(value, {})])
        found.append(Statement(CONTENT_USAGE, label, written, answer, source, line))
    return found


def path_and_expression(value: str) -> tuple[str, str]:
    """Split the value of a rule into its path, empty if there is none, and the rest.

    A value that begins with ``/`` begins with a path, which ends before the first space or tab.
    """
    if not value.startswith("/"):
        return "", value
    end = min([at for at in map(value.find, " \t") if at >= 0], default=len(value))
    return value[:end], value[end:].strip(" \t")


def content_signal(text: str, source: str, line: int | None = None) -> list[Statement]:
    """Return what the value of a ``Content-Signal`` says.

    Cloudflare writes such lines for its customers: ``search=yes, ai-input=no, ai-train=no,
    use=reference`` (draft-romm-aipref-contentsignals-00, expired, and the policy text that comes
    with the line). ``yes`` allows a use, ``no`` disallows it. The documents define no grammar, so
    members are read one by one, and an unreadable one does not affect the others. They define no
    header field either, so a field never allows a use: Cloudflare sends ``ai-train=yes`` with pages
    that it converts to Markdown, unless the site chose otherwise.
    """
    if len(text) > MOST_OCTETS:
        return [Statement(CONTENT_SIGNAL, "", text, UNKNOWN, source, line)]
    found = []
    for member in text.split(","):
        label, _, value = member.partition("=")
        label, value = label.strip(" \t").lower(), value.strip(" \t")
        answer = UNKNOWN
        if label in VOCABULARIES[CONTENT_SIGNAL].counts_for:
            answer = _SIGNALS.get(value.lower(), UNKNOWN)
        if answer == ALLOWED and source == HEADER:
            answer = UNKNOWN
        if label:
            found.append(Statement(CONTENT_SIGNAL, label, value, answer, source, line))
    return found


def tdmrep(reservations: Sequence[str], policies: Iterable[str], source: str) -> list[Statement]:
    """Return what the fields or the metas of a response say by TDMRep.

    TDM Reservation Protocol (W3C Community Group Final Report, 2024-05-10). Of several values, even
    if a proxy has joined them, a reservation prevails. A value that is too long to be read
    whole may hold one at its end, so it allows nothing. The third place, a file
    ``/.well-known/tdmrep.json``, is not read: it would cost one more request for each site.
    """
    text = ",".join(reservations)
    values = {value.strip() for value in text[:MOST_OCTETS].split(",")}
    answer = UNKNOWN
    if "1" in values:
        answer = DISALLOWED
    elif "0" in values and len(text) <= MOST_OCTETS:
        answer = ALLOWED
    found = []
    if reservations:
        found.append(Statement(TDMREP, RESERVATION, text[:MOST_OCTETS], answer, source))
    policy = next((text.strip() for text in policies if is_url(text.strip())), None)
    if policy is not None:
        found.append(Statement(TDMREP, POLICY, policy, UNKNOWN, source))
    return found


def is_url(text: str) -> bool:
    """Return True for an absolute http or https URL that is not too long."""
    return len(text) <= MOST_OCTETS and _URL.fullmatch(text) is not None


class Vocabulary(NamedTuple):
    """Where sites write a vocabulary, how it is read, and what its labels count for."""

    name: str
    """What statements call it."""
    counts_for: Mapping[str, str]
    """The category that a label counts for; other labels count for none."""
    line: str = ""
    """The key of its lines in a robots.txt."""
    has_path: bool = False
    """Whether such a line is a rule: it belongs to a group, and may begin with a path."""
    fields: tuple[str, ...] = ()
    """Its header fields, as a response keeps their names."""
    metas: tuple[str, ...] = ()
    """Each of its metas holds one of these in its name or content."""
    read: Callable[[str, str, int | None], list[Statement]] | None = None
    """Reads the value of a line or field; if None, the code that finds a value reads it."""


_ROWS: Final = (
    Vocabulary(
        CONTENT_USAGE,
        {"train-ai": TRAIN_AI, "ai-use": AI_USE, "search": SEARCH},
        line="Content-Usage",
        has_path=True,
        fields=("Content-Usage",),
        read=content_usage,
    ),
    Vocabulary(
        CONTENT_SIGNAL,
        {"ai-train": TRAIN_AI, "ai-input": AI_USE, "search": SEARCH},
        line="Content-Signal",
        fields=("Content-Signal",),
        read=content_signal,
    ),
    Vocabulary(
        TDMREP, {RESERVATION: TDM}, fields=("Tdm-Reservation", "Tdm-Policy"), metas=("tdm-",)
    ),
    Vocabulary(META, _TERMS, fields=("X-Robots-Tag",), metas=tuple(_TERMS)),
    Vocabulary(RSL, {}, line="License", fields=("Link",)),
    Vocabulary(PRODUCT_TOKEN, {category: category for category in CATEGORIES}),
)

VOCABULARIES: Final = {row.name: row for row in _ROWS}
"""All vocabularies. Whatever reads, searches, checks or names them goes by these rows.

The categories are a choice of this package. No document says that ``ai-input`` of one vocabulary
means ``ai-use`` of another. They are combined because a crawl needs one answer for each purpose;
the statements that led to an answer are kept beside it.
"""

LINES: Final = {row.line.lower(): row for row in _ROWS if row.line}
"""The vocabularies that have lines in a robots.txt, by their keys in lower case."""
