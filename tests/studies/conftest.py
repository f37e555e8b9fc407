"""What the tests of studies share beside `small_study`."""

import pytest
from small_store import ABOUT
from small_study import study

import steinquad as sq
from steinquad.studies.store import Store


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """What every way of running a small study must give: mean and std."""
    answer = study(tmp_path_factory.mktemp("plain")).run()
    return answer.mean, answer.std


@pytest.fixture
def store(tmp_path):
    """A store in a directory that is not there yet."""
    return Store(tmp_path / "deep" / "s.sqlite", ABOUT)


@pytest.fixture
def load(tmp_path):
    """Load the study that a text describes, from the file s.toml."""

    def load(text):
        path = tmp_path / "s.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return sq.Study.load(path)

    return load
