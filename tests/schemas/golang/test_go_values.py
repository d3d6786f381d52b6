"""Numbers, times, addresses, URLs, patterns and versions are read and written as in Go."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import fielderrors
from inkube.schemas.golang import gofloats, gotime, gourl, netip, regexp, rfc3339, semver, strconv


@pytest.mark.parametrize(
    ("value", "general", "fixed"),
    [
        (1.5, "1.5", "1.5"),
        (3.0, "3", "3"),
        (123456.0, "123456", "123456"),
        (1e6, "1e+06", "1000000"),
        (123456789.0, "1.23456789e+08", "123456789"),
        (0.0001, "0.0001", "0.0001"),
        (1e-5, "1e-05", "0.00001"),
        (-0.0, "-0", "-0"),
        (float("inf"), "+Inf", "+Inf"),
        (float("nan"), "NaN", "NaN"),
    ],
)
def test_doubles_are_written_with_their_shortest_digits(value: float, general: str, fixed: str):
    assert gofloats.format_general(value) == general
    assert gofloats.format_fixed(value) == fixed


@given(st.floats(allow_nan=False))
def test_a_written_double_reads_back(value: float):
    assert gofloats.parse_float(gofloats.format_general(value)) == value
    assert gofloats.parse_float(gofloats.format_fixed(value)) == value


@pytest.mark.parametrize("text", ["1e3", ".5", "5.", "+7", "0x1p-2", "1_0.5", "Infinity", "nan"])
def test_doubles_are_read_as_go_literals(text: str):
    assert isinstance(gofloats.parse_float(text), float)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1e", "0x1", "+nan", "1__0", "e5", ".", "1e400"])
def test_what_is_no_double_is_refused(text: str):
    with pytest.raises(ValueError, match=r"strconv\.ParseFloat"):
        gofloats.parse_float(text)


@pytest.mark.parametrize("text", ["", "1.0", " 1", "1_0", "٣", "9223372036854775808", "9" * 5000])
def test_what_is_no_integer_is_refused(text: str):
    with pytest.raises(ValueError, match=r"strconv\.ParseInt"):
        strconv.parse_int(text)


def test_durations_are_written_in_seconds():
    shown = [gotime.format_seconds(ns) for ns in (0, 90 * 10**9, -1_500_000_000, 1)]
    assert shown == ["0s", "90s", "-1.5s", "0.000000001s"]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01T10:00:00.120+02:00", "2024-05-01T08:00:00.12Z"),
        ("2024-02-29T5:00:00,5Z", "2024-02-29T05:00:00.5Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_times_are_read_and_written_in_utc(text: str, utc: str):
    assert rfc3339.write(rfc3339.nanoseconds(text)) == utc


FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The seconds of the years 1 to 9999."""


@given(st.integers(FIRST + 86_400, LAST - 86_400), st.integers(-1439, 1439))
def test_times_are_written_in_their_zone(seconds: int, minutes: int):
    written = rfc3339.write(seconds * 10**9, minutes * 60)
    assert rfc3339.instant(written) == (seconds * 10**9, minutes * 60)


def test_a_zone_can_be_in_the_year_before_the_first_and_after_the_last():
    assert rfc3339.write(FIRST * 10**9, -3600) == "0000-12-31T23:00:00-01:00"
    assert rfc3339.write(LAST * 10**9, 19_800) == "10000-01-01T05:29:59+05:30"


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01",
        "2024-05-01 10:00:00Z",
        "2024-05-01t10:00:00z",
        "2023-02-29T10:00:00Z",
        "2024-05-01T24:00:00Z",
        "2024-05-01T10:00:60Z",
        "2024-05-01T10:00:00",
        "2024-05-01T10:00:00+25:00",
    ],
)
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(ValueError):
        rfc3339.nanoseconds(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_addresses_are_written_in_canonical_form(text: str, shown: str):
    assert str(netip.parse_addr(text)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("010.0.0.1", "IPv4 field has octet with leading zero"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("12345::", 'each group must have 4 or fewer digits (at "12345::")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("host", "unable to parse IP"),
        ("fe80::1%", "zone must be a non-empty string"),
    ],
)
def test_the_error_of_an_invalid_address_has_its_reason(text: str, why: str):
    with pytest.raises(ValueError) as caught:
        netip.parse_addr(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {why}'


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "::/129", "x/8", "/8"])
def test_what_is_no_prefix_is_refused(text: str):
    with pytest.raises(ValueError, match="ParsePrefix"):
        netip.parse_prefix(text)


@given(st.ip_addresses())
def test_every_address_reads_back(address: object):
    addr = netip.parse_addr(str(address))
    assert netip.parse_addr(str(addr)) == addr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty url"),
        (":no url", "missing protocol scheme"),
        ("../x", "invalid URI for request"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://a:b/", 'invalid port ":b" after host'),
        ("http://[::1/", "missing ']' in host"),
        ("http://u p@h/", "net/url: invalid userinfo"),
    ],
)
def test_the_error_of_an_invalid_url_has_its_reason(text: str, why: str):
    with pytest.raises(ValueError) as caught:
        gourl.parse_request_uri(text)
    assert str(caught.value) == f'parse "{text}": {why}'


