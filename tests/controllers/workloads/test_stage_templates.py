"""Templates of stages print the same as Go's text/template, refuse unsupported syntax, and always
end."""

import pytest

from inkube.controllers.clock import FakeClock
from inkube.controllers.workloads.stages import functions, gotemplates


class Somewhere:
    def node(self, name):
        return f"node-of-{name}"

    def pod(self, node, *, host_network, uid):
        return "node" if host_network else f"pod-{uid}"


FUNCTIONS = functions.helpers(FakeClock(), Somewhere())
OBJECT = {
    "name": "p",
    "labels": {"b": "2", "a": "1"},
    "list": [1, 2, 3],
    "empty": [],
    "yes": True,
    "none": None,
    "inner": {"deep": {"x": "found"}},
    "big": 12345678901,
    "half": 0.5,
}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("{{ .name }}", "p"),
        ("a  {{- .name -}}  b", "apb"),
        ("a {{- /* said */ -}} b{{/* }} */}}", "ab"),
        ("{{ .inner.deep.x }}{{ (.inner).deep.x }}", "foundfound"),
        ("{{ .missing }}|{{ .none }}", "<no value>|<no value>"),
        ("{{ .labels }} {{ .list }} {{ .yes }} {{ .half }} {{ .big }}",
         "map[a:1 b:2] [1 2 3] true 0.5 12345678901"),
        ("{{ if .empty }}x{{ else if .yes }}y{{ else }}z{{ end }}", "y"),
        ('{{ if and .yes (not .none) (eq .name `q` "p") }}all{{ end }}', "all"),
        ("{{ or .none .missing .name }}{{ and .name .none }}", "p<no value>"),
        ("{{ range .list }}{{ . }},{{ end }}", "1,2,3,"),
        ("{{ range $k, $v := .labels }}{{ $k }}={{ $v }};{{ end }}", "a=1;b=2;"),
        ("{{ range $v := .list }}{{ if eq $v 2 }}{{ continue }}{{ end }}{{ $v }}{{ end }}", "13"),
        ("{{ range .list }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ end }}", "1"),
        ("{{ range .empty }}x{{ else }}none{{ end }}", "none"),
        ("{{ with .inner.deep }}{{ .x }}{{ $.name }}{{ end }}", "foundp"),
        ("{{ with .none }}x{{ else }}y{{ end }}", "y"),
        ("{{ $x := 1 }}{{ range .list }}{{ $x = . }}{{ end }}{{ $x }}", "3"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1"),
        ("{{ index .labels `a` }}{{ index .list 0 }}{{ index .labels `none` }}", "11<no value>"),
        ("{{ len .list }}{{ .name | printf `%s-%03d-%q` `x` 7 }}", '3x-007-"p"'),
        ("{{ lt 1 2 }}{{ ge 2 2 }}{{ ne `a` `b` }}{{ eq .none `a` }}", "truetruetruefalse"),
        ("{{ \"}}\" }}{{ '{' }}", "}}123"),
        ("{{ .name | upper | repeat 2 | quote }}", '"PP"'),
        ("{{ default `x` .missing }}{{ ternary 1 2 .yes }}{{ list 1 2 | join `-` }}", "x11-2"),
        ("{{ dict `a` 1 | YAML }}{{ add 1 2 3 }}{{ div -7 2 }}{{ mod -7 2 }}", '{"a": 1}6-3-1'),
        ("{{ `a b` | Quote }}{{ Now | Quote }}", '"a b""2026-01-01T00:00:00Z"'),
        ("{{ NodeIPWith `n` }} {{ PodIPWith `n` false `u` `p` `ns` }} {{ PodIPWith `n` true }}",
         "node-of-n pod-u node"),
        ("{{ get .labels `a` }}{{ hasKey .labels `z` }}{{ keys .labels }}", "1false[a b]"),
        ("{{ range until 3 }}{{ . }}{{ end }}{{ range 2 }}.{{ end }}", "012.."),
        ("{{ trimPrefix `p` `pod` }}{{ contains `o` `pod` }}{{ b64enc `x` | b64dec }}", "odtruex"),
    ],
)  # fmt: skip
def test_a_template_writes(text, written):
    assert gotemplates.compile(text, FUNCTIONS).render(OBJECT) == written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ define `x` }}{{ end }}", "not supported: {{define}}"),
        ("{{ template `x` }}", "not supported: {{template}}"),
        ("{{ frobnicate 1 }}", 'function "frobnicate" not defined'),
        ("{{ if (frobnicate) }}{{ end }}", 'function "frobnicate" not defined'),
        ("{{ $x }}", "undefined variable '$x'"),
        ("{{ range .list }}{{ $y := 1 }}{{ end }}{{ $y }}", "undefined variable '$y'"),
        ("{{ if .a }}", "{{if}} without {{end}}"),
        ("{{ end }}", "unexpected {{end}}"),
        ("{{ .name", "unclosed action"),
        ("{{ (.name }}", "unclosed left paren"),
        ("{{ break }}", "outside {{range}}"),
        ("{{ .name .list }}", "not supported: arguments for a value"),
        ("{{ | upper }}", "missing value"),
        ("{{ " * 3, "unclosed action"),
        ("{{ env `HOME` }}", 'function "env" not defined'),
        ("{{ if 1 }}" * 150 + "{{ end }}" * 150, "nest at most"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text, why):
    with pytest.raises(gotemplates.TemplateError) as caught:
        gotemplates.compile(text, FUNCTIONS)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ .none.x }}", "nil pointer evaluating interface {}.x"),
        ("{{ .name.x }}", "can't evaluate field x"),
        ("{{ index .list 9 }}", "index out of range: 9"),
        ("{{ range .name }}{{ end }}", "can't iterate"),
        ("{{ lt .name 1 }}", "invalid type for comparison"),
        ("{{ div 1 0 }}", "error calling div"),
        ("{{ fail `because` }}", "because"),
        ("{{ repeat 99999999 `x` }}", "at most"),
        ("{{ range until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}", "steps"),
        ("{{ range until 40000 }}{{ $.long }}{{ end }}", "characters"),
        ("{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}", "steps"),
        ("{{ $x := `x` }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}", "steps"),
    ],
)
def test_what_does_not_fit_the_object_ends_with_a_reason(text, why):
    with pytest.raises(gotemplates.RunError) as caught:
        gotemplates.compile(text, FUNCTIONS).render({**OBJECT, "long": "x" * 100})
    assert why in str(caught.value)
