"""The directive ``picture``: a drawing of ``docs/pictures``, as part of the page.

A drawing within the page takes the colours of the page, light or dark. One that is only linked
could not.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

PICTURES = Path(__file__).parent.parent / "pictures"


class Picture(SphinxDirective):
    """``.. picture:: NAME`` with ``:alt:``, which is required, and a caption."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return a figure."""
        file = PICTURES / f"{self.arguments[0]}.svg"
        self.env.note_dependency(str(file))
        alt = " ".join(self.options["alt"].split())
        svg = file.read_text("utf-8").replace("<svg ", f'<svg aria-label="{escape(alt)}" ', 1)
        figure = nodes.figure("", nodes.raw("", svg, format="html"), classes=["picture"])
        if self.content:
            words, messages = self.state.inline_text(" ".join(self.content), self.lineno)
            figure += [nodes.caption("", "", *words), *messages]
        return [figure]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
