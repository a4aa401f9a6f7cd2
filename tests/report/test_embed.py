"""What is put into a page comes out as it was, and never as markup."""

import base64
import json

import numpy as np
import pytest

from confide.report.embed import Pool, as_json, packed


@pytest.mark.parametrize(
    "text", ["</script>", "<!-- <script>", "a & b", "\u2028\u2029", 'quote " and \\', "Öst", "\U0001f600"]
)
def test_text_survives_without_a_sign_that_a_page_reads(text):
    written = as_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not set("<>&\u2028\u2029") & set(written)


def test_json_has_no_infinity():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(float("inf"))


def test_numbers_are_the_same_bits():
    values = np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1 / 3])
    assert base64.b64decode(packed(values)) == values.astype("<f8").tobytes()
    assert base64.b64decode(packed(values[::2])) == np.ascontiguousarray(values[::2]).tobytes()


def test_a_column_is_kept_once():
    pool = Pool()
    first, second = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    assert [pool.place(first), pool.place(second), pool.place(first.copy())] == [0, 1, 0]
    assert pool.columns == [packed(first), packed(second)]
