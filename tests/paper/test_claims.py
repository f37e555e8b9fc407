"""What the paper claims, held against the committed records: each confirmed or contradicted.

The verdicts are those of docs/reproduction.md. Close races are decided over six or ten seeds, pair
by pair. The others rest on the preset quick, which has one or two: so little is asked of single
numbers, and much of how many of them agree.
"""

from functools import cache
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

import steinquad as sq
from steinquad.paper.spec import load, names
from steinquad.paper.store import RecordStore
from steinquad.paper.summary import summarize
from steinquad.problems.genz import FAMILIES

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction"


@cache
def cells(figure, preset):
    store = RecordStore(RECORDS / f"{figure}.jsonl")
    return summarize(load(figure), preset, store.records.values())


def cell(figure, method, preset="quick", **where):
    """The one cell with this method, n, d, problem or design."""

    def fits(each):
        known = {"design": each.design, "n": each.run.n, "d": each.run.d}
        known |= {"problem": each.run.problem, "method": each.run.method}
        return known == known | where | {"method": method}

    (cell,) = (each for each in cells(figure, preset) if fits(each))
    return cell


def mean(figure, method, quantity="error", **where):
    """Of a quantity over the seeds."""
    return fmean(cell(figure, method, **where).values(quantity))


@pytest.mark.parametrize("figure", names())
def test_every_figure_has_its_quick_records(figure):
    needed = {run.key for run in load(figure).runs("quick")}
    recorded = {each.run.key for cell in cells(figure, "quick") for each in cell.records}
    assert needed <= recorded


def test_networks_beat_monte_carlo_in_ten_dimensions():
    """Figure 3: confirmed at n = 10,000; with n = 100 nothing is learned in ten dimensions."""
    for method in ("BSN.paper", "Default"):
        ratio = mean("dimension", "MC", n=10_000, d=10) / mean("dimension", method, n=10_000, d=10)
        assert ratio > 2


SIZES = (32, 128, 512)


def compare(figure, other, *, n=SIZES, designs=("iid", "iid")):
    """By what factor errors are larger than those of BSN.paper, run by run; its t statistic.

    The same points are behind both of a pair: the mean of the logarithms of their ratios counts,
    over its standard error. |t| > 3 comes with a chance of less than 1 % if there is nothing.
    """
    errors = [
        {
            (record.run.n, record.run.seed): np.log(record.error / abs(record.truth))
            for size in n
            for record in cell(figure, method, n=size, design=design).records
        }
        for method, design in zip(("BSN.paper", other), designs, strict=True)
    ]
    assert errors[0].keys() == errors[1].keys()
    ratios = np.array([errors[1][key] - errors[0][key] for key in errors[0]])
    t = ratios.mean() / (ratios.std(ddof=1) / np.sqrt(len(ratios)))
    return np.exp(ratios.mean()), t


def test_celu_and_tanh():
    """Figure 4: CELU has the lowest loss; its error cannot be distinguished from that of tanh."""
    for n in SIZES:
        loss = mean("activations", "BSN.paper", "loss", n=n)
        for name in ("tanh", "Gauss", "sigmoid", "TanhShrink"):
            assert mean("activations", f"BSN.paper {name}", "loss", n=n) > loss
    factor, t = compare("activations", "BSN.paper tanh")
    assert 0.5 < factor < 2 and abs(t) < 2
    for name in ("Gauss", "sigmoid", "TanhShrink"):
        factor, t = compare("activations", f"BSN.paper {name}")
        assert factor > 2.5 and t > 3


def test_kernel_methods_run_out_of_memory():
    """Figures 5 and 6: confirmed, with a limit of 6 GiB and n = 40,960."""
    for method in ("BQ", "Stein-CF"):
        (record,) = cell("d20", method, n=40_960).records
        assert record.status == "refused" and "needs 27 GiB" in record.message
    for method in ("BSN.paper", "Default"):
        (record,) = cell("d20", method, n=40_960).records
        assert record.estimate is not None and record.peak_mib < 3000


def test_points_of_monte_carlo_do_for_a_bsn():
    """Figure 11: that they are better cannot be seen; nor are Sobol points or a grid."""
    for design in ("sobol", "grid"):
        factor, t = compare("sampling", "BSN.paper", designs=("iid", design))
        assert 0.5 < factor < 2 and abs(t) < 2


def test_two_blocks_of_32_units():
    """Figure 12: that they are best for large n cannot be seen; nothing beats them either."""
    for shape in ("h=16, l=1", "h=16, l=2", "h=32, l=1", "h=64, l=1", "h=32, l=4"):
        factor, t = compare("architectures", f"BSN.paper {shape}", n=(512,))
        assert 1 < factor < 3 and t < 2
    for shape in ("h=64, l=1", "h=32, l=4"):
        slow = mean("architectures", f"BSN.paper {shape}", "cpu", n=512)
        assert slow > 1.5 * mean("architectures", "BSN.paper", "cpu", n=512)


