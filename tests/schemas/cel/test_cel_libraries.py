"""Results and errors of library functions."""

import pytest

from inkube.schemas import cel


def evaluate(text: str) -> object:
    return cel.compile(text, {}).evaluate({})


TRUE = """
'tacocat'.charAt(3) == 'o' && 'abc'.charAt(3) == ''
'bäanä a😀'.indexOf('a', 2) == 2 && 'bäanä a😀'.lastIndexOf('a') == 6
''.indexOf('a') == -1 && ''.lastIndexOf('a') == -1 && 'abc'.indexOf('') == 0
'abab'.lastIndexOf('ab', 1) == 0 && 'abab'.lastIndexOf('ab', 9) == -1
'Äb'.lowerAscii() == 'Äb' && 'äb'.upperAscii() == 'äB'
'banana'.replace('an', '', 1) == 'bana' && 'ab'.replace('', '-') == '-a-b-'
'a b c'.split(' ', 2) == ['a', 'b c'] && 'abc'.split('') == ['a', 'b', 'c']
''.split(',') == [''] && 'a,b'.split(',', 0) == [] && 'abc'.split('', 2) == ['a', 'bc']
'abc'.substring(1) == 'bc' && 'abc'.substring(1, 2) == 'b' && 'abc'.substring(3) == ''
'\\u00a0\\tpadded \\u2003'.trim() == 'padded' && '\\u200b x'.trim() == '\\u200b x'
['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab' && [].join(',') == ''
strings.quote('say "hi"\\t\\\\') == '"say \\\\"hi\\\\"\\\\t\\\\\\\\"'
'abc'.contains('b') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc')
'abc'.matches('^[a-c]+$') && matches('xabcx', 'abc') && !'abc'.matches('^b')
'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == ''
'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]', 1) == ['1']
int('-42') == -42 && int(3.9) == 3 && int(-3.9) == -3 && int(7u) == 7 && uint('7') == 7u
double('1e3') == 1000.0 && string(1000000.0) == '1e+06' && string(0.1) == '0.1'
string(b'\\303\\244') == 'ä' && bytes('ä') == b'\\303\\244' && string(true) == 'true'
bool('T') && !bool('0') && string(duration('1h30m')) == '5400s'
string(timestamp('2024-05-01T10:00:00.50+02:00')) == '2024-05-01T10:00:00.5+02:00'
int(timestamp('1970-01-01T00:01:00Z')) == 60
timestamp(60) == timestamp('1970-01-01T00:01:00Z')
timestamp('2024-05-04T19:30:15.250Z').getMilliseconds() == 250
timestamp('2024-12-24T00:00:00Z').getMonth() == 11
timestamp('2024-12-24T00:00:00Z').getDate() == 24
timestamp('2024-12-24T00:00:00Z').getDayOfMonth() == 23
timestamp('2024-12-31T00:00:00Z').getDayOfYear() == 365
timestamp('2024-05-04T19:30:00Z').getDayOfWeek() == 6
timestamp('2024-05-04T19:30:00Z').getHours('Asia/Tokyo') == 4
timestamp('2024-05-04T19:30:00Z').getMinutes('-02:45') == 45
timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00') == 0
timestamp('9999-12-31T23:59:59Z').getFullYear('+01:00') == 10000
duration('-90m').getHours() == -1 && duration('90s').getSeconds() == 90
duration('1.5s').getMilliseconds() == 1500 && duration('90m').getMinutes() == 90
[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()
[1, 2].sum() == 3 && [1.5, 2.5].sum() == 4.0
[duration('1s'), duration('2s')].sum() == duration('3s')
['b', 'a'].min() == 'a' && [3, 1].max() == 3 && [true, false].max()
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1.0].indexOf(1.1) == -1
[3, 1, 2].sort() == [1, 2, 3] && ['b', 'B', 'a'].sort() == ['B', 'a', 'b']
['foo', 'quux', 'b'].sortBy(word, word.size()) == ['b', 'foo', 'quux']
[1, 2, 2].distinct() == [1, 2] && [[1], [2, 3]].flatten() == [1, 2, 3]
[[[1]], [[2]]].flatten(2) == [1, 2] && [1, 2].reverse() == [2, 1]
[1, 2, 3, 4].slice(1, 3) == [2, 3] && lists.range(3) == [0, 1, 2] && lists.range(-1) == []
sets.contains([1, 2], [2, 2]) && sets.equivalent([1], [1, 1]) && !sets.intersects([1], [])
url('http://[::1]:8080/a%20b?x=1&x=2').getHost() == '[::1]:8080'
url('https://a.b/c?k=1&k=2').getQuery() == {'k': ['1', '2']} && url('/p').getScheme() == ''
url('https://a.b:1/').getPort() == '1' && url('https://a.b').getEscapedPath() == ''
isURL('/only/a/path') && !isURL('../x') && url('http://a/b') == url('http://a/b')
ip('::1').isLoopback() && ip('10.0.0.1').family() == 4 && string(ip('::0001')) == '::1'
ip.isCanonical('::1') && !ip.isCanonical('::0001') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%a')
ip('224.0.0.5').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()
ip('10.0.0.1').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()
cidr('10.1.0.0/7').containsCIDR('10.9.0.0/16')
string(cidr('10.1.0.0/7').masked()) == '10.0.0.0/7'
cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))
cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && cidr('::/0').prefixLength() == 0
!isCIDR('::ffff:10.0.0.0/104') && isCIDR('10.0.0.1/8')
quantity('200M') == quantity('0.2G') && sign(quantity('-1')) == -1
quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() == 20
quantity('1.5').asApproximateFloat() == 1.5 && !quantity('1.5').isInteger()
quantity('0').add(1) == quantity('1') && quantity('1') != quantity('0').add(1)
[quantity('3')] == [quantity('1').add(1)] && {'a': quantity('3')} == {'a': quantity('1').add(1)}
quantity('1').add(1) in [quantity('2')] && !(quantity('2') in [quantity('1').add(1)])
semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('v1', true).minor() == 0
isSemver('v1.2', true) && !isSemver('v1.2') && semver('1.2.3').compareTo(semver('1.2.4')) == -1
!format.dns1123Label().validate('my-app').hasValue() && format.named('uuid').hasValue()
!format.named('nothing').hasValue() && format.named('date').value() == format.date()
!format.dns1123LabelPrefix().validate('my-').hasValue()
format.labelValue().validate('-').hasValue()
format.byte().validate('aGk').value() == ['invalid base64']
!format.byte().validate('aGk=').hasValue()
format.date().validate('2023-02-29').hasValue()
!format.datetime().validate('2024-02-29t00:00:00z').hasValue()
format.uuid().validate('x').value() == ['does not match the UUID format']
format.uri().validate('x').value() == ['parse "x": invalid URI for request']
format.qualifiedName().validate('a.b/').value().size() == 2
type(ip('::1')) == net.IP && type(1) == int
"""


