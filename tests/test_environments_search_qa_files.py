"""Questions and corpora from JSONL files, and errors that name the place."""

import json

import pytest

from pivotlab.environments.search_qa import SearchQA
from pivotlab.environments.search_qa.files import FileLibrary, read_corpus

WIKI = [
    {"id": "0", "contents": '"Arnau"\nArnau lies on the Isar.\nIt is old.'},
    {"title": "Isar", "text": "The Isar flows into the Amber Sea."},
    {"title": "Esk", "text": "It flows into the Dusk Ocean."},
]
HOTPOT = {
    "_id": "h1",
    "question": "Into what does the river of Arnau flow?",
    "answer": "Amber Sea",
    "supporting_facts": [["Arnau", 0], ["Isar", 0], ["Isar", 1]],
}
NQ = {
    "id": "n1",
    "question": "where does the esk end",
    "golden_answers": ["Dusk Ocean"],
}


@pytest.fixture
def write(tmp_path):
    def written(questions, corpus=WIKI):
        paths = []
        for name, rows in (("questions", questions), ("corpus", corpus)):
            paths.append(tmp_path / f"{name}.jsonl")
            lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
            paths[-1].write_text("\n".join(lines) + "\n")
        return paths

    return written


def test_both_forms_of_passages(write):
    passages = read_corpus(write([NQ])[1])
    assert [p.title for p in passages] == ["Arnau", "Isar", "Esk"]
    assert passages[0].text == "Arnau lies on the Isar.\nIt is old."


def test_hotpotqa_and_nq_side_by_side(write):
    library = FileLibrary(*write([HOTPOT, "", NQ]))
    assert library.tasks == ["h1", "n1"] and library.skips.total() == 0
    assert library("h1")[1].evidence == (frozenset([0]), frozenset([1]))
    assert library("n1")[1].evidence == (frozenset([2]),)
    env = SearchQA(library)
    env.reset("h1")
    for left in (2, 1):
        assert env.remaining_turns() <= left + 1
        env.step(env.optimal_actions()[0])
        if env.remaining_turns() == 1:
            break
    assert env.step(env.optimal_actions()[0]).reward == 1.0


def test_the_columns_of_the_hub_version(write):
    row = HOTPOT | {"supporting_facts": {"title": ["Isar", "Isar"], "sent_id": [0, 1]}}
    assert FileLibrary(*write([row]))("h1")[1].evidence == (frozenset([1]),)


def test_answers_are_found_as_whole_words_only(write):
    row = NQ | {"golden_answers": ["sea", "amber s"]}
    assert FileLibrary(*write([row]))("n1")[1].evidence == (frozenset([1]),)


def test_questions_without_evidence_are_counted_and_out_of_reach(write):
    row = HOTPOT | {"supporting_facts": [["Nile", 0]]}
    library = FileLibrary(*write([row, NQ]))
    assert library.skips == {"evidence_not_in_corpus": 1}
    env = SearchQA(library)
    env.reset("h1")
    assert env.remaining_turns() == float("inf")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([NQ, "{"], r"questions.jsonl, line 2: no JSON"),
        ([NQ, "[1]"], r"line 2: needs an object"),
        (
            [{"id": 1, "answer": "x"}],
            r"line 1, field 'question': missing; needs a text",
        ),
        ([NQ | {"golden_answers": []}], r"line 1, field 'answer': \[\]; needs a text"),
        ([NQ, NQ], r"line 2: id 'n1' occurs twice"),
        ([HOTPOT | {"supporting_facts": "x"}], r"line 1, field 'supporting_facts'"),
    ],
)
def test_a_bad_line_is_named(write, rows, message):
    with pytest.raises(ValueError, match=message):
        FileLibrary(*write(rows))


def test_a_bad_passage_is_named(write):
    with pytest.raises(ValueError, match="corpus.jsonl, line 1, field 'text': ''"):
        FileLibrary(*write([NQ], [{"title": "x", "text": ""}]))


def test_a_task_that_is_not_there_is_named(write):
    with pytest.raises(ValueError, match="no question 'x'; ids look like 'n1'"):
        FileLibrary(*write([NQ]))("x")
