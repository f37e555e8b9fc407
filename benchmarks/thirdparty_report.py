"""Statistics, tables and the figure of thirdparty.py, from its rows."""

import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from records import FIGURES

FLOOR = 1e-8  # of relative errors: smaller ones are alike
CLOSE, BEHIND = 2.0, 3.0  # factors of the best error
LIMIT = 4.0  # |error| / std that none may exceed unless it is suspect
DOUBTFUL = ("suspect", "not_finite")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- thirdparty: written by the command -->", "<!-- thirdparty: end -->"
NAMES = {
    "mc": "Monte Carlo",
    "sobol": "Sobol average",
    "openturns": "OpenTURNS",
    "polynomial-cdf": "Polynomial(cdf)",
    "polynomial-score": "Polynomial(score)",
    "chaos": "PolynomialChaos",
    "bq": "BayesianQuadrature",
    "cf": "ControlFunctional",
    "bsn": "BSN",
    "default": "**default**",
    "own": "**default**, own points",
}
SHORT = {
    "mc": "MC",
    "sobol": "Sobol",
    "openturns": "OpenTURNS",
    "default": "default",
    "own": "own",
}
OWN_POINTS = ("sobol", "own")
Row = Mapping[str, Any]


def judged(answer: Row, truth: Row) -> dict[str, Any]:
    """An answer beside the truth: error, relative error, error over std, whether it is covered.

    The relative error is over max(|truth|, sd f), or |truth| where the variance is infinite. Four
    errors of the truth itself are forgiven, which at the least are those of rounding.
    """
    if "mean" not in answer:
        return {}
    error = answer["mean"] - truth["mean"]
    sd = truth["sd"]
    scale = max(abs(truth["mean"]), 0.0 if sd is None else sd)
    row: dict[str, Any] = {"error": error, "relative": abs(error) / scale}
    if "std" in answer:
        beyond = max(abs(error) - 4 * truth["error"], 0.0)
        slack = 4 * truth["error"]
        row["ratio"] = (
            0.0 if beyond == 0 else beyond / answer["std"] if answer["std"] else math.inf
        )
        row["covered"] = answer["low"] - slack <= truth["mean"] <= answer["high"] + slack
    return row


