"""A small store and rows for it."""

import hashlib

from steinquad.studies.store import Evaluation

ABOUT = {"inputs": '["a"]', "outputs": '["y"]', "seed": "0"}


def done(number, value=1.0, **changes):
    row = Evaluation(number, "done", (0.1 * number,), (value,), 0.5, 1, None, None, "v1")
    return row._replace(**changes)


def filled(store, count=3000):
    with store.writing():
        store.record([done(i) for i in range(count)])
    return store.path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