def test_the_parts_of_a_url():
    url = gourl.parse("HTTP://u:p@[::1]:80/a%20b/ä?x=1&y=%41&x=2;3&x=3#f")
    assert (url.scheme, url.host, url.hostname, url.port) == ("http", "[::1]:80", "::1", "80")
    assert url.escaped_path == "/a%20b/%C3%A4"
    assert url.values() == {"x": ["1", "3"], "y": ["A"]}


def test_patterns_match_as_in_go():
    assert regexp.compile("[a-z]*").find_all("abäc d") == ["ab", "c", "d"]
    assert regexp.compile("").find_all("aé") == ["", "", ""]
    assert regexp.compile("a").find_all("aaa", 2) == ["a", "a"]
    assert regexp.compile("^a").find_all("aa") == ["a"]
    assert regexp.compile("(é|b)+").find("xéb") == "éb"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing closing ): `(a`"),
        ("[a-", "missing closing ]: `[a-`"),
        ("a)", "unexpected ): `a)`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
    ],
)
def test_the_error_of_an_invalid_pattern_has_its_reason(pattern: str, why: str):
    with pytest.raises(regexp.RegexError) as caught:
        regexp.compile(pattern)
    assert str(caught.value) == f"error parsing regexp: {why}"


def test_versions_have_the_order_of_semver():
    texts = ["1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.10.0"]
    versions = [semver.parse(text) for text in texts]
    assert sorted(versions, reverse=True)[::-1] == versions
    assert semver.parse("1.0.0+a") == semver.parse("1.0.0+b")


@pytest.mark.parametrize("text", ["", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+"])
def test_versions_are_strict_unless_normalised(text: str):
    assert not semver.is_valid(text)


@pytest.mark.parametrize("text", ["1", "v1.2", "01.02.03", "v0", "1.2.3-rc"])
def test_normalised_versions_may_be_short(text: str):
    assert semver.is_valid(text, normalize=True)
    assert not semver.is_valid("1.2-rc", normalize=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", 'invalid duration ""'),
        ("5", 'missing unit in duration "5"'),
        ("5m5", 'missing unit in duration "5m5"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1h 5m", 'unknown unit "h " in duration "1h 5m"'),
        (" 5m", 'invalid duration " 5m"'),
        (".s", 'invalid duration ".s"'),
        ("9999999h", 'invalid duration "9999999h"'),
        ("99999999999999999999", 'invalid duration "99999999999999999999"'),
    ],
)
def test_a_refusal_names_what_go_names(text: str, why: str):
    with pytest.raises(ValueError, match=f"^time: {re.escape(why)}$"):
        gotime.parse_duration(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e20, "1e+20"), (1e6, "1e+06"), (3.0, "3"), (0.5, "0.5"), (10**6, "1000000"), (True, "true")],
)
def test_a_wrong_number_is_shown_as_go_prints_it(value: float, text: str):
    assert fielderrors.show(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (-2_000_000, "-2ms"),
        (999_999_999, "999.999999ms"),
        (1_000_000_000, "1s"),
        (61_500_000_000, "1m1.5s"),
        (3_600_000_000_000, "1h0m0s"),
    ],
)
def test_durations_are_written_as_go_writes_them(ns, text):
    assert gotime.format_duration(ns) == text