def middle(values: Iterable[float]) -> float:
    """Geometric mean of relative errors, of which those below the floor are alike.

    >>> middle([1e-12, 1e-4]) == middle([1e-8, 1e-4])
    True
    """
    logs = [math.log(max(value, FLOOR)) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def grouped(rows: Iterable[Row], *fields: str) -> dict[Any, list[Row]]:
    """Rows by the values of some fields; by the value itself for one field."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[fields[0]] if len(fields) == 1 else tuple(row[f] for f in fields)].append(row)
    return found


def middles(rows: Iterable[Row]) -> dict[tuple[str, int], dict[str, float]]:
    """By problem and n: the geometric mean over seeds of every method's errors."""
    return {
        case: {
            m: middle(r["relative"] for r in some) for m, some in grouped(mine, "method").items()
        }
        for case, mine in grouped(rows, "problem", "n").items()
    }


def near_the_best(rows: Iterable[Row], method: str) -> tuple[int, int]:
    """In how many of all (problem, n) a method is within a factor of the best on its points."""
    cases = [case for case in middles(same_points(rows)).values() if method in case]
    return sum(case[method] <= CLOSE * min(case.values()) for case in cases), len(cases)


def far_behind(rows: Iterable[Row], method: str) -> list[dict[str, Any]]:
    """Cases in which a method is far behind another one, by more than its own std.

    Root mean squares over seeds of error and std, beside those of the best on the same points.
    """
    found = []
    for (problem, n), mine in sorted(grouped(same_points(rows), "problem", "n").items()):
        every = grouped(mine, "method")
        errors = {m: rms(r["relative"] for r in some) for m, some in every.items()}
        if method not in errors:
            continue
        best = min(errors, key=lambda m: errors[m])
        own, other = max(errors[method], FLOOR), max(errors[best], FLOOR)
        scale = [r["relative"] / abs(r["error"]) for r in every[method] if r["error"]]
        std = rms(r["std"] for r in every[method]) * (scale[0] if scale else 0.0)
        if own > BEHIND * other and own - other > std:
            case = {"problem": problem, "n": n, "error": own, "best": best}
            found.append(case | {"best_error": other, "std": std})
    return found


def same_points(rows: Iterable[Row]) -> list[Row]:
    """Of methods that were given the independent points, on the seeds that all of them have."""
    given = [row for row in rows if row["method"] not in OWN_POINTS]
    seeds = [{row["seed"] for row in some} for some in grouped(given, "method").values()]
    return [row for row in given if all(row["seed"] in each for each in seeds)]


def rms(values: Iterable[float]) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


def confidently_wrong(row: Row) -> bool:
    """Outside its interval without a warning."""
    return not row["covered"] and row.get("status") not in DOUBTFUL


def suspect(row: Row) -> bool:
    """Whether the status warns."""
    return row.get("status") in DOUBTFUL


def cover(rows: Sequence[Row]) -> str:
    """How many are inside of their intervals."""
    inside = sum(row["covered"] for row in rows)
    return f"{inside} of {len(rows)} ({inside / len(rows):.1%})" if rows else "-"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return [f"| {' | '.join(line)} |" for line in lines]


def number(value: float) -> str:
    """Two digits, without a padded exponent.

    >>> number(0.000123), number(0.0), number(12.3)
    ('1.2e-4', '0', '12')
    """
    if value == 0:
        return "0"
    if 0.1 <= abs(value) < 1000:
        return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


# --- the parts of the report ---------------------------------------------------------------------


def means(rows: list[Row]) -> list[str]:
    """Errors and cover of every method over the means."""
    sizes = sorted({row["n"] for row in rows})
    by = grouped(rows, "method")
    body = []
    for method in (m for m in NAMES if m in by):
        cells = []
        for n in sizes:
            mine = [row for row in by[method] if row["n"] == n]
            told = [row for row in mine if "covered" in row]
            cells += [
                number(middle(row["relative"] for row in mine)) if mine else "-",
                f"{np.mean([row['covered'] for row in told]):.1%}" if told else "-",
                number(float(np.mean([row["cpu"] for row in mine]))) if mine else "-",
            ]
        body.append([NAMES[method], str(len(by[method])), *cells])
    head = ["method", "runs"]
    for n in sizes:
        head += [f"error, n = {n}", "cover", "CPU s"]
    return table(head, body)


def verdicts(rows: list[Row]) -> list[str]:
    """Sentences about the default on the means."""
    lines = []
    for n in sorted({row["n"] for row in rows}):
        some = {m: [r for r in mine if r["n"] == n] for m, mine in grouped(rows, "method").items()}
        other = {
            m: middle(r["relative"] for r in some[m])
            for m in ("openturns", "sobol")
            if some.get(m)
        }
        for method in ("default", "own"):
            mine = some.get(method)
            if not mine:
                continue
            error = middle(row["relative"] for row in mine)
            ratios = ", ".join(f"{number(error / v)} of {NAMES[m]}'s" for m, v in other.items())
            ratios = f" ({ratios})" if ratios else ""
            lines.append(
                f"- n = {n}, {NAMES[method]}: error {number(error)}{ratios}; covers {cover(mine)}"
            )
    for method in ("default", "own"):
        mine = [row for row in rows if row["method"] == method]
        if not mine:
            continue
        sure = [row for row in mine if not suspect(row)]
        right = [row for row in mine if row["covered"]]
        beyond = [row for row in sure if row["ratio"] > LIMIT]
        worst = max((row["ratio"] for row in sure), default=0.0)
        lines.append(
            f"- {NAMES[method]}: worst |error|/std that is not suspect {number(worst)}, "
            f"{len(beyond)} above {LIMIT:g}{_where(beyond)}; suspect are "
            f"{sum(map(suspect, right))} of {len(right)} that are right, "
            f"{sum(map(suspect, mine))} of all {len(mine)}"
        )
    if any(row["method"] == "default" for row in rows):
        near, count = near_the_best(rows, "default")
        behind = far_behind(rows, "default")
        lines.append(
            f"- {NAMES['default']}: within {CLOSE:g}x of the best of all on the same points and "
            f"seeds in {near} of {count} (function, n), more than {BEHIND:g}x behind by more than "
            f"its own std in {len(behind)}"
        )
        lines += [
            f"  - {case['problem']}, n = {case['n']}: {number(case['error'])} +- "
            f"{number(case['std'])}, {NAMES[case['best']]} {number(case['best_error'])}"
            for case in behind
        ]
    return ["", *lines] if lines else []


def _where(rows: Sequence[Row]) -> str:
    places = [f"{r['problem']} n = {r['n']} seed {r['seed']}: {number(r['ratio'])}" for r in rows]
    return f" ({'; '.join(places)})" if places else ""


def probabilities(rows: list[Row], truths: Mapping[str, Row]) -> list[str]:
    """Each failure probability: rms error over the standard error of Monte Carlo, and cover."""
    present = grouped(rows, "method")
    methods = [m for m in SHORT if m in present]
    told = [m for m in ("mc", "default", "own") if m in present]
    body = []
    for (problem, n), mine in sorted(grouped(rows, "problem", "n").items()):
        truth = truths[problem]
        expected = truth["sd"] / math.sqrt(n)
        by = grouped(mine, "method")
        errors = [
            number(rms(r["error"] for r in by[m]) / expected) if m in by else "-" for m in methods
        ]
        inside = [f"{sum(r['covered'] for r in by[m])}" if m in by else "-" for m in told]
        body.append([problem, number(truth["mean"]), str(n), *errors, *inside])
    heads = [SHORT[m] for m in methods]
    return table(["problem", "p", "n", *heads, *(f"covers: {SHORT[m]}" for m in told)], body)


def borehole(rows: list[Row]) -> list[str]:
    """Rms error, cover and worst ratio on the narrow Borehole."""
    by, body = grouped(rows, "n", "method"), []
    for n in sorted({row["n"] for row in rows}):
        for method in (m for m in NAMES if (n, m) in by):
            mine = by[n, method]
            told = [row for row in mine if "covered" in row]
            worst = max((row["ratio"] for row in told if not suspect(row)), default=None)
            body.append(
                [
                    str(n),
                    NAMES[method],
                    number(rms(row["error"] for row in mine)),
                    f"{sum(row['covered'] for row in told)} of {len(told)}" if told else "-",
                    "-" if worst is None else number(worst),
                    str(sum(map(suspect, told))) if told else "-",
                ]
            )
    return table(["n", "method", "rms error", "covered", "worst |error|/std", "suspect"], body)


def nasty(rows: list[Row]) -> list[str]:
    """Every nasty integrand: errors, and what the default's error bars are worth."""
    present = grouped(rows, "method")
    methods = [m for m in SHORT if m in present]
    told = [m for m in ("default", "own") if m in present]
    body = []
    for problem, mine in grouped(rows, "problem").items():
        by = grouped(mine, "method")
        cells = [number(middle(r["relative"] for r in by[m])) if m in by else "-" for m in methods]
        for m in told:
            some = by.get(m, [])
            counts = (sum(map(each, some)) for each in (_inside, confidently_wrong, suspect))
            cells.append(", ".join(map(str, counts)))
        body.append([problem, *cells])
    lines = table(["integrand", *(SHORT[m] for m in [*methods, *told])], body)
    if told:
        lines += [
            "",
            "The last columns count answers that are covered, confidently wrong, suspect.",
        ]
    for m in told:
        wrong = sum(map(confidently_wrong, present[m]))
        lines += ["", f"{NAMES[m]}: confidently wrong in {wrong} of {len(present[m])}."]
    return lines


def _inside(row: Row) -> bool:
    return bool(row["covered"])


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "mean": ("Means of uqtestfuns", lambda rows, _: [*means(rows), *verdicts(rows)]),
    "probability": ("Failure probabilities", probabilities),
    "borehole": ("Narrow Borehole", lambda rows, _: borehole(rows)),
    "nasty": ("Nasty integrands", lambda rows, _: nasty(rows)),
}


