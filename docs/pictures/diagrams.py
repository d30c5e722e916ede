"""The diagrams: how a request makes its way, what is known of a site, and how waiting goes."""

from __future__ import annotations

from docs.pictures.drawing import ACCENT, BAD, FAINT, GOOD, Drawing


def request() -> Drawing:
    """The way of a request through the gate."""
    d = Drawing(760, 380)
    d.box(90, 60, 140, 52, "a request\nreaches the gate", edge=ACCENT)
    d.box(310, 60, 150, 52, "are its rules\nin memory, fresh?")
    d.box(310, 190, 150, 52, "waits for rules")
    d.box(90, 190, 140, 52, "store, then\none fetch for all")
    d.box(530, 60, 130, 52, "do they\nallow it?")
    d.box(530, 190, 130, 52, "may it go now?")
    d.box(310, 310, 150, 52, "waits for its turn")
    d.box(530, 310, 130, 52, "goes on to\nthe downloader", edge=GOOD)
    d.box(690, 60, 110, 52, "Robots-\nForbidden", edge=BAD)
    d.box(90, 310, 140, 52, "Robots-\nUnreachable", edge=BAD)
    d.arrow((160, 60), (235, 60))
    d.arrow((385, 60), (465, 60))
    d.text(424, 49, "yes", colour=FAINT)
    d.arrow((310, 86), (310, 164))
    d.text(328, 124, "no", colour=FAINT)
    d.arrow((235, 182), (160, 182))
    d.arrow((160, 198), (235, 198))
    d.arrow((385, 184), (425, 184), (425, 74), (465, 74))
    d.text(418, 130, "rules", anchor="end", colour=FAINT)
    d.arrow((90, 216), (90, 284), colour=BAD)
    d.text(98, 250, "the site fails", anchor="start", colour=FAINT)
    d.arrow((595, 60), (635, 60), colour=BAD)
    d.text(614, 49, "no", colour=FAINT)
    d.arrow((530, 86), (530, 164))
    d.text(550, 124, "yes", colour=FAINT)
    d.arrow((530, 216), (530, 284), colour=GOOD)
    d.text(550, 250, "yes", colour=FAINT)
    d.arrow((465, 204), (425, 204), (425, 250), (310, 250), (310, 284))
    d.text(368, 240, "no", colour=FAINT)
    d.arrow((385, 310), (465, 310), colour=GOOD)
    d.text(310, 358, "for the pace of its host, room in its slot, a free place", colour=FAINT)
    return d


def entry() -> Drawing:
    """The states of what is known of a site."""
    d = Drawing(760, 300)
    d.box(80, 90, 120, 56, "unknown\nwait", edge=FAINT)
    d.box(280, 90, 130, 56, "fresh\nuse it", edge=GOOD)
    d.box(480, 90, 130, 56, "ageing\nuse it, refresh", edge=GOOD)
    d.box(670, 90, 120, 56, "expired\nwait", edge=FAINT)
    d.box(280, 230, 150, 56, "failing, with a copy\nfollow the copy", edge=GOOD)
    d.box(560, 230, 160, 56, "failing, without one\ndisallow all", edge=BAD)
    d.arrow((140, 90), (215, 90))
    d.text(178, 70, "answer", colour=FAINT)
    d.arrow((345, 90), (415, 90))
    d.text(380, 70, "90 % of\nits life", colour=FAINT)
    d.arrow((545, 90), (610, 90))
    d.text(578, 70, "its life\nis over", colour=FAINT)
    d.arrow((460, 62), (460, 26), (290, 26), (290, 62), colour=GOOD)
    d.arrow((670, 62), (670, 14), (270, 14), (270, 62), colour=GOOD)
    d.text(375, 38, "an answer", colour=FAINT)
    d.arrow((480, 118), (480, 150), (310, 150), (310, 202), colour=BAD)
    d.arrow((670, 118), (670, 164), (330, 164), (330, 202), colour=BAD)
    d.text(440, 181, "a failed fetch", colour=FAINT)
    d.arrow((80, 118), (80, 284), (520, 284), (520, 258), colour=BAD)
    d.text(170, 272, "a failed fetch", colour=FAINT)
    d.arrow((355, 230), (480, 230), colour=BAD)
    d.text(418, 216, "copy too old", colour=FAINT)
    d.arrow((250, 202), (250, 118), colour=GOOD)
    d.text(200, 164, "an answer", colour=FAINT)
    d.arrow((640, 230), (735, 230), (735, 5), (250, 5), (250, 62), colour=GOOD)
    return d


def waiting_states() -> Drawing:
    """The states of a request that waits."""
    d = Drawing(760, 206)
    for x, words in (
        (75, "for rules"),
        (245, "ready"),
        (415, "in transit"),
        (570, "leaving"),
        (700, "over"),
    ):
        d.box(x, 76, 96, 44, words, edge=ACCENT if words != "over" else FAINT)
    d.arrow((123, 76), (197, 76))
    d.text(160, 56, "rules\nallow it", colour=FAINT)
    d.arrow((293, 76), (367, 76))
    d.text(330, 56, "let go\nby a pass", colour=FAINT)
    d.arrow((463, 76), (522, 76))
    d.text(492, 56, "down-\nloaded", colour=FAINT)
    d.arrow((395, 54), (395, 26), (245, 26), (245, 54))
    d.text(320, 18, "too late", colour=FAINT)
    d.arrow((618, 76), (652, 76))
    d.arrow((75, 98), (75, 166), (190, 166), colour=BAD)
    d.text(84, 136, "the crawl stops", anchor="start", colour=FAINT)
    d.box(285, 166, 186, 44, "back to the scheduler,\nor an error")
    d.arrow((245, 98), (245, 144), colour=BAD)
    d.arrow((415, 98), (415, 166), (700, 166), (700, 98))
    d.text(555, 156, "answered from a cache", colour=FAINT)
    return d


def waiting() -> Drawing:
    """A paced host beside two that ask for nothing."""
    d = Drawing(760, 210)
    left, second = 130.0, 50.0
    hosts = {
        "4 s apart": [(0.0, 0.8), (4.8, 1.2), (10.0, 0.6)],
        "no pace": [(0.0, 0.9), (1.0, 0.7), (1.8, 1.1), (3.0, 0.9), (4.0, 0.8), (4.9, 1.3)],
        "no pace, too": [(0.2, 1.4), (1.7, 0.8), (2.6, 1.5), (4.2, 1.1), (5.4, 0.9), (6.4, 1.2)],
    }
    for row, (name, requests) in enumerate(hosts.items()):
        y = 40 + 48 * row
        d.text(left - 16, y + 10, name, anchor="end")
        d.line((left, y + 10), (left + 12 * second, y + 10), dashed=True)
        for start, length in requests:
            colour = ACCENT if row == 0 else FAINT
            d.bar(left + start * second, y, length * second, 20, colour=colour)
    for end, start in ((0.8, 4.8), (6.0, 10.0)):
        middle = left + (end + start) / 2 * second
        d.text(middle, 26, "4 s", colour=FAINT)
        d.arrow((middle + 14, 26), (left + start * second, 26), colour=FAINT)
        d.arrow((middle - 14, 26), (left + end * second, 26), colour=FAINT)
    for second_number in range(0, 13, 2):
        d.text(left + second_number * second, 190, f"{second_number} s", colour=FAINT)
    return d


DIAGRAMS = (request, entry, waiting_states, waiting)
