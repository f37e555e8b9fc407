"""Wrong input: the message is a sentence, and its parts are fields."""

import pickle

from steinquad.errors import InputError


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
