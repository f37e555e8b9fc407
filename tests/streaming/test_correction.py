"""What a pass keeps of rows: the values of the formula, whatever batches they come in."""

import numpy as np
import pytest
from helpers import assert_close
from small_files import QUICK, frame_of, named, normal_rows, written

import steinquad as sq
from steinquad.fit import ConstantModel
from steinquad.measures import as_measure
from steinquad.points import Points
from steinquad.streaming import source as module
from steinquad.streaming.correction import Correction
from steinquad.streaming.source import Columns, Source
from steinquad.support import Support


def correction_of(source, fit, fitted=(), held_out=None, **options):
    known = {"measure": None, "support": None, "blocks": 10} | options
    held_out = np.zeros((0, 3)) if held_out is None else held_out
    return Correction(
        fit=fit,
        columns=source.columns,
        rows=source.rows,
        fitted=np.array(fitted, dtype=int),
        held_out=held_out,
        **known,
    )


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("batch", [3, 1000])
def test_values_are_those_of_the_model_and_held_out_for_fitted_rows(
    tmp_path, monkeypatch, d, batch
):
    monkeypatch.setattr(module, "BATCH", batch)
    x = normal_rows(200, d)
    frame = frame_of(x)
    fx = frame[["f0", "f1", "f2"]].to_numpy()
    fit = sq.estimate(sq.Dataset(x[::4], fx[::4], -x[::4]), method=QUICK).fit
    source = Source.open(written(tmp_path / "a", frame, group=33), Columns.of(**named(d)))
    fitted, held_out = np.arange(0, 200, 4), np.arange(150.0).reshape(50, 3)
    reports = []
    passed = correction_of(source, fit, fitted, held_out).of_piece(
        source.pieces[0], reports.append
    )
    values = fit.theta0 + fx - fit.predict(Points(x, -x))[0]
    values[::4] = held_out
    columns = np.concatenate([values, fx, np.abs(fx), x], axis=1)
    total = passed.moments.total
    assert_close(total.mean[0], columns.mean(axis=0), rtol=1e-12)
    assert_close(total.second[0], 200 * columns.var(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(passed.moments.n, np.full((10, 1), 20.0))
    assert sum(each.tally.n for each in reports) == 200 and passed.tally.n == 200
    assert passed.left == pytest.approx(values.std(axis=0).max())
    v, f, size, place = passed.places
    assert (v.stop, f.start, size.start, place.start) == (3, 3, 6, 9)


def test_points_and_values_that_are_refused_are_named(tmp_path):
    x = normal_rows(100, 2)
    x[57, 1] = -9.0
    folder = written(tmp_path / "a", frame_of(x), (30,))
    source = Source.open(folder, Columns.of(**named(2)))
    fit = sq.Fit(theta0=np.zeros(3), covariance=np.eye(3), model=ConstantModel(*np.zeros((2, 3))))
    support = Support.parse({1: (-8.0, None)}, 2)
    outside = correction_of(source, fit, support=support)
    assert outside.of_piece(source.pieces[0]).tally.n == 30
    with pytest.raises(sq.InputError, match=r"001.parquet has at row 27 the point .*, -9\), outs"):
        outside.of_piece(source.pieces[1])

    class Breaks(ConstantModel):
        def __call__(self, points, return_std):
            g, std = super().__call__(points, return_std)
            return np.where(points.x[:, 1:] < -8, np.inf, g), std

    broken = sq.Fit(theta0=np.zeros(3), covariance=np.eye(3), model=Breaks(*np.zeros((2, 3))))
    with pytest.raises(sq.InputError, match="row 27 .* the fit or the score is not finite"):
        correction_of(source, broken).of_piece(source.pieces[1])


def test_scores_of_a_measure_serve_for_those_of_the_files(tmp_path):
    import scipy.stats

    measure = as_measure([scipy.stats.norm(), scipy.stats.norm()])
    x = normal_rows(100, 2)
    fit = sq.estimate(sq.Dataset(x, x[:, 0] ** 2, -x), method=QUICK).fit
    folder = written(tmp_path / "a", frame_of(x))
    names = {"x": ["x0", "x1"], "value": ["f0"]}
    given = Source.open(folder, Columns.of(**names, score=["s0", "s1"]))
    asked = Source.open(folder, Columns.of(**names, score=None))
    first = correction_of(given, fit, held_out=np.zeros((0, 1))).of_piece(given.pieces[0])
    second = correction_of(asked, fit, measure=measure, held_out=np.zeros((0, 1))).of_piece(
        asked.pieces[0]
    )
    assert_close(second.moments.mean, first.moments.mean)
