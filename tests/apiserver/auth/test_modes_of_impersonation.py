"""The modes of constrained impersonation: sufficient permissions, and what no mode gives."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from inkube.apiserver.auth import AlwaysAllow, impersonation, impersonationmetrics
from inkube.apiserver.auth.attributes import Attributes, Decision
from inkube.apiserver.auth.impersonation import LastModes
from inkube.apiserver.registry import User
from inkube.apiserver.samples import Samples
from inkube.schemas.status import StatusError

MASTERS = "system:masters"
BOT = "system:serviceaccount:default:bot"
NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"


class Authorizer(AlwaysAllow):
    """Allows what a function allows, and notes what was asked."""

    def __init__(self, allows: Callable[[Attributes], bool]) -> None:
        self._allows = allows
        self.asked: list[Attributes] = []

    def decide(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return Decision(self._allows(attributes))


def every_mode(attributes: Attributes) -> bool:
    return attributes.verb != "impersonate"


def become(
    target: User,
    authorizer: Authorizer,
    user: User | None = None,
    last: LastModes | None = None,
) -> tuple[User, str]:
    action = Attributes(user or User("agent"), "list", version="v1", resource="pods")
    return impersonation.become(target, action, authorizer, LastModes() if last is None else last)


@given(
    st.sampled_from(["jane", BOT, "system:node:one", "system:node:No_Name"]),
    st.lists(st.sampled_from([MASTERS, "", "a", "b", "c", "system:authenticated"]), max_size=6),
    st.sampled_from(["", "u1"]),
)
def test_no_mode_gives_the_group_of_administrators(name: str, groups: list[str], uid: str) -> None:
    target = User(name, uid, tuple(groups))
    is_account = name == BOT or name == "system:node:one"
    if MASTERS in groups or "" in groups or (is_account and (groups or uid)):
        with pytest.raises(StatusError):
            become(target, Authorizer(every_mode))
    else:
        user, verb = become(target, Authorizer(every_mode))
        assert verb.startswith("impersonate:")
        assert MASTERS not in user.groups
    everything = Authorizer(lambda attributes: True)
    assert set(groups) <= set(become(target, everything)[0].groups)  # plain impersonation does


def test_attempts_and_their_permission_checks_are_counted_by_mode() -> None:
    samples, prefix = Samples(), "apiserver_impersonation_"
    action = Attributes(User("agent"), "list", version="v1", resource="pods")
    jane = User("jane")
    last, nobody = LastModes(), Authorizer(lambda attributes: False)
    impersonationmetrics.become(jane, action, Authorizer(every_mode), last, samples)
    with pytest.raises(StatusError):
        impersonationmetrics.become(jane, action, nobody, last, samples)
    counted = {
        ("attempts_total", "user-info", "allowed"): 1,
        ("attempts_total", "", "denied"): 1,
        ("authorization_attempts_total", "user-info", "allowed"): 2,
        ("authorization_attempts_total", "user-info", "denied"): 1,
        ("authorization_attempts_total", "legacy", "denied"): 1,
    }
    assert samples.numbers == {
        (prefix + name, *labels): n for (name, *labels), n in counted.items()
    }
    measured = {name.replace("total", "duration_seconds") for name, *_ in samples.numbers}
    assert {name for name, *_ in samples.histograms} == measured


def test_the_refusal_of_administrators_has_its_text() -> None:
    with pytest.raises(StatusError) as refused:
        become(User("jane", groups=(MASTERS,)), Authorizer(every_mode))
    assert refused.value.message.endswith("impersonating the system:masters group is not allowed")


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("", "v", "impersonating the empty string key in extra is not allowed"),
        ("plain", "v", "impersonating an invalid key in extra is not allowed: extra.key: Invalid"),
        ("example.com/A", "v", 'impersonating a non-lowercase key in extra is not allowed: "exa'),
        ("example.com/a", "", "impersonating the empty string value in extra is not allowed"),
    ],
)
def test_extra_values_need_keys_with_a_domain(key: str, value: str, text: str) -> None:
    with pytest.raises(StatusError, match=text):
        become(User("jane", extra=((key, (value,)),)), Authorizer(every_mode))


def test_an_account_acts_as_its_own_node_with_one_permission_for_all_nodes() -> None:
    agent = User(BOT, extra=((NODE_OF_ACCOUNT, ("one",)), ("other", ("x",))))
    authorizer = Authorizer(every_mode)
    user, verb = become(User("system:node:one"), authorizer, agent)
    assert (verb, user.groups) == (
        "impersonate:associated-node",
        ("system:nodes", "system:authenticated"),
    )
    first, second = authorizer.asked
    assert (first.verb, first.resource) == ("impersonate-on:associated-node:list", "pods")
    assert (second.resource, second.name) == ("nodes", "*")
    keys = ("authentication.kubernetes.io/associated-node-keys", (NODE_OF_ACCOUNT, "other"))
    assert first.user.extra == second.user.extra == (keys,)
    for other in (User(BOT), User("agent", extra=agent.extra)):
        assert become(User("system:node:one"), authorizer, other)[1] == "impersonate:arbitrary-node"
    assert become(User("system:node:two"), authorizer, agent)[1] == "impersonate:arbitrary-node"


@pytest.mark.parametrize(("number", "is_sufficient"), [(3, False), (4, True)])
def test_one_permission_for_all_groups_is_sufficient_for_many(
    number: int, is_sufficient: bool
) -> None:
    def allows(attributes: Attributes) -> bool:
        return every_mode(attributes) and (
            attributes.resource != "groups" or attributes.name == "*"
        )

    target = User("jane", groups=tuple(f"g{each}" for each in range(number)))
    if is_sufficient:
        assert become(target, Authorizer(allows))[1] == "impersonate:user-info"
    else:
        with pytest.raises(StatusError, match="cannot impersonate:user-info resource"):
            become(target, Authorizer(allows))


def test_the_mode_of_the_last_success_of_a_user_comes_first() -> None:
    modes = LastModes()
    authorizer = Authorizer(lambda attributes: attributes.verb == "impersonate")

    def first_verb(user: str) -> str:
        authorizer.asked.clear()
        verb = become(User("jane"), authorizer, User(user), modes)[1]
        assert verb == "impersonate"
        return authorizer.asked[0].verb

    assert [first_verb("a"), first_verb("a"), first_verb("b")] == [
        "impersonate-on:user-info:list", "impersonate", "impersonate-on:user-info:list",
    ]  # fmt: skip
    nobody = Authorizer(lambda attributes: False)
    with pytest.raises(StatusError, match='"a" cannot impersonate resource "users"'):
        become(User("jane"), nobody, User("a"), modes)
    with pytest.raises(StatusError, match="cannot impersonate-on:user-info:list"):
        become(User("jane"), nobody, User("c"), modes)
    everything = Authorizer(lambda attributes: True)
    assert become(User("jane"), everything, User("a"), modes)[1] == "impersonate"
    assert become(User("jane"), everything, User("c"), modes)[1] == "impersonate:user-info"


@pytest.mark.parametrize(("name", "key"), [("x%2fY", "x/y"), ("%zz%41", "%zz%41"), ("%41", "A")])
def test_keys_of_extra_values_are_unescaped_as_a_whole_or_not_at_all(name: str, key: str) -> None:
    headers = CIMultiDictProxy(
        CIMultiDict({"Impersonate-User": "u", f"Impersonate-Extra-{name}": "v"})
    )
    user = impersonation.read(headers)
    assert user is not None
    assert user.extra == ((key, ("v",)),)


@pytest.mark.parametrize("name", ["E:sa", "e:SA", ":sa", "e:", "e:s:a", "e"])
def test_names_that_no_account_can_have_are_those_of_users(name: str) -> None:
    authorizer = Authorizer(every_mode)
    user, verb = become(User(f"system:serviceaccount:{name}"), authorizer)
    assert verb == "impersonate:user-info"
    assert user.groups == ("system:authenticated",)
    assert {each.resource for each in authorizer.asked} == {"pods", "users"}