def test_no_multiplier_beats_the_identity():
    """Figure 13: confirmed; diag(x) and pi(x) are far worse."""
    for name in ("1/(|x|^2+1)", "1/sqrt(|x|^2+1)"):
        factor, t = compare("multipliers", f"BSN.paper m={name}")
        assert 0.5 < factor < 2 and abs(t) < 2
    for name in ("pi(x)", "diag(x)"):
        factor, t = compare("multipliers", f"BSN.paper m={name}")
        assert factor > 10 and t > 6


def test_matern_kernel():
    """Figure 14: confirmed on continuous; that others do not care, contradicted on gaussian."""
    ratios = {
        family: mean("matern", "BQ", problem=f"genz-{family}", n=256)
        / mean("matern", "BQ Matern 1/2", problem=f"genz-{family}", n=256)
        for family in FAMILIES
    }
    assert ratios["continuous"] > 10 and ratios["gaussian"] < 0.1
    assert all(0.1 < ratios[each] < 10 for each in ratios.keys() - {"continuous", "gaussian"})


def test_who_wins_in_table_1():
    """Confirmed at n = 640: BSN on discontinuous, BQ on gaussian, both better than MC there."""
    for problem, best, other in (
        ("genz-discontinuous", "BSN.paper", "BQ"),
        ("genz-gaussian", "BQ", "BSN.paper"),
    ):
        errors = {name: mean("table1", name, problem=problem) for name in ("MC", best, other)}
        assert errors[best] < errors[other] / 2 and errors[best] < errors["MC"] / 2


# The same methods by others, over five seeds: the authors' network, and BQ by emukit.
RUN_AGAIN = {
    "BSN.paper": (8.1e-6, 4.5e-3, 4.3e-4, 3.7e-4, 3.0e-3, 9.3e-5),
    "BQ": (6.8e-4, 9.9e-3, 2.8e-6, 3.2e-4, 5.6e-4, 3.3e-4),
}
IN_TABLE = ("continuous", "discontinuous", "gaussian", "corner", "oscillatory", "product")


@pytest.mark.parametrize("family", IN_TABLE)
def test_errors_of_table_1(family):
    """Confirmed at n = 5120: at most three times the larger of the paper's and the run again."""
    published = load("table1").published[f"genz-{family}"]
    at = {"preset": "paper", "problem": f"genz-{family}"}
    for method, again in RUN_AGAIN.items():
        known = max(published[method], again[IN_TABLE.index(family)])
        assert mean("table1", method, **at) <= 3 * known
    for method in load("table1").methods:
        seeds = [record.run.seed for record in cell("table1", method, **at).records]
        assert sorted(seeds) == list(range(10))


@pytest.mark.parametrize("family", IN_TABLE)
def test_who_wins_in_table_1_of_the_papers_size(family):
    """Confirmed at n = 5120: BSN on discontinuous, BQ on gaussian; our default beats both."""
    at = {"preset": "paper", "problem": f"genz-{family}"}
    errors = {method: mean("table1", method, **at) for method in load("table1").methods}
    assert errors["Default"] == min(errors.values()) and errors["MC"] == max(errors.values())
    winner = {"discontinuous": "BSN.paper", "gaussian": "BQ"}.get(family)
    if winner is not None:
        assert errors[winner] == min(errors["BQ"], errors["BSN.paper"])


@pytest.mark.parametrize("family", FAMILIES)
def test_monte_carlo_in_table_1(family):
    """Its errors are what they must be: sd(f) / sqrt(n) |N(0, 1)|.

    With a chance of 1e-4 ten squares of normal numbers sum to less than 0.77 or more than 37.3,
    and 200 to less than 0.65 or more than 1.43 times their number. The ten seeds of the table are
    unlucky on continuous, 31.5 (a chance of 5e-4); 200 others say that it is luck. Errors of
    twice the size would sum to more than 37.3 with a chance of one half.
    """
    problem = sq.problems.genz(family, 2)
    z = np.random.default_rng(0).standard_normal((1_000_000, 2))
    expected = problem.integrand(z).std() / np.sqrt(5120)
    errors = cell("table1", "MC", preset="paper", problem=f"genz-{family}").values("error")
    assert len(errors) == 10
    relative = expected / abs(problem.truth)
    assert 0.77 < sum((error / relative) ** 2 for error in errors) < 37.3
    others = [
        problem.integrand(problem.measure.sample(5120, seed=seed)).mean() - problem.truth
        for seed in range(10, 210)
    ]
    assert 0.65 < fmean((other / expected) ** 2 for other in others) < 1.43


def test_bayesian_quadrature_wins_on_the_gaussian_peak():
    """Figure 18: confirmed."""
    for n in (80, 640, 2560):
        at = {"problem": "genz-gaussian", "n": n}
        assert mean("genz2d", "BQ", **at) < mean("genz2d", "BSN.paper", **at) / 2


