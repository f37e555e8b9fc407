"""Exit code 3 for what must not be taken as it is, and for nothing else."""

import pytest
import typer

from steinquad.cli.suspect import SUSPECT, exit_if_suspect
from steinquad.fit import Status


@pytest.mark.parametrize("code", ["suspect", "not_finite"])
def test_a_doubtful_answer_ends_with_3(code):
    with pytest.raises(typer.Exit) as end:
        exit_if_suspect(Status(code, "a check failed"))
    assert end.value.exit_code == SUSPECT == 3


@pytest.mark.parametrize("code", ["converged", "constant", "max_steps", "max_n"])
def test_others_do_not_end_the_command(code):
    assert exit_if_suspect(Status(code, "")) is None
