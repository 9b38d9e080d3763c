"""Strategic merge patch."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patch.metas import POD

from kadmit.patch import strategic
from kadmit.patch.equality import same
from kadmit.patch.errors import PatchError, Reason


def named(*names: str, **fields: object) -> list[object]:
    return [{"name": name, **fields} for name in names]


def containers(*names: str) -> dict[str, object]:
    return {"spec": {"containers": named(*names)}}


def finalizers(*names: str) -> dict[str, object]:
    return {"metadata": {"finalizers": list(names)}}


RESULTS: list[tuple[str, dict[str, object], dict[str, object], dict[str, object]]] = [
    (
        "maps merge",
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"c": "d"}}},
        {"metadata": {"labels": {"a": "b", "c": "d"}}},
    ),
    ("null removes", {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {}}}),
    (
        "another type replaces, without nulls",
        {"spec": {"nodeSelector": []}},
        {"spec": {"nodeSelector": {"a": None, "b": "c"}}},
        {"spec": {"nodeSelector": {"b": "c"}}},
    ),
    (
        "a list without a strategy is replaced",
        {"spec": {"tolerations": [1]}},
        {"spec": {"tolerations": [{"key": None}]}},
        {"spec": {"tolerations": [{"key": None}]}},
    ),
    (
        "items merge by key",
        {"spec": {"containers": named("a", "b", image="x")}},
        {"spec": {"containers": named("b", image="y")}},
        {"spec": {"containers": [*named("a", image="x"), *named("b", image="y")]}},
    ),
    ("a new item comes first", containers("a", "b"), containers("z"), containers("z", "a", "b")),
    (
        "a new item follows the one that the patch names before it",
        containers("a", "b"),
        containers("a", "z"),
        containers("a", "z", "b"),
    ),
    ("the patch reorders what it names", containers("a", "b", "c"), containers("c", "a"), containers("b", "c", "a")),
    (
        "a new item keeps its nulls",
        containers("a"),
        {"spec": {"containers": named("b", image=None)}},
        {"spec": {"containers": [*named("b", image=None), *named("a")]}},
    ),
    (
        "a new list loses nulls and deletions",
        {"spec": {}},
        {"spec": {"containers": [*named("a", image=None), {"name": "b", "$patch": "delete"}]}},
        containers("a"),
    ),
    (
        "items inside items merge",
        {"spec": {"containers": named("a", env=named("x", "y"))}},
        {"spec": {"containers": named("a", env=named("y", value="1"))}},
        {"spec": {"containers": named("a", env=[*named("x"), *named("y", value="1")])}},
    ),
    (
        "keys may be numbers",
        {"spec": {"containers": named("a", ports=[{"containerPort": 80}])}},
        {"spec": {"containers": named("a", ports=[{"containerPort": 80, "name": "http"}])}},
        {"spec": {"containers": named("a", ports=[{"containerPort": 80, "name": "http"}])}},
    ),
    (
        "$patch: delete takes an item",
        containers("a", "b"),
        {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
        containers("b"),
    ),
    (
        "$patch: delete of a missing item is nothing",
        containers("a"),
        {"spec": {"containers": [{"name": "z", "$patch": "delete"}]}},
        containers("a"),
    ),
    (
        "$patch: replace in a list replaces it",
        containers("a", "b"),
        {"spec": {"containers": [{"$patch": "replace"}, *named("c")]}},
        containers("c"),
    ),
    (
        "$patch: replace in a map replaces it",
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"$patch": "replace", "c": "d"}}},
        {"metadata": {"labels": {"c": "d"}}},
    ),
    (
        "$patch: delete in a map empties it",
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"$patch": "delete"}}},
        {"metadata": {"labels": {}}},
    ),
    (
        "$patch: replace of an absent map leaves nothing",
        {"metadata": {}},
        {"metadata": {"labels": {"$patch": "replace", "c": "d"}}},
        {"metadata": {}},
    ),
    ("$patch works on the whole object", {"spec": {}}, {"$patch": "replace", "kind": "Pod"}, {"kind": "Pod"}),
    (
        "$retainKeys drops the other keys",
        {"spec": {"volumes": named("v", emptyDir={})}},
        {"spec": {"volumes": named("v", hostPath={"path": "/"}, **{"$retainKeys": ["name", "hostPath"]})}},
        {"spec": {"volumes": named("v", hostPath={"path": "/"})}},
    ),
    ("scalars merge without doubles", finalizers("a", "b"), finalizers("b", "c", "c"), finalizers("a", "b", "c")),
    ("new scalars come first", finalizers("a", "b"), finalizers("z"), finalizers("z", "a", "b")),
    (
        "$deleteFromPrimitiveList deletes",
        finalizers("a", "b", "c"),
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "c", "z"]}},
        finalizers("b"),
    ),
    (
        "$deleteFromPrimitiveList of a missing list is nothing",
        {"metadata": {}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
        {"metadata": {}},
    ),
    (
        "deletions come before additions",
        finalizers("a", "b"),
        {"metadata": {"finalizers": ["a"], "$deleteFromPrimitiveList/finalizers": ["a"]}},
        finalizers("a", "b"),
    ),
    (
        "$setElementOrder orders scalars",
        finalizers("a", "b"),
        {"metadata": {"finalizers": ["c"], "$setElementOrder/finalizers": ["b", "c", "a"]}},
        finalizers("b", "c", "a"),
    ),
    (
        "$setElementOrder alone reorders",
        containers("a", "b", "c"),
        {"spec": {"$setElementOrder/containers": named("c", "a")}},
        containers("b", "c", "a"),
    ),
    (
        "$setElementOrder places a new item",
        containers("a", "b"),
        {"spec": {"$setElementOrder/containers": named("a", "z", "b"), "containers": named("z")}},
        containers("a", "z", "b"),
    ),
    (
        "live items keep their place in the order",
        containers("a", "live", "b"),
        {"spec": {"$setElementOrder/containers": named("a", "b")}},
        containers("a", "live", "b"),
    ),
    ("$setElementOrder of nothing is nothing", {"spec": {}}, {"spec": {"$setElementOrder/containers": named("a")}}, {"spec": {}}),
    (
        "an empty $setElementOrder turns new items round and puts them last",
        containers("a", "b"),
        {"spec": {"$setElementOrder/containers": [], "containers": named("y", "z")}},
        containers("a", "b", "z", "y"),
    ),
    (
        "a new item that takes a deleted one's place counts as live",
        containers("gone", "live"),
        {
            "spec": {
                "$setElementOrder/containers": named("new"),
                "containers": [*named("new"), {"name": "gone", "$patch": "delete"}],
            }
        },
        containers("live", "new"),
    ),
    (
        "an unknown field is kept for the decoder to complain of",
        {"spec": {}},
        {"spec": {"colour": {"a": [{"b": None}]}}},
        {"spec": {"colour": {"a": [{}]}}},
    ),
]


@pytest.mark.parametrize(("original", "patch", "expected"), [case[1:] for case in RESULTS], ids=[case[0] for case in RESULTS])
def test_patch_gives_the_result(original: dict[str, object], patch: dict[str, object], expected: object) -> None:
    kept = copy.deepcopy([original, patch])
    assert same(strategic.apply(original, patch, POD), expected)
    assert same([original, patch], kept)


LIVE: dict[str, object] = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["a"]},
    "spec": {
        "containers": named("a", env=named("x")),
        "tolerations": [{"key": "k"}],
        "securityContext": {"runAsUser": 1, "x": {}},
    },
}
FAILURES: list[tuple[dict[str, object], str]] = [
    (
        {"spec": {"tolerations": [], "$setElementOrder/tolerations": []}},
        "map: map[key:k] does not contain declared merge key: ",
    ),
    (
        {"spec": {"containers": [{}], "$setElementOrder/containers": [1]}},
        "expected a map[string]interface {}, but received a int64",
    ),
    (
        {"spec": {"$patch": "explode", "b": [1, None], "a": True}},
        "unknown patch type: explode in map: map[$patch:explode a:true b:[1 <nil>]]",
    ),
    ({"spec": {"$patch": 5}}, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
    (
        {"spec": {"containers": [{"name": "a", "$patch": "explode"}]}},
        "unknown patch type: explode in map: map[$patch:explode name:a]",
    ),
    ({"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}, "merging lists cannot yet be specified in the patch"),
    ({"spec": {"containers": [{"image": "x"}]}}, "map: map[image:x] does not contain declared merge key: name"),
    ({"spec": {"containers": [{"$patch": "delete"}]}}, "map: map[$patch:delete] does not contain declared merge key: name"),
    ({"spec": {"containers": ["a"]}}, "list element types are not identical: [[map[env:[map[name:x]] name:a]] [a]]"),
    ({"spec": {"containers": [None]}}, "list element types are not identical: [[map[env:[map[name:x]] name:a]] [<nil>]]"),
    (
        {"metadata": {"labels": {"c": {"d": "e"}, "a": {"f": "g"}}, "nosuch": {}}, "spec": {"securityContext": {"x": {"y": 1}}}},
        'unable to find api field in struct PodSecurityContext for the json field "x"',
    ),
    (
        {"metadata": {"$setElementOrder/nosuch": ["a"]}},
        'unable to find api field in struct ObjectMeta for the json field "nosuch"',
    ),
    ({"metadata": {"$setElementOrder/labels": ["a"]}}, "expected a []interface {}, but received a map[string]interface {}"),
    ({"metadata": {"$setElementOrder/annotations": ["a"]}}, "expected slice or array type, but got: struct"),
    ({"spec": {"$setElementOrder/containers": "a"}}, "expected a []interface {}, but received a string"),
    ({"spec": {"$setElementOrder/containers": None}}, "expected a []interface {}, but received a %!s(<nil>)"),
    ({"spec": {"$setElementOrder/containers": ["a"]}}, "value for key 0 is not a map"),
    ({"spec": {"$setElementOrder/containers": [{}]}}, "map: map[] does not contain declared merge key: name"),
    (
        {"spec": {"$setElementOrder/containers": ["a"], "containers": named("z")}},
        "expected a map[string]interface {}, but received a string",
    ),
    (
        {"spec": {"$setElementOrder/containers": named("a"), "containers": named("z")}},
        "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ),
    (
        {"metadata": {"$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b", "a"]}},
        "The order in patch list:\n[b a]\n doesn't match $setElementOrder list:\n[a b]\n",
    ),
    ({"spec": {"$setElementOrder/volumes": named("a"), "volumes": []}}, "no elements in any of the given slices"),
    ({"spec": {"$deleteFromPrimitiveList/tolerations": [{"key": "k"}]}}, "cannot merge lists without merge key for struct"),
    ({"metadata": {"$retainKeys": [{}]}}, "runtime error: hash of unhashable type map[string]interface {}"),
]


@pytest.mark.parametrize(("patch", "message"), FAILURES)
def test_patch_that_does_not_fit_says_why(patch: dict[str, object], message: str) -> None:
    with pytest.raises(PatchError) as caught:
        strategic.apply(LIVE, patch, POD)
    assert (caught.value.message, caught.value.reason) == (message, Reason.INAPPLICABLE)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"metadata": {"$deleteFromPrimitiveListX/finalizers": []}}, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrder": []}}, "invalid patch format of setElementOrder list"),
        ({"metadata": {"$retainKeys": "a"}}, "invalid patch format of retainKeys"),
        ({"metadata": {"$retainKeys": ["labels"], "finalizers": ["a"]}}, "invalid patch format of retainKeys"),
    ],
)
def test_malformed_directive_is_told_apart(patch: dict[str, object], message: str) -> None:
    with pytest.raises(PatchError) as caught:
        strategic.apply(LIVE, patch, POD)
    assert (caught.value.message, caught.value.reason) == (message, Reason.MALFORMED)


def test_lists_of_lists_are_told_apart() -> None:
    with pytest.raises(PatchError) as caught:
        strategic.apply({"metadata": {"finalizers": []}}, {"metadata": {"finalizers": [[]]}}, POD)
    assert (caught.value.message, caught.value.reason) == ("lists of lists are not supported", Reason.UNSUPPORTED)


def test_maps_of_objects_cannot_be_merged_into() -> None:
    live: dict[str, object] = {"metadata": {"labels": {"a": {"b": {}}}}}
    with pytest.raises(PatchError, match="merging an object in json but data type is not struct, instead is: map"):
        strategic.apply(live, {"metadata": {"labels": {"a": {"b": {}}}}}, POD)


def test_untouched_parts_are_shared() -> None:
    patched = strategic.apply(LIVE, {"metadata": {"labels": {"c": "d"}}}, POD)
    assert patched["spec"] is LIVE["spec"]


def test_deep_patches_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"metadata": deep}
    with pytest.raises(PatchError, match="exceeded max depth"):
        strategic.apply({}, deep, POD)


def test_long_lists_merge_in_good_time() -> None:
    many = [f"name-{number}" for number in range(20_000)]
    patched = strategic.apply(containers(*many), containers(*reversed(many)), POD)
    assert patched == containers(*reversed(many))
    empty_order: dict[str, object] = {"spec": {"$setElementOrder/containers": [], "containers": named(*many)}}
    assert strategic.apply(containers("live"), empty_order, POD) == containers("live", *reversed(many))


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
ENV: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"name": st.sampled_from("abc")}, optional={"value": st.sampled_from(["x", "y", None])}
)
CONTAINER: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"name": st.sampled_from("abcd")},
    optional={"image": st.sampled_from("xyz"), "env": st.lists(ENV, max_size=3, unique_by=lambda item: str(item["name"]))},
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {}, optional={"finalizers": NAMES, "labels": st.dictionaries(st.sampled_from("abc"), st.just("v"))}
        ),
        "spec": st.fixed_dictionaries(
            {}, optional={"containers": st.lists(CONTAINER, max_size=4, unique_by=lambda item: str(item["name"]))}
        ),
    }
)


@given(PODS, PODS)
def test_patch_without_directives_can_be_repeated_and_leaves_its_input_alone(
    original: dict[str, object], patch: dict[str, object]
) -> None:
    kept = copy.deepcopy([original, patch])
    once = strategic.apply(original, patch, POD)
    assert same([original, patch], kept)
    assert _names(strategic.apply(once, patch, POD)) == _names(once)


@given(NAMES, NAMES, NAMES)
def test_order_of_the_patch_and_order_of_the_live_list_both_hold(live: list[str], added: list[str], deleted: list[str]) -> None:
    patch = [*named(*added), *({"name": name, "$patch": "delete"} for name in deleted)]
    patched = strategic.apply(containers(*live), {"spec": {"containers": patch}}, POD)
    names = _names(patched)
    untouched = [name for name in live if name not in added and name not in deleted]
    assert [name for name in names if name in added] == added
    assert [name for name in names if name not in added] == untouched


def _names(pod: dict[str, object]) -> list[object]:
    spec = pod["spec"]
    assert isinstance(spec, dict)
    return [container["name"] for container in spec.get("containers", [])]
