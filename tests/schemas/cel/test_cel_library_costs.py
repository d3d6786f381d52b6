"""Actual and estimated costs of library calls, equal to those of the reference."""

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.checking.estimator import estimate
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import checked

VARIABLES = {
    "ints": types.list_of(types.INT),
    "texts": types.LIST_STRING,
    "words": types.LIST_STRING,
    "long": types.STRING,
}
VALUES = {
    "ints": [1, 2, 3, 4, 5],
    "texts": ["012345678901"] * 5,
    "words": ["aa", "bb", "cc", "d", "e", "f", "g", "h", "i", "j"],
    "long": "0123456789" * 5,
}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("ints.sum()", 6),
        ("ints.indexOf(3)", 6),
        ("texts.isSorted()", 6),
        ("texts.max()", 6),
        ("long.indexOf('123')", 6),
        ("words.join(' ')", 6),
        ("words.join()", 4),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3),
        ("strings.quote('ABCDEFGHIJ abcdefghij')", 3),
        ("'abc 123 def 123'.replace('123', '456')", 3),
        ("'abc 123 def 123'.split(' ', 1)", 3),
        ("'abc 123 def 123'.substring(5, 8)", 2),
        ("'  abc 123 def 123  '.trim()", 2),
        ("'abc 123 def 123'.find('123')", 2),
        ("'abc 123 def 123'.findAll('123', 1)", 2),
        ("url('https:://kubernetes.io/').getScheme()", 4),
        ("url('https:://kubernetes.io/') == url('http://x.b')", 5),
        ("ip('192.168.0.1')", 2),
        ("ip('192.168.0.1') == ip('192.168.0.1')", 5),
        ("ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8),
        ("cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", 7),
        ("cidr('192.168.0.0/16').containsCIDR('192.0.0.0/30')", 7),
        ("cidr('192.168.0.0/16').containsIP('192.169.0.1')", 5),
        ("cidr('2001:db8::/32').containsIP(ip('2001:db8:3333:4444:5555:6666:7777:8888'))", 7),
        ("quantity('200M') == quantity('0.2G')", 3),
        ("quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() > 0", 7),
        ("format.named('dns1123Subdomain').value().validate('my-name')", 17),
        ("format.named('dns1123Label').value().validate('my-name')", 10),
        ("sets.contains([1, 2, 3, 4], [2, 3])", 9),
        ("sets.equivalent([1], [1, 1])", 5),
        ("semver('1234.56789012345.67890123456789')", 4),
        ("semver('1.0.0').isLessThan(semver('1.1.0'))", 3),
        ("lists.range(5)", 16),
        ("ints.slice(1, 3)", 14),
        ("ints.reverse()", 17),
        ("ints.distinct()", 62),
        ("texts.sort()", 64),
        ("[ints].flatten()", 23),
    ],
)
def test_a_call_has_the_cost_of_the_reference(text: str, cost: int):
    program = cel.compile(text, VARIABLES)
    values = [VALUES[name] for name in program.variables]
    assert program.run(0, cel.CALL_LIMIT, *values)[1] == cost


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("url('https:://kubernetes.io/').getScheme()", 4, 4),
        ("url('https:://kubernetes.io/') == url('https:://kubernetes.io/')", 7, 9),
        ("url('https:://kubernetes.io/') == url('http://x.b')", 5, 5),
        ("ip('192.168.0.1').family()", 3, 3),
        ("ip('192.168.0.1') == ip('192.168.0.1')", 5, 5),
        ("ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8, 8),
        ("cidr('192.168.0.0/16').containsCIDR('192.0.0.0/30')", 7, 11),
        ("cidr('192.168.0.0/16').containsIP(ip('192.0.0.1'))", 4, 7),
        ("cidr('2001:db8::/32').containsIP('2001:db8:3333:4444:5555:6666:7777:8888')", 7, 10),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()", 7, 9),
        ("strings.quote('ABCDEFGHIJ abcdefghij') == strings.quote('ABCDEFGHIJ abcdefghij')", 7, 11),
        ("'abc 123 def 123'.replace('', 'x')", 3, 3),
        ("'abc 123 def 123'.findAll('123', 1)", 2, 2),
        ("'01234567890123456789012345678901234567890123456789'.indexOf('123')", 5, 5),
        ("quantity('200M') == quantity('0.2G') && quantity('0.2G') == quantity('200M')", 3, 6),
        ("quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() > 0", 7, 7),
        ("format.named('dns1123Subdomain').value().validate('my-name')", 34, 34),
        ("format.date() == format.uuid()", 3, 9),
        ("sets.contains([1, 2, 3, 4], [2, 3])", 29, 29),
        ("!sets.equivalent([1, 2], [2, 2, 2])", 34, 34),
        ("semver('1234.56789012345.67890123456789')", 4, 4),
        ("[1, 2, 3, 4, 5].sum()", 15, 15),
        ("lists.range(5)", 16, 16),
        ("[1, 2, 3].slice(1, 3)", 23, 23),
        ("[1, 2, 3].distinct()", 39, 39),
    ],
)
def test_a_call_has_the_estimated_cost_of_the_reference(text: str, low: int, high: int):
    environment = Environment(FUNCTIONS, {})
    found = estimate(checked(text, environment).root, environment)
    assert (found.min, found.max) == (low, high)
