"""Directories of commands: gone with the command, or with the next one."""

import os
import signal
import subprocess
import sys
import time

import pytest
from small_study import wait_until

from steinquad.studies.calls import scratch
from steinquad.studies.calls.scratch import remove_abandoned, scratch_directory


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))


def test_a_directory_lasts_as_long_as_its_block(tmp_path):
    with pytest.raises(RuntimeError), scratch_directory() as place:
        (place / "input").write_text("x")
        assert place.parent == tmp_path and place.stat().st_mode & 0o777 == 0o700
        remove_abandoned()
        assert (place / "input").exists()
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    code = (
        "import time\n"
        "from steinquad.studies.calls.scratch import scratch_directory\n"
        "with scratch_directory() as place:\n"
        "    (place / 'input').write_text('x')\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    wait_until(lambda: list(tmp_path.glob("*/input")))
    (tmp_path / "steinquad-file").write_text("of somebody else")
    (tmp_path / "other").mkdir()
    (tmp_path / "steinquad-young").mkdir()  # its lock is yet to come
    (tmp_path / "steinquad-link").symlink_to(tmp_path / "other")
    old = tmp_path / "steinquad-old"
    old.mkdir()
    os.utime(old, (time.time() - 1e4,) * 2)
    remove_abandoned()
    assert len(list(tmp_path.glob("*/input"))) == 1 and not old.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    remove_abandoned()
    kept = {"steinquad-file", "other", "steinquad-young", "steinquad-link"}
    assert set(os.listdir(tmp_path)) == kept
