"""The page of a report: which block follows which, and in what words."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from steinquad.candidates import read_candidates
from steinquad.errors import shown_point
from steinquad.report.blocks import Answer, Block, Figure, Heading, Note, Quote, Table, Text
from steinquad.report.figures import convergence, main_effect, predictions, shrinking
from steinquad.report.numbers import duration, interval, percent, rounded, short, with_std
from steinquad.report.sensitivity import INNER

__all__ = ["outline"]

MOST_CURVES = 6  # of an output; JSON has all
IN_MARKDOWN = 7  # values of a curve that are listed where it is not drawn
MEANING = {
    "converged": "all checks passed",
    "constant": "no run has seen the output vary",
    "max_steps": "training ended before it settled",
    "max_n": "the target was not reached",
    "suspect": "a check failed: read this before using the numbers",
    "not_finite": "numerical failure: do not use the numbers",
}


def outline(content: dict[str, Any]) -> Iterator[Block]:
    """All blocks of the page in their order, for `to_html` and `to_markdown` to render.

    The answer and its status come first, what it rests on after that. Without an answer the page
    says why, and has only those sections that need none.

    Args:
        content: what `collect` gave; numbers are rounded here and nowhere before.
    """
    study, answer = content["study"], content["answer"]
    yield Heading(1, study["name"])
    sections: list[tuple[str, Iterable[Block]]] = []
    if answer is None:
        yield Note("doubt", "No answer", content["refused"])
    else:
        yield Text(
            f"Mean of {_listed([output['name'] for output in content['outputs']])} under "
            f"{len(content['inputs'])} uncertain inputs, from {answer['n']} simulator runs by "
            f"the method {answer['method']}."
        )
        yield from _verdict(content)
        sections.append(("Answer", map(_answer, content["outputs"])))
        for output in content["outputs"]:
            sections += [
                (f"{output['name']}: how it varies", _distribution(output)),
                (f"{output['name']}: convergence", _convergence(output)),
                (f"{output['name']}: held-out check", _check(output, answer)),
                (f"{output['name']}: which inputs matter", _effects(output, content)),
            ]
        if answer["candidates"]:
            sections.append(("Methods that were considered", _candidates(content)))
    sections += [
        ("Inputs", [_inputs(content["inputs"])]),
        ("Failures", _failures(content["evaluations"])),
        ("Timing", _timing(content)),
        ("How to cite", [Quote(f"{content['cite']['software']}\n{content['cite']['paper']}")]),
        ("Versions", [_versions(content)]),
    ]
    for title, blocks in sections:
        yield Heading(2, title)
        yield from blocks


def _verdict(content: dict[str, Any]) -> Iterator[Block]:
    answer, until = content["answer"], content["study"]["until"]
    code = answer["status"]
    sentence = answer["message"][:1].upper() + answer["message"][1:] + "."
    still = [output["name"] for output in content["outputs"] if output["constant"]]
    meaning = MEANING[code]
    if code == "converged" and still:
        meaning = f"but no run has seen {_listed(still)} vary"
    kind = "good" if code == "converged" and not still else "doubt"
    yield Note(kind, f"Status {code}: {meaning}", sentence)
    if until is not None:
        targets = " and ".join(
            f"{key.replace('_', ' ')} ≤ {short(value)}" for key, value in until.items()
        )
        reached = "reached" if answer["target_reached"] else "not reached"
        yield Text(f"Target, for every output: {targets}; {reached}.")


def _answer(output: dict[str, Any]) -> Answer:
    mean, std, unit = _number(output["mean"]), _number(output["std"]), output["unit"]
    low, high = map(_number, output["interval95"])
    last = output["average"][-1]
    if output["constant"]:
        more = "All runs gave the same value: what it is elsewhere no std can say."
    else:
        more = f"One run varies by {short(output['spread'], 2, unit)} (standard deviation)."
    if last["std"] and std > 0:
        more += f" {_average(output).capitalize()} of the same runs has the std "
        more += f"{short(last['std'], 2, unit)}."
    between = interval(low, high, mean, std, unit)
    if output["constant"]:
        between = f"{between}, of an indicator" if std > 0 else "none, for lack of any variation"
    return Answer(
        output["name"],
        with_std(mean, std, unit),
        f"95 % interval: {between}",
        more,
    )


def _average(output: dict[str, Any]) -> str:
    return "the weighted average" if output["weighted"] else "the plain average"


def _distribution(output: dict[str, Any]) -> Iterator[Block]:
    rows = tuple(_statistic(each, output["unit"]) for each in output["distribution"])
    yield Table(("of one run", "value", "95 % interval", "from"), rows)
    words = "From the simulated values alone"
    if any(each["uses_model"] for each in output["distribution"]):
        words += ", or with the model where that makes an interval shorter by a fifth or more"
    yield Text(f"{words}.")
    if any(None in (each["low"], each["high"]) for each in output["distribution"]):
        yield Text("An end that is not given would take more runs.")


def _statistic(row: dict[str, Any], unit: str) -> tuple[str, ...]:
    """A row with as many digits as the interval is worth."""
    kind, at = row["kind"], _number(row["at"])
    labels = {
        "std": "standard deviation",
        "quantile": f"{short(100 * at, 6)} % quantile",
        "above": f"chance of more than {short(at, 6, unit)}",
        "below": f"chance of less than {short(at, 6, unit)}",
    }
    unit = unit if kind in ("std", "quantile") else ""
    value, ends = _number(row["value"]), (row["low"], row["high"])
    half = max((abs(end - value) for end in ends if end is not None), default=0.0)
    between = " to ".join("…" if end is None else rounded(end, value, half, unit) for end in ends)
    if None not in ends:  # a common power of ten and unit stand behind both
        between = interval(*ends, value, half, unit)
    used = "model" if row["uses_model"] else "runs"
    return labels[kind], rounded(value, value, half, unit), between, used


def _candidates(content: dict[str, Any]) -> Iterator[Block]:
    rows = tuple(
        (
            each.method,
            "–" if each.rms is None else percent(each.rms),
            "–" if each.weight is None else percent(each.weight),
            each.note,
        )
        for each in read_candidates(content["answer"]["candidates"], len(content["outputs"]))
    )
    yield Table(("method", "held-out error", "weight", "note"), rows)
    yield Text(
        "Held-out error: how far predictions are off at runs that a fit has not seen (root mean "
        "square), as a share of the spread of the output; of several outputs the geometric mean. "
        "Weight: the share of a method in the answer, an average where there are several outputs."
    )


def _convergence(output: dict[str, Any]) -> Iterator[Block]:
    looks, unit = output["convergence"], output["unit"]
    if any(look["mean"] is None or None in look["interval95"] for look in looks):
        yield Text("An estimate on the way is not a finite number: nothing to draw.")
        return
    rows = tuple(
        (
            str(look["n"]),
            rounded(look["mean"], look["mean"], look["std"], unit),
            short(look["std"], 2, unit),
            look["status"],
        )
        for look in looks
    )
    table = Table(("runs", "estimate", "std", "status"), rows)
    caption = "Dots with bars: the estimate and its 95 % interval, less the answer."
    if len(looks) == 1:
        yield Text(
            "One estimate is stored, the last. A study with a target, or with every = ... in its "
            "budget, keeps those on the way too."
        )
        caption += f" Dashed line: {_average(output)} of the first runs"
        caption += ", with its 95 % band." if output["average"][-1]["std"] is not None else "."
    yield Figure(convergence(output), caption, table)
    if (drawn := shrinking(output)) is not None:
        beside = f" and of {_average(output)} (dashed)" if output["average"][-1]["std"] else ""
        yield Figure(drawn, f"Standard deviation of the estimate (dots){beside} against runs.")


def _check(output: dict[str, Any], answer: dict[str, Any]) -> Iterator[Block]:
    check, unit = output["check"], output["unit"]
    if check is None:
        yield Text("No held-out check: this method, or so few points, has none.")
    else:
        share = check["explained"]
        more = "" if share is None else f"; it explains {percent(share)} of the variance"
        yield Text(
            f"{answer['folds']} fits, each to a part of the runs and compared with the rest, give "
            f"{with_std(_number(check['mean']), _number(check['std']), unit)}: "
            f"{short(_number(check['distance']), 2)} standard errors from the answer. "
            f"At runs that it has not seen the model is wrong by "
            f"{short(_number(check['residual']), 2, unit)} (root mean square){more}."
        )
    shown = output["predicted"]
    if shown is None:
        yield Text("The method has no model of the output that could be compared with the runs.")
        return
    if not shown["points"]:
        yield Text("No prediction is a finite number.")
        return
    words = {
        "cross-fitted": "cross-fitted: by a fit that has not seen the run",
        "fitted": "fitted: the model has seen these runs, so agreement proves little",
    }[shown["kind"]]
    caption = f"Predicted ({words}) against simulated values, {len(shown['points'])} runs. On the "
    yield Figure(predictions(output), caption + "dashed line both agree.")


def _effects(output: dict[str, Any], content: dict[str, Any]) -> Iterator[Block]:
    about = content["sensitivity"]
    if about["reason"]:
        yield Text(about["reason"])
        return
    effects = [each for each in output["effects"] if each["first"] is not None]
    if not effects:
        yield Text("The model of this output does not vary, so no input matters.")
        return
    rows = tuple(
        (
            " and ".join(each["inputs"]) + (" (together)" if len(each["inputs"]) > 1 else ""),
            _index(each["first"], each["first_std"]),
            _index(each["total"], each["total_std"]),
        )
        for each in effects
    )
    bars = tuple((each["first"], each["total"]) for each in effects)
    yield Table(("input", "first order", "total"), rows, bars=bars)
    sum_first = sum(each["first"] for each in effects)
    yield Text(
        "Sobol indices of the fitted model: the share of the variance of the output that an input "
        "explains by itself (first order; filled bar), and together with others (total; outline). "
        f"First-order shares add up to {percent(min(sum_first, 1.0))}; the rest is interaction. "
        f"From {about['draws']} fresh draws of the inputs; ± is the standard error of these "
        "draws, and does not tell how well the model follows the simulator: see the held-out "
        "check."
    )
    if any(len(each["inputs"]) > 1 for each in effects):
        yield Text(
            "Indices are for independent inputs: those that depend on each other have one "
            "together, and no curve."
        )
    yield from _curves(output, effects, content)


def _curves(
    output: dict[str, Any], effects: list[dict[str, Any]], content: dict[str, Any]
) -> Iterator[Block]:
    curved = [each for each in effects if each["curve"] and None not in each["curve"]["mean"]]
    curved = curved[:MOST_CURVES]
    if not curved:
        return
    means = [value for each in curved for value in each["curve"]["mean"]]
    units = {each["name"]: each["unit"] for each in content["inputs"]}
    share = 100 * (INNER[1] - INNER[0])
    yield Text(
        f"Main effects: the mean of the output given one input, over the middle {share:.0f} % of "
        f"its values, from {content['sensitivity']['curve_draws']} draws of the others; bands are "
        "95 % for these draws."
        + (f" The {MOST_CURVES} largest are shown." if len(effects) > len(curved) else "")
    )
    for each in curved:
        (name,) = each["inputs"]
        unit = units[name]
        yield Figure(
            main_effect(output, each, unit, (min(means), max(means))),
            f"Mean of {output['name']} given {name}.",
            _curve_table(each["curve"], name, unit, output),
        )


def _curve_table(curve: dict[str, Any], name: str, unit: str, output: dict[str, Any]) -> Table:
    last = len(curve["x"]) - 1
    picked = [round(i * last / (IN_MARKDOWN - 1)) for i in range(IN_MARKDOWN)]
    rows = tuple(
        (short(curve["x"][i], 4, unit), short(curve["mean"][i], 4, output["unit"])) for i in picked
    )
    return Table((name, f"mean of {output['name']}"), rows, left=0)


def _inputs(inputs: list[dict[str, Any]]) -> Table:
    middles = (each["middle90"] or (math.nan, math.nan) for each in inputs)
    rows = tuple(
        (each["name"], each["unit"], f"{short(low, 4)} to {short(high, 4)}")
        for each, (low, high) in zip(inputs, middles, strict=True)
    )
    return Table(("input", "unit", "middle 90 % of the points"), rows, left=2)


def _failures(evaluations: dict[str, Any]) -> Iterator[Block]:
    failed, done = evaluations["failed"], evaluations["done"]
    if not failed:
        yield Text(f"None of {done} evaluations failed.")
        return
    share, ignored = percent(evaluations["share_failed"]), evaluations["on_failure"] == "ignore"
    rule = "the study says to ignore such points" if ignored else "more than 1 % are refused"
    yield Text(f"{failed} of {done + failed} evaluations failed, {share} of the points; {rule}.")
    rows = tuple(
        (each["kind"], str(each["count"]), percent(each["share"])) for each in evaluations["kinds"]
    )
    yield Table(("kind", "evaluations", "share"), rows)
    for each in evaluations["kinds"]:
        at = shown_point([*each["input"].values()], [*each["input"]])
        yield Text(f"The first by {each['kind']}, point {each['number']}, at {at}:")
        yield Quote(each["example"] or "(no text)")


def _timing(content: dict[str, Any]) -> Iterator[Block]:
    timing, done = content["timing"], content["evaluations"]["done"]
    if timing["median"] is None:
        yield Text("No evaluation is done yet.")
        return
    yield Text(
        f"{done} evaluations are done. All together, failed ones included, took "
        f"{duration(timing['seconds'])} of simulator time; the median is "
        f"{duration(timing['median'])}, the longest {duration(timing['longest'])}."
    )
    times = "once" if timing["sessions"] == 1 else f"{timing['sessions']} times"
    yield Text(
        f"By the clock: {duration(timing['elapsed'])} from start to last evaluation, with the "
        f"estimates in between. The study was run {times}, first at {timing['began']}."
    )


def _versions(content: dict[str, Any]) -> Table:
    study = content["study"]
    rows = (
        *content["versions"].items(),
        *(("integrand", version) for version in content["integrand_versions"]),
        ("points", study["points"]),
        ("seed", str(study["seed"])),
        ("store", study["store"]),
        ("report made", content["made"]),
    )
    return Table(("what", "version"), rows, left=2)


def _index(value: float, std: float) -> str:
    """An index with its standard error; three decimals are enough for a share."""
    decimals = 2 if std >= 0.01 else 3
    return f"{round(value, decimals) + 0.0:.{decimals}f} ± {max(std, 0.001):.{decimals}f}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
