import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import forests
from wordforest.coder.forest import Forest
from wordforest.errors import ForestError


def test_the_papers_tree_is_numbered_in_preorder() -> None:
    parent = Forest.complete(1, (3, 3)).parent.tolist()
    assert parent == [-1, 0, 1, 1, 1, 0, 5, 5, 5, 0, 9, 9, 9]


@pytest.mark.parametrize(("trees", "M"), [(4, 52), (20, 260), (40, 520)])
def test_the_papers_sizes(trees: int, M: int) -> None:
    assert len(Forest.complete(trees)) == M


def test_groups_are_slices_of_a_node_and_its_descendants() -> None:
    forest = Forest([-1, 0, 1, 1, 0, -1])
    assert forest.end.tolist() == [5, 4, 3, 4, 5, 6]
    assert forest.depth.tolist() == [0, 1, 2, 2, 1, 0]
    assert forest.roots.tolist() == [0, 5]
    assert forest.children(0) == [1, 4]


@given(forests())
def test_a_group_holds_exactly_the_descendants(forest: Forest) -> None:
    for i in range(len(forest)):
        inside = {i}
        for j in range(i + 1, len(forest)):
            if int(forest.parent[j]) in inside:
                inside.add(j)
        assert inside == set(range(i, forest.end[i]))


def test_flat_forest_has_single_nodes() -> None:
    assert Forest.flat(3) == Forest([-1, -1, -1])


@pytest.mark.parametrize("parent", [[], [0], [-1, 1], [-2], [-1, -1, 0], [-1, 0, -1, 1], [1, -1]])
def test_what_is_no_preorder_forest_is_refused(parent: list[int]) -> None:
    with pytest.raises(ForestError):
        Forest(parent)


def test_the_error_names_the_node_and_the_remedy() -> None:
    with pytest.raises(ForestError, match=r"parent\[2\] = 0, but it must be -1, node 1 .* Forest\.complete"):
        Forest([-1, -1, 0])


@pytest.mark.parametrize(("trees", "branching"), [(0, (3,)), (2, (3, 0)), (1, (-1,))])
def test_a_branching_that_is_no_forest_is_refused(trees: int, branching: tuple[int, ...]) -> None:
    with pytest.raises(ForestError):
        Forest.complete(trees, branching)


def test_a_forest_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Forest.flat(2).parent[0] = 1


def test_equal_forests_have_equal_hashes() -> None:
    assert hash(Forest.complete(2)) == hash(Forest.complete(2))
    assert Forest.complete(2) != Forest.complete(3)


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 3))
def test_a_complete_forest_is_the_one_grown_node_by_node(branching: list[int], trees: int) -> None:
    parent: list[int] = []

    def grow(above: int, widths: list[int]) -> None:
        node = len(parent)
        parent.append(above)
        for _ in range(widths[0] if widths else 0):
            grow(node, widths[1:])

    for _ in range(trees):
        grow(-1, branching)
    assert Forest.complete(trees, branching).parent.tolist() == parent


def test_a_tree_may_be_a_long_chain() -> None:
    assert Forest.complete(1, [1] * 3000).depth.max() == 3000
