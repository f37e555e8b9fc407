"""Wrong input: the message is a sentence, and its parts are fields."""

import pickle

import numpy as np

from steinquad.errors import InputError, shown, shown_point


def test_an_error_knows_its_argument_and_problem():
    error = InputError.about("seed", "is -1; give an integer >= 0")
    assert isinstance(error, ValueError) and str(error) == "seed is -1; give an integer >= 0."
    assert (error.argument, error.problem) == ("seed", "is -1; give an integer >= 0")


def test_one_without_an_argument_is_all_problem():
    error = InputError("nothing fits; try again.")
    assert (error.argument, error.problem) == ("", "nothing fits; try again")


def test_errors_come_back_from_other_processes_whole():
    error = pickle.loads(pickle.dumps(InputError.about("n", "is 1; give more")))
    assert (str(error), error.argument, error.problem) == (
        "n is 1; give more.",
        "n",
        "is 1; give more",
    )


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


def test_values_are_shown_short_and_on_one_line():
    assert shown("a") == "'a'" and shown(-1) == "-1"
    assert "\n" not in shown(np.zeros((30, 3))) and len(shown("x" * 1000)) == 80
    assert shown(10**5000) == "int that cannot be printed"
    assert shown(Unprintable()) == "Unprintable that cannot be printed"


def test_a_point_is_short_and_has_the_digits_to_find_it_by():
    assert shown_point(np.array([1 / 3, -2e-9])) == "x = (0.333333, -2e-09)"
    assert shown_point(np.zeros(1000)) == "x = (0, 0, 0, 0, 0, 0, ...)"
