"""The tests that tools/matrix.py runs with other versions. pytest runs none of them if one is
missing."""

from pathlib import Path

import matrix
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", matrix.SUITE)
def test_tests_of_the_matrix_exist(name):
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text()
    assert f"def {function or 'test_'}" in text
