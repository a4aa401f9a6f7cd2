"""Advice is text with two parts, which stay apart whatever is done with it."""

import copy
import json

from confide.base.advice import Advice, remedy_of, says_of

FEW = Advice.of("there are few rows.", "Use more (--rows).")


def test_the_text_is_both_parts():
    assert FEW == "there are few rows. Use more (--rows)."
    assert (says_of(FEW), remedy_of(FEW)) == ("there are few rows.", "Use more (--rows).")
    assert json.dumps([FEW]) == json.dumps([str(FEW)])


def test_without_a_remedy_it_is_what_it_says():
    assert Advice.of("so it is.") == "so it is."
    assert (says_of("so it is."), remedy_of("so it is."), remedy_of(Advice.of("so."))) == ("so it is.", "", "")


def test_words_of_their_own():
    told = Advice.of("There is a test.", "The test is x.", "There is a test: x.")
    assert (told, told.says, told.remedy) == ("There is a test: x.", "There is a test.", "The test is x.")


def test_parts_are_kept():
    told = Advice.joined([FEW, "plain.", Advice.of("Two.", "Do two.")]).capitalised().after("Here: ")
    assert told == "Here: There are few rows. Use more (--rows). plain. Two. Do two."
    assert told.says == "Here: There are few rows. plain. Two."
    assert told.remedy == "Use more (--rows). Do two."
    same = copy.deepcopy(told)
    assert (same, same.says, same.remedy) == (told, told.says, told.remedy)
