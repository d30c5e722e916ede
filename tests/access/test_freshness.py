"""How long a response may be used."""

from scrapy_rep.access.freshness import lifetime, retry_after
from tests.rows import rows

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
DATE = b"Tue, 14 Nov 2023 22:13:20 GMT"
IN_AN_HOUR = b"Tue, 14 Nov 2023 23:13:20 GMT"
FAR_OFF = b"Tue, 14 Nov 999999 23:13:20 GMT"


def cache(value: bytes, **more: bytes) -> dict[str, bytes | None]:
    """A Cache-Control, and other fields."""
    return {"Cache-Control": value, **more}


@rows(
    "seconds, responses",
    (None, [{}, cache(b"s-maxage=10"), cache(b"x-max-age=10")]),
    (None, [cache(b"max-age=nonsense"), cache(b"max-age=-1")]),
    (3600, [cache(b"max-age=3600"), cache(b"public, MAX-AGE = 3600"), {"Expires": IN_AN_HOUR}]),
    (3600, [{"Expires": b"Tue, 14 Nov 2023 23:13:20 -0000"}]),
    (60, [cache(b'max-age="60"'), cache(b"max-age=00000000000060")]),
    (60, [cache(b"max-age=60", Age=b"-5"), cache(b"max-age=60", Expires=DATE)]),
    (3000, [cache(b"max-age=3600", Age=b"600")]),
    (0, [cache(b"max-age=60", Age=b"600"), cache(b"max-age=3600", Age=b"9" * 11)]),
    (0, [cache(b"no-cache"), cache(b"private, no-store"), cache(b"max-age=60, no-cache")]),
    (0, [cache(b"no-cache, max-age=86400"), cache(b"max-age=86400,no-store")]),
    (0, [cache(b"No-Store, max-age=86400"), cache(b'max-age=86400, no-cache="Set-Cookie"')]),
    (0, [cache(b"no-cache", Expires=IN_AN_HOUR), {"Expires": IN_AN_HOUR, "Date": IN_AN_HOUR}]),
    (0, [{"Expires": date} for date in (b"0", b"never", b"\xff\xfe", FAR_OFF)]),
    (86_400, [cache(b"max-age=86400, no-cacheable, x-no-store")]),
    (2**31, [cache(b"max-age=" + b"9" * 5000)]),
    (3540, [{"Expires": IN_AN_HOUR, "Date": DATE, "Age": b"60"}]),
)
def test_a_response_says_how_long_it_is_fresh(
    seconds: float | None, responses: list[dict[str, bytes | None]]
) -> None:
    """RFC 9111 section 4.2.1: max-age first, then Expires less Date; Age is taken off.

    With no-cache or no-store none of them counts (sections 5.2.2.4 and 5.2.2.5), and a number that
    is too large to be kept is as large as can be (section 1.2.2).
    """
    assert [lifetime(headers, NOW) for headers in responses] == [seconds] * len(responses)


@rows(
    "seconds, values",
    (120, [b"120"]),
    (0, [b" 0 ", DATE, b"Mon, 14 Nov 1994 22:13:20 GMT"]),
    (3600, [IN_AN_HOUR]),
    (None, [None, b"", b"soon", b"-1", b"1e9", b"1" * 10 + b"x", "٣".encode()]),
    (86_400, [b"86400"]),
    (2**31 - 1, [b"2147483647"]),
    (2**31, [b"9999999999", b"99999999999", b"9" * 5000]),
    (7, [b"0" * 5000 + b"7"]),
)
def test_retry_after_is_seconds_or_date(seconds: float | None, values: list[bytes | None]) -> None:
    """RFC 9110 section 10.2.3: with any number of digits."""
    assert [retry_after(value, NOW) for value in values] == [seconds] * len(values)