def test_under_confident_in_one_dimension_and_not_in_two():
    """Figures 4 and 15 to 20: confirmed for the network at d = 1, contradicted for BQ at d = 2."""
    for n in SIZES:
        assert mean("activations", "BSN.paper", "calibration", n=n) < 0.2
    for problem in ("genz-continuous", "genz-corner"):
        for n in (640, 2560):
            assert mean("genz2d", "BQ", "calibration", problem=problem, n=n) > 3


PARAMETERS = ("a1", "alpha", "a2", "k")


def test_scaling_the_stein_operator_on_goodwin():
    """Figures 7 and 21: C = std and max against C = 1 confirmed, for chains as the paper's."""
    for name in PARAMETERS:
        for n in (200, 500):
            at = {"problem": f"goodwin-{name}", "n": n}
            plain = mean("goodwin", "BSN.paper C=1", **at)
            for scaled in ("std", "max"):
                assert mean("goodwin", f"BSN.paper C={scaled}", **at) < plain / 3


@pytest.mark.parametrize("name", PARAMETERS)
def test_control_functionals_with_many_points_on_goodwin(name):
    """Figures 7 and 21: contradicted; Stein-CF stays at the tolerance of the ODE's solver."""
    for preset, n in (("quick", 200), ("quick", 500), ("paper", 1000), ("paper", 5000)):
        at = {"preset": preset, "problem": f"goodwin-{name}", "n": n}
        assert mean("goodwin", "Stein-CF", **at) < 1e-7 < mean("goodwin", "MC", **at) / 100


def test_networks_beat_the_mean_of_the_chains_for_all_parameters():
    """Figures 7 and 21: for a1 confirmed; that they only match it for alpha is contradicted."""
    for name in PARAMETERS:
        at = {"problem": f"goodwin-{name}", "n": 500}
        for scaled in ("std", "max"):
            assert (
                mean("goodwin", f"BSN.paper C={scaled}", **at) < mean("goodwin", "MC", **at) / 10
            )


def test_wind_farm():
    """Figure 8: confirmed for BQ; for the published network at the largest n only."""
    for n in (80, 320, 1280):
        assert mean("wind-farm", "BQ", n=n) < mean("wind-farm", "MC", n=n)
        assert mean("wind-farm", "Default", n=n) < mean("wind-farm", "BQ", n=n)
        for method in ("BQ", "BSN.paper", "Default"):
            assert mean("wind-farm", method, "share-130", n=n) < 2e-3
    assert mean("wind-farm", "BSN.paper", n=1280) < mean("wind-farm", "MC", n=1280)
    assert mean("wind-farm", "BSN.paper", n=80) > mean("wind-farm", "MC", n=80)


@pytest.mark.parametrize(("preset", "lower"), [("quick", 10), ("paper", 2)])
def test_second_order_optimizers_reach_lower_losses(preset, lower):
    """Figure 9: confirmed, for a BSN and a plain network with CELU, also with 10,000 of Adam."""
    for network in ("BSN", "plain"):
        losses = {
            name: mean("optimizers", f"{network} {name}", "loss", preset=preset)
            for name in ("Adam", "Adam 32", "L-BFGS", "Hessian-free")
        }
        adam = min(losses["Adam"], losses["Adam 32"])
        assert max(losses["L-BFGS"], losses["Hessian-free"]) < adam / lower


def test_the_hessian_of_a_bsn_is_worse_conditioned():
    """Figure 9: confirmed, by an order of magnitude in the median."""
    ratios = []
    for name in ("Adam", "Adam 32", "L-BFGS", "Hessian-free"):
        bsn, plain = (
            {mark.iteration: mark.condition for mark in trajectory if mark.condition}
            for network in ("BSN", "plain")
            for trajectory in cell("optimizers", f"{network} {name}").trajectories
        )
        ratios += [bsn[step] / plain[step] for step in bsn.keys() & plain.keys()]
    assert len(ratios) >= 15 and median(ratios) > 5
    assert sum(ratio > 1 for ratio in ratios) >= len(ratios) - 1


def test_a_plain_network_may_have_relu_and_a_bsn_may_not():
    """Figure 10: confirmed with Adam; with second-order steps a plain network prefers CELU."""
    for name in ("Adam", "Adam 32"):
        relu = mean("relu", f"plain {name} ReLU", "loss")
        assert relu < mean("optimizers", f"plain {name}", "loss") / 10
    for name in ("L-BFGS", "Hessian-free"):
        relu = mean("relu", f"plain {name} ReLU", "loss")
        assert relu > mean("optimizers", f"plain {name}", "loss")
    for name in ("Adam", "Adam 32", "L-BFGS", "Hessian-free"):  # of a variance of 1
        assert mean("relu", f"BSN {name} ReLU", "loss") > 0.03
