"""What decision logs say, summed up, drawn, and laid out as one page of HTML.

Octets and values in, text out: no clock, no network, no log.
"""
