"""The diagrams: how a request makes its way, what is known of a site, and how waiting goes."""

from __future__ import annotations

from docs.pictures.drawing import ACCENT, BAD, FAINT, GOOD, Drawing


def request() -> Drawing:
    """The way of a request through the scheduler and the gate."""
    d = Drawing(760, 380)
    d.box(90, 60, 140, 52, "the scheduler:\nis its site ready?", edge=ACCENT)
    d.box(310, 60, 150, 52, "the gate: are its\nrules in memory?")
    d.box(90, 190, 140, 52, "withheld")
    d.box(310, 190, 150, 52, "store, then\none fetch for all")
    d.box(530, 60, 130, 52, "do they\nallow it?")
    d.box(530, 190, 130, 52, "is its host\nfree?")
    d.box(530, 310, 130, 52, "the last step:\nits turn", edge=GOOD)
    d.box(310, 310, 150, 52, "the downloader", edge=GOOD)
    d.box(690, 60, 110, 52, "Robots-\nForbidden", edge=BAD)
    d.box(90, 310, 140, 52, "Robots-\nUnreachable", edge=BAD)
    d.arrow((160, 60), (235, 60))
    d.text(198, 49, "yes", colour=FAINT)
    d.arrow((80, 86), (80, 164))
    d.text(68, 124, "no", anchor="end", colour=FAINT)
    d.arrow((100, 164), (100, 86))
    d.text(112, 124, "ready", anchor="start", colour=FAINT)
    d.arrow((385, 60), (465, 60))
    d.text(424, 49, "yes", colour=FAINT)
    d.arrow((310, 86), (310, 164))
    d.text(328, 124, "no", colour=FAINT)
    d.arrow((235, 182), (160, 182))
    d.text(198, 172, "returned", colour=FAINT)
    d.arrow((310, 216), (310, 250), (90, 250), (90, 284), colour=BAD)
    d.text(200, 264, "the site fails", colour=FAINT)
    d.arrow((595, 60), (635, 60), colour=BAD)
    d.text(614, 49, "no", colour=FAINT)
    d.arrow((530, 86), (530, 164))
    d.text(550, 124, "yes", colour=FAINT)
    d.arrow((530, 216), (530, 284), colour=GOOD)
    d.text(550, 250, "yes", colour=FAINT)
    d.arrow((465, 198), (425, 198), (425, 150), (140, 150), (140, 164))
    d.text(425, 140, "no: returned", colour=FAINT)
    d.arrow((465, 310), (385, 310), colour=GOOD)
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
    """The states of a request."""
    d = Drawing(760, 250)
    d.box(65, 60, 110, 44, "in the base", edge=FAINT)
    d.box(290, 60, 110, 44, "handed out", edge=ACCENT)
    d.box(490, 60, 110, 44, "last step", edge=ACCENT)
    d.box(690, 60, 110, 44, "under way", edge=GOOD)
    d.box(180, 190, 130, 44, "withheld\nfor rules")
    d.box(340, 190, 130, 44, "withheld\nfor its turn")
    d.box(520, 190, 110, 44, "ready")
    d.arrow((120, 60), (235, 60))
    d.text(178, 49, "lacks nothing", colour=FAINT)
    d.arrow((345, 60), (435, 60))
    d.text(390, 49, "passes", colour=FAINT)
    d.arrow((545, 60), (635, 60), colour=GOOD)
    d.text(590, 49, "its turn", colour=FAINT)
    d.arrow((90, 82), (90, 120), (180, 120), (180, 168))
    d.text(110, 112, "lacks something", anchor="start", colour=FAINT)
    d.arrow((290, 82), (290, 120), (340, 120), (340, 168))
    d.text(350, 136, "returned", anchor="start", colour=FAINT)
    d.arrow((245, 190), (275, 190))
    d.arrow((405, 190), (465, 190))
    d.text(435, 180, "free", colour=FAINT)
    d.arrow((520, 168), (520, 100), (310, 100), (310, 82))
    d.text(528, 120, "goes first", anchor="start", colour=FAINT)
    d.arrow((180, 212), (180, 236), (40, 236), (40, 82), colour=BAD)
    d.text(110, 228, "a stop", colour=FAINT)
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
