"""Formats: a valid and an invalid text of each, and special cases of kube-apiserver."""

import pytest

from inkube.schemas.structural import formats

GOOD = {
    "date": ["2024-02-29", "0001-01-01"],
    "date-time": ["2024-02-29T10:11:12Z", "2024-02-29t10:11:12.5+02:00", "2024-01-01T23:59:59,9z"],
    "duration": ["1h30m", "-1.5h", "0", "2 days", "3 weeks", "5 min", "1h 2 parsecs", "100us"],
    "ipv4": ["10.0.0.1", "01.2.3.4", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "fe80::1", "::ffff:1.2.3.4"],
    "cidr": ["10.0.0.1/8", "010.0.0.0/08", "2001:db8::/32"],
    "uri": [
        "https://a.b/c?d#e",
        "/path",
        "mailto:x@y",
        "http://[::1]:80/",
        "http://u:p@h/%41",
        "*",
    ],
    "email": ["a@b", "Jane Doe <jane@example.com>", '"a b"@c', "a@[1.2.3.4]", "<a@b>"],
    "hostname": ["example.com", "a", "1.example", "bücher.example"],
    "mac": ["00:1b:63:84:45:e6", "00-1B-63-84-45-E6", "001b.6384.45e6"],
    "uuid": ["0E0B5B5E-4B5C-4E5A-9D8C-1A2B3C4D5E6F", "0e0b5b5e4b5c4e5a9d8c1a2b3c4d5e6f"],
    "uuid3": ["0e0b5b5e-4b5c-3e5a-0d8c-1a2b3c4d5e6f"],
    "uuid4": ["0e0b5b5e-4b5c-4e5a-9d8c-1a2b3c4d5e6f"],
    "uuid5": ["0e0b5b5e-4b5c-5e5a-bd8c-1a2b3c4d5e6f"],
    "byte": ["aGVsbG8=", "YQ==", "abcd"],
    "hexcolor": ["#fff", "AABBCC"],
    "rgbcolor": ["rgb(0, 128,255)"],
    "isbn": ["0321751043", "978-0321751041"],
    "creditcard": ["4111-1111-1111-1111"],
    "ssn": ["111-22-3333"],
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "password": ["", "anything"],
    "k8s-short-name": ["a", "a-1"],
    "k8s-long-name": ["a.b-c.0"],
}
BAD = {
    "date": ["2023-02-29", "2024-13-01", "2024-1-1", "", "2024-02-29T00:00:00Z"],
    "date-time": [
        "2024-02-30T10:11:12Z",
        "2024-02-29",
        "2024-02-29T24:00:00Z",
        "2024-02-29T10:11Z",
    ],
    "duration": ["", "soon", "1", "5 parsecs", "1.5 days"],
    "ipv4": ["10.0.0.256", "10.0.0", "::1", "1.2.3.4.5", ""],
    "ipv6": ["10.0.0.1", "fe80::g", "fe80::1%eth0", "::ffff:01.2.3.4", ":"],
    "cidr": ["10.0.0.0/33", "10.0.0.0", "::/129", "10.0.0.0/-1", "10.0.0.0/ 8"],
    "uri": ["", "relative", "http://a b/", "http://a/%zz", "://x", "http://[::1", "http://a:b/"],
    "email": ["jane", "a@", "@b", "a@b, c@d", "a..b@c", "a@b junk", '""@c', "a@b (x"],
    "hostname": ["", "-bad-.example.com", "a_b.com", "a." + "b" * 64, "x" * 300],
    "mac": ["00:1b", "00:1b:63:84:45:zz", "00:1b-63:84:45:e6", "00:1b:63:84:45:e6:00"],
    "uuid": ["0e0b5b5e", ""],
    "uuid4": ["0e0b5b5e-4b5c-1e5a-9d8c-1a2b3c4d5e6f"],
    "byte": ["hello!", "", "YQ=", "a", "===="],
    "hexcolor": ["orange", "#ffff"],
    "rgbcolor": ["rgb(0,0,256)"],
    "isbn": ["0321751044", "x"],
    "creditcard": ["4111111111111112"],
    "ssn": ["111223333"],
    "k8s-short-name": ["A", "a.", "a" * 64],
    "k8s-long-name": ["A..b"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in GOOD.items() for t in ts])
def test_a_good_text_conforms(name: str, text: str) -> None:
    check = formats.check_for(name)

    assert check is not None
    assert check(text)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in BAD.items() for t in ts])
def test_a_bad_text_does_not(name: str, text: str) -> None:
    check = formats.check_for(name)

    assert check is not None
    assert not check(text)


def test_dashes_in_a_name_do_not_matter_and_unknown_names_are_none() -> None:
    assert formats.check_for("datetime") is formats.check_for("date-time")
    assert formats.check_for("fancy") is None
    assert formats.check_for("quantity") is None  # as upstream, it is no format of schemas