def report(rows: Iterable[Row], truths: Mapping[str, Row], *, docs: bool = False) -> None:
    """Print all parts; with `docs` also write them and the figure for the documentation."""
    by_outcome = grouped([{**row, "failed": row.get("failed")} for row in rows], "failed")
    # The truth may have been improved since.
    good = [{**row, **judged(row, truths[row["problem"]])} for row in by_outcome.pop(None, [])]
    lines: list[str] = []
    for kind, (title, part) in PARTS.items():
        mine = [row for row in good if row["kind"] == kind]
        if mine:
            seeds = len({row["seed"] for row in mine})
            count = len({row["problem"] for row in mine})
            lines += [
                f"*{title}*, {count} integrands, {seeds} seeds:",
                "",
                *part(mine, truths),
                "",
            ]
    print("\n".join(lines))
    for reason, some in by_outcome.items():
        methods = ", ".join(sorted({row["method"] for row in some}))
        print(f"{methods} failed {len(some)} times: {reason}")
    if docs:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        text = "\n".join(map(_wrapped, lines))
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")
        figure([row for row in good if row["kind"] == "mean"], FIGURES / "thirdparty.png")


def _wrapped(line: str) -> str:
    """A line of the page: bars are no columns, and lists are wrapped."""
    if line.startswith("| "):
        return line.replace("|error|", "\\|error\\|")
    indent = " " * (len(line) - len(line.lstrip()) + 2 * line.lstrip().startswith("-"))
    return textwrap.fill(line, 116, subsequent_indent=indent, break_long_words=False)


