"""Fields of untrusted JSON."""

import pytest

from pivotlab.trajectories import fields


@pytest.mark.parametrize(
    "content, expected",
    [
        (None, ""),
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], "ab"),
        (["a", {"type": "refusal", "refusal": "no"}], "ano"),
        ([{"type": "image_url", "image_url": {}}], "[image_url]"),
        ({"rows": [1]}, '{"rows": [1]}'),
        ([1, 2], "[1, 2]"),
        (5, "5"),
        ([], ""),
    ],
)
def test_content_becomes_one_text_and_nothing_disappears(content, expected):
    assert fields.text(content, "content") == expected


def test_errors_name_field_problem_and_fix():
    with pytest.raises(fields.FormatError) as caught:
        fields.mapping([1], "row.info")
    assert str(caught.value) == "row.info: is a list; expected an object"
    with pytest.raises(fields.FormatError, match="traj: is a boolean; expected a list"):
        fields.sequence(True, "traj")
    assert fields.sequence(None, "traj") == []


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "not JSON"),
        ("[1,\n", "not JSON .*line 1"),
        ("[" * 100_000, "not JSON"),
        ("", "empty"),
        (" \n", "empty"),
    ],
)
def test_undecodable_text_is_one_clear_error(text, said):
    with pytest.raises(fields.FormatError, match=f"line: is {said}"):
        fields.loads(text, "line")


def test_halves_of_characters_are_mended_and_whole_ones_kept():
    assert fields.loads(r'["cut \ud83d", "\ud83d\ude00", {"\udc00": 1}]') == [
        "cut �",
        "😀",
        {"�": 1},
    ]


@pytest.mark.parametrize(
    "value, expected", [(True, 1.0), (0, 0.0), (0.5, 0.5), ("1", None), (None, None)]
)
def test_rewards_are_numbers_or_unknown(value, expected):
    assert fields.reward(value) == expected


def test_a_file_that_is_no_json_is_told_what_is_read():
    with pytest.raises(fields.FormatError, match="file: is not JSON .*; give JSON or"):
        fields.loads("a,b\n1,2", "file")
    with pytest.raises(fields.FormatError, match="repair the text or remove the row"):
        fields.loads("a,b\n1,2", "row")