@pytest.mark.parametrize("text", TRUE.strip().splitlines())
def test_library_functions_have_the_results_of_cel_go(text: str):
    assert evaluate(text) is True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'%s|%d|%.1f|%x|%X|%o|%b|%e|%%'.format(['t', 7, 2.25, 255, 255, 8, 5, 1200.0])",
         "t|7|2.2|ff|FF|10|101|1.200000×10⁰³|%"),
        ("'%s %s %s'.format([true, null, 1.5])", "true null 1.5"),
        ("'%s'.format([{'b': 2, 'a': 1}])", '{"a":1, "b":2}'),
        ("'%s'.format([[1.5, 2.0]])", "[1.500000, 2.000000]"),
        ("'%s'.format([[duration('90s')]])", '[duration("90s")]'),
        ("'%s %s'.format([duration('90s'), timestamp('2024-05-01T10:00:00Z')])",
         "90s 2024-05-01T10:00:00Z"),
        ("'%s'.format([['a', \"b\\\"\"]])", '["a", "b\\""]'),
        ("'%f %f'.format([1234567.891, 'NaN'])", "1,234,567.891000 NaN"),
        ("'%e %.2e'.format([-0.00012, 'Infinity'])", "-1.200000×10⁻⁰⁴ ∞"),
        ("'%x %X %x'.format(['hi', b'\\377', -255])", "6869 FF -ff"),
        ("'%b %b'.format([true, -5])", "1 -101"),
        ("'%s'.format([type(1)])", "int"),
        ("'%s'.format([b'ab'])", "ab"),
    ],
)  # fmt: skip
def test_format_shows_values(text: str, shown: str):
    assert evaluate(text) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("'abc'.charAt(4) == ''", "index out of range: 4"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("'abc'.indexOf('a', -1) == 0", "index out of range: -1"),
        ("[1].map(x, string(x)).map(x, int(x + '.')) == []",
         "type conversion error from 'string' to 'int'"),
        ("[0].map(x, double(x)).map(x, uint(x - 1.0)) == []", "unsigned integer overflow"),
        ("[1e19].map(x, int(x)) == []", "integer overflow"),
        ("[9223372036854775807, 1].sum() == 0", "integer overflow"),
        ("[1].filter(x, x > 1).max() == 1", "max called on empty list"),
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[[1]].flatten(-1) == []", "level must be non-negative"),
        ("[dyn(1), dyn('a')].sort() == []", "list elements must have the same type"),
        ("url(':no url') == url('/')",
         'URL parse error during conversion from string: parse ":no url": missing protocol scheme'),
        ("ip('1.2.3') == ip('::')",
         ('IP Address "1.2.3" parse error during conversion from string: '
          'ParseAddr("1.2.3"): IPv4 address too short')),
        ("ip('::ffff:1.2.3.4') == ip('::')",
         'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("cidr('::/0').containsIP('1.2.3')", "no such overload"),
        ("quantity('2') == quantity('1').add(1)", "no such overload"),
        ("quantity('1').add(1) == quantity('1').add(1)", "no such overload"),
        ("cidr('::/0').containsCIDR('1.2.3')",
         ("network address parse error during conversion from string: network address parse error "
          "during conversion from string: netip.ParsePrefix(\"1.2.3\"): no '/'")),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        ("semver('1.2') == semver('1.2.3')", "No Major.Minor.Patch elements found"),
        ("timestamp('2024-01-01T00:00:00Z').getHours('Mars/Base') == 0",
         "unknown time zone Mars/Base"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("'%d'.format([dyn('a')]) == ''",
         "error during formatting: decimal clause can only be used on integers, was given string"),
        ("'(a'.matches(['(a'][0])", "error parsing regexp: missing closing ): `(a`"),
        ("'a'.find(['(a'][0]) == ''",
         "Illegal regex: error parsing regexp: missing closing ): `(a`"),
    ],
)  # fmt: skip
def test_a_failing_call_has_the_text_of_cel_go(text: str, why: str):
    with pytest.raises(cel.EvalError) as caught:
        evaluate(text)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    "text",
    ["int('x')", "duration('1h') > duration(string('x'))"],
)
def test_a_constant_that_cannot_be_converted_refuses_the_program(text: str):
    with pytest.raises(cel.ProgramError):
        cel.compile(text, {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", "expected type 'int' but found 'string'"),
        ("duration('1x') > duration('1s')", "invalid duration argument"),
        ("timestamp('yesterday') == timestamp(1)", "invalid timestamp argument"),
        ("timestamp(253402300800) == timestamp(1)", "invalid timestamp argument"),
        ("timestamp(1) == timestamp(-62135596801)", "invalid timestamp argument"),
        ("'a'.matches('[a-')", "invalid matches argument"),
        ("'%d'.format(['a']) == ''",
         "error during formatting: decimal clause can only be used on integers, was given string"),
        ("'%d'.format([1, 2]) == ''",
         "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%d %d'.format([1]) == ''", "index 1 out of range"),
        ("math.greatest(1, 2) == 2", "undeclared reference to 'math' (in container '')"),
        ("'a'.reverse() == 'a'", "found no matching overload for 'reverse' applied to 'string.()'"),
    ],
)  # fmt: skip
def test_expressions_that_do_not_compile_have_the_error_of_cel_go(text: str, why: str):
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(text, {})
    assert caught.value.issues[0].message == why