COLORS = {
    "mc": ("#6b6b6b", ":"),
    "sobol": ("#E69F00", "-."),
    "openturns": ("#D55E00", "--"),
    "default": ("#0072B2", "-"),
    "own": ("#009E73", "-"),
}


def figure(rows: list[Row], path: Path) -> None:
    """How many means have at most an error, for each n, and how large errors are in stds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes = sorted({row["n"] for row in rows})
    sheet = Figure(figsize=(4.2 * (len(sizes) + 1), 4.2), layout="constrained")
    FigureCanvasAgg(sheet)
    *errors, bars = np.atleast_1d(sheet.subplots(1, len(sizes) + 1))
    by = grouped(rows, "method")
    shown = {m: style for m, style in COLORS.items() if m in by}
    for ax, n in zip(errors, sizes, strict=True):
        for method, (color, line) in shown.items():
            values = sorted(max(r["relative"], FLOOR) for r in by[method] if r["n"] == n)
            share = np.arange(1, len(values) + 1) / max(len(values), 1)
            label = NAMES[method].replace("*", "")
            ax.step(values, share, color=color, linestyle=line, where="post", label=label)
        ax.set(xscale="log", xlim=(FLOOR, 1), ylim=(0, 1), xlabel="relative error")
        ax.set_title(f"n = {n}", fontsize=11)
    errors[0].set_ylabel("share of the runs")
    errors[0].legend(fontsize=8, frameon=False)
    _draw_ratios(bars, {m: [r["ratio"] for r in by[m] if "ratio" in r] for m in shown})
    for ax in (*errors, bars):
        ax.spines[["top", "right"]].set_visible(False)
    sheet.savefig(path, dpi=110)


def _draw_ratios(ax: Any, ratios: Mapping[str, Sequence[float]]) -> None:
    """Shares beyond a number of stds, beside those of normal errors."""
    z = np.linspace(0, 6, 121)
    for method, values in ratios.items():
        if len(values):
            color, line = COLORS[method]
            beyond = [np.mean(np.array(values) > each) for each in z]
            ax.step(z, beyond, color=color, linestyle=line)
    normal = [math.erfc(each / math.sqrt(2)) for each in z]
    ax.plot(z, normal, color="#444444", linewidth=0.8)
    ax.set(yscale="log", ylim=(1e-3, 1), xlim=(0, 6), xlabel="stds")
    ax.set_title("share of errors beyond; thin: normal", fontsize=11)
