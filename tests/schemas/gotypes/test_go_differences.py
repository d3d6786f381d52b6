"""The differences in errors before 1.34, as printed by go-cmp."""

import copy
import time

import pytest
from patience import SECONDS

from inkube.schemas.gotypes import gocmp

POD = {
    "volumes": [
        {"name": "a", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "b", "configMap": {"name": "c", "defaultMode": 420}},
    ],
    "containers": [
        {
            "name": "main",
            "image": "example.com/app:1",
            "env": [{"name": "A", "value": "b"}],
            "resources": {"limits": {"cpu": "1"}},
        }
    ],
    "restartPolicy": "Always",
}


def changed(change, name="core.PodSpec", old=POD):
    new = copy.deepcopy(old)
    change(new)
    return gocmp.diff(name, old, new, 33)


def test_equal_values_have_no_difference():
    assert gocmp.diff("core.PodSpec", POD, copy.deepcopy(POD), 33) == ""
    assert changed(lambda pod: pod["volumes"][0]["emptyDir"].update(sizeLimit="1024Mi")) == ""


def test_equal_parts_are_shortened_and_differing_parts_are_complete():
    told = changed(lambda pod: pod["containers"][0]["env"][0].update(value="c"))
    assert told == (
        "  core.PodSpec{\n"
        '  \tVolumes:        {{Name: "a", VolumeSource: {EmptyDir: &{SizeLimit: &{i: {...}, '
        's: "1Gi", Format: "BinarySI"}}}}, {Name: "b", VolumeSource: {ConfigMap: '
        '&{LocalObjectReference: {Name: "c"}, DefaultMode: &420}}}},\n'
        "  \tInitContainers: nil,\n"
        "  \tContainers: []core.Container{\n"
        "  \t\t{\n"
        "  \t\t\t... // 5 identical fields\n"
        "  \t\t\tPorts:   nil,\n"
        "  \t\t\tEnvFrom: nil,\n"
        "  \t\t\tEnv: []core.EnvVar{\n"
        "  \t\t\t\t{\n"
        '  \t\t\t\t\tName:      "A",\n'
        '- \t\t\t\t\tValue:     "b",\n'
        '+ \t\t\t\t\tValue:     "c",\n'
        "  \t\t\t\t\tValueFrom: nil,\n"
        "  \t\t\t\t},\n"
        "  \t\t\t},\n"
        '  \t\t\tResources:    {Limits: {s"cpu": {i: {...}, s: "1", Format: "DecimalSI"}}},\n'
        "  \t\t\tResizePolicy: nil,\n"
        "  \t\t\t... // 14 identical fields\n"
        "  \t\t},\n"
        "  \t},\n"
        "  \tEphemeralContainers: nil,\n"
        '  \tRestartPolicy:       "Always",\n'
        "  \t... // 29 identical fields\n"
        "  }\n"
    )


def test_what_is_added_is_named_by_its_type():
    told = changed(lambda pod: pod["volumes"].append({"name": "d"}))
    assert '+ \t\t{Name: "d"},\n' in told
    assert "  \t\t... // 2 identical elements\n" not in told  # two are next to a change
    told = changed(lambda pod: pod.update(nodeSelector={"a": "b"}))
    assert "- \tNodeSelector:                 nil,\n" in told
    assert '+ \tNodeSelector:                 map[string]string{"a": "b"},\n' in told


def test_long_values_are_cut_and_take_several_lines():
    selector = {"matchLabels": {"app": "a-name-that-is-rather-long"}}
    inner = {"labelSelector": selector, "topologyKey": "zone", "matchLabelKeys": ["x"]}
    term = {"weight": 5, "podAffinityTerm": inner}
    old = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    assert gocmp.diff("core.PodAffinity", old, {}, 33) == (
        "  core.PodAffinity{\n"
        "  \tRequiredDuringSchedulingIgnoredDuringExecution: nil,\n"
        "- \tPreferredDuringSchedulingIgnoredDuringExecution: []core.WeightedPodAffinityTerm{\n"
        "- \t\t{\n"
        "- \t\t\tWeight: 5,\n"
        "- \t\t\tPodAffinityTerm: core.PodAffinityTerm{\n"
        '- \t\t\t\tLabelSelector:  s"&LabelSelector{MatchLabels:map[s"...,\n'
        '- \t\t\t\tTopologyKey:    "zone",\n'
        "- \t\t\t\tMatchLabelKeys: []string{...},\n"
        "- \t\t\t},\n"
        "- \t\t},\n"
        "- \t},\n"
        "+ \tPreferredDuringSchedulingIgnoredDuringExecution: nil,\n"
        "  }\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a", "b", ['- \tVolumeName:       "a",', '+ \tVolumeName:       "b",']),
        (
            "x" * 40,
            "x" * 40 + "y",
            ["  \tVolumeName: strings.Join({", f'  \t\t"{"x" * 40}",', '+ \t\t"y",', '  \t}, ""),'],
        ),
        (
            "one of the\nfive lines\nof a text\nthat has\nchanged",
            "one of the\nsix lines\nof a text\nthat has\nchanged",
            ["  \tVolumeName: (", '  \t\t"""', "- \t\tfive lines", "+ \t\tsix lines"],
        ),
    ],
    ids=["short", "long", "lines"],
)  # fmt: skip
def test_texts_are_compared_by_their_parts(old, new, lines):
    told = gocmp.diff(
        "core.PersistentVolumeClaimSpec", {"volumeName": old}, {"volumeName": new}, 33
    )
    for line in lines:
        assert f"{line}\n" in told


def test_an_item_that_went_leaves_its_neighbours_matched():
    ports = [{"name": f"p{number}", "containerPort": number} for number in range(1, 9)]
    old = {"name": "a", "ports": ports}
    told = gocmp.diff("core.Container", old, {**old, "ports": ports[:3] + ports[4:]}, 33)
    assert told.count("\n- ") == 1
    assert "\n+ " not in told
    assert '- \t\t{Name: "p4", ContainerPort: 4},\n' in told


def test_large_values_are_compared_in_bounded_time():
    old = {"name": "a", "env": [{"name": f"N{n}", "value": "a"} for n in range(5_000)]}
    new = {"name": "a", "env": [{"name": f"M{n}", "value": "b"} for n in range(5_000)]}
    begin = time.process_time()
    assert gocmp.diff("core.Container", old, new, 33)
    old["image"], new["image"] = "a" * 400_000, "b" * 400_000
    assert gocmp.diff("core.Container", old, new, 33)
    assert time.process_time() - begin < SECONDS


def test_an_embedded_struct_is_shown_by_itself():
    old, new = {"nfs": {"path": "/a"}}, {"nfs": {"path": "/b"}}
    told = gocmp.diff("core.PersistentVolumeSource", old, new, 33)
    assert told.startswith("  core.PersistentVolumeSource{\n  \t... // 2 identical fields\n")
    told = gocmp.diff("core.PersistentVolumeSpec", old, new, 33)
    assert "\tPersistentVolumeSource: core.PersistentVolumeSource{\n" in told


def test_a_pointer_to_a_struct_with_metadata_is_shown_as_its_metadata():
    volume = {"name": "a", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "m"}}}}
    told = changed(lambda pod: pod.update(volumes=[volume]))
    assert '+ \t\t\t\t\tVolumeClaimTemplate: s"&ObjectMeta{Name:m,GenerateName:,Namespace:,' in told
