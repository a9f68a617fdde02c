"""Questions have one answer, told hop by hop; editions differ in facts only."""

import collections
import subprocess
import sys

import pytest

from pivotlab.environments.search_qa import encyclopedia
from pivotlab.environments.search_qa.encyclopedia import (
    NAMES,
    RELATIONS,
    edition,
    library,
    read,
    task_ids,
    told,
)

PRINT = """
from pivotlab.environments.search_qa.encyclopedia import library, task_ids
for task in task_ids("test", 5):
    corpus, question = library(task)
    print(question.text, question.answers, corpus.search(question.text, 3))
"""


@pytest.mark.parametrize("number", [0, 64])
def test_a_name_brings_its_passage_first(number):
    book = edition(number)
    for name, place in book.places.items():
        assert book.corpus.search(name, 3)[0] == place
        assert book.corpus.passages[place].title == name


def test_every_fact_is_told_by_one_sentence_of_its_passage():
    book = edition(3)
    for kind, names in NAMES.items():
        for name in names:
            text = book.corpus.passages[book.places[name]].text
            for relation in RELATIONS[kind]:
                assert (
                    told(name, relation.noun, text) == book.facts[name, relation.noun]
                )
    assert told("Isar River", "sea", "The Esk River flows into the Dusk Ocean.") is None


def test_following_the_relations_gives_the_answer():
    hops = collections.Counter()
    for task in task_ids("valid", 150):
        corpus, question = library(task)
        name, nouns = read(question.text)
        for noun, evidence in zip(nouns, question.evidence, strict=True):
            (place,) = evidence
            assert corpus.passages[place].title == name
            name = told(name, noun, corpus.passages[place].text)
        assert question.answers == (name,)
        hops[len(nouns)] += 1
    assert set(hops) == {1, 2, 3} and min(hops.values()) > 25


def test_editions_share_names_and_not_facts():
    first, second = edition(0), edition(1)
    assert first.facts.keys() == second.facts.keys()
    same = sum(first.facts[key] == second.facts[key] for key in first.facts)
    assert same / len(first.facts) < 0.15


def test_splits_have_editions_of_their_own():
    numbers = {
        split: {int(task.split("/")[2]) for task in task_ids(split, 200)}
        for split in ("train", "valid", "test")
    }
    assert numbers == {"train": set(range(64)), "valid": {64}, "test": {65}}


def test_another_process_with_a_hash_seed_of_its_own_asks_the_same():
    printed = subprocess.run(
        [sys.executable, "-c", PRINT],
        env={"PYTHONHASHSEED": "7", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = []
    for task in task_ids("test", 5):
        corpus, question = library(task)
        found = corpus.search(question.text, 3)
        here.append(f"{question.text} {question.answers} {found}")
    assert printed.splitlines() == here


@pytest.mark.parametrize(
    "task", ["x", "generated/test/64/000001", "generated/train/9/1"]
)
def test_an_unknown_task_is_named_with_the_way_out(task):
    with pytest.raises(ValueError, match="no question .*editions 0-63"):
        library(task)


def test_another_question_is_refused():
    with pytest.raises(ValueError, match="not a question of the encyclopedia"):
        read("Who painted the Mona Lisa?")
    assert encyclopedia.MOST_HOPS == 3
