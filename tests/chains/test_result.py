"""The table in every form that it comes in."""

import json

import numpy as np
import pytest

import steinquad as sq

pytest.importorskip("pandas")


def test_the_frame_has_a_row_for_everything(summary):
    frame = summary.to_dataframe()
    columns = ["name", "statistic", "plain", "mcse", "mean", "std", "low", "high"]
    assert list(frame.columns) == [*columns, "reduction", "method", "warnings"]
    assert list(frame.name.unique()) == ["theta[north]", "theta[south]", "first"]
    assert list(frame.statistic[:3]) == ["mean", "variance", frame.statistic[2]]
    assert frame.statistic[2].startswith("P[x <= ") and list(frame.statistic[3:4]) == ["5%"]
    np.testing.assert_allclose(frame.reduction, (frame.mcse / frame["std"]) ** 2)
    assert (frame.low <= frame["mean"]).all() and (frame["mean"] <= frame.high).all()


def test_the_summary_is_like_that_of_arviz(summary):
    frame = summary.summary()
    assert list(frame.index) == ["theta[north]", "theta[south]", "first"]
    assert {"mean", "sd", "5%", "95%", "mcse_mean", "mcse_sd", "ess_bulk", "r_hat"} <= set(frame)
    row = summary["theta[north]", "variance"]
    assert frame.sd.iloc[0] == pytest.approx(np.sqrt(row.mean))
    assert frame.mcse_sd.iloc[0] == pytest.approx(row.std / (2 * np.sqrt(row.mean)))


def test_text_and_json(summary):
    text = str(summary)
    assert text.startswith("1000 draws of 4 chains") and "theta[south]" in text
    assert "order 3" in text and text.endswith("chose the method of every row")
    plain = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert plain["status"] == "converged" and len(plain["rows"]) == len(summary.rows)


def test_what_is_not_there_is_said(summary):
    with pytest.raises(sq.InputError, match="there is no mean of 'tau'; there are theta"):
        summary["tau"]
    with pytest.raises(sq.InputError, match="there is no 7% of"):
        summary["first", "7%"]
