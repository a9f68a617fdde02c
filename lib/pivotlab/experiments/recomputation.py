"""Every mean, difference and ratio that the papers print, computed again from the
numbers they print beside it.

A recomputed number agrees if it differs by no more than the rounding of its inputs and
of itself allows. What does not agree is a known mismatch with a reason, or an error in
the data of this repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pandas as pd

from pivotlab.experiments.reported import PIVOTOPD, PIVOTRL, Cell, block

#: Columns that identify a row of the report.
KEYS = ("paper", "table", "row", "column", "rule", "inputs")
#: Name of a rule -> the computation on the inputs in order.
RULES: dict[str, Callable[..., float]] = {
    "same number": lambda a: a,
    "sum": lambda *x: sum(x),
    "mean": lambda *x: sum(x) / len(x),
    "product": lambda a, b: a * b,
    "a - b": lambda a, b: a - b,
    "a / b": lambda a, b: a / b,
    "1000 a / b": lambda a, b: 1000 * a / b,
    "100 a / b": lambda a, b: 100 * a / b,
    "100 (a + b) / c": lambda a, b, c: 100 * (a + b) / c,
    "mean of a - b": lambda *x: sum(x[::2]) / len(x[::2]) - sum(x[1::2]) / len(x[1::2]),
}

#: Printed numbers that do not follow from the numbers beside them, and why.
KNOWN_MISMATCHES = {
    Cell(PIVOTRL, "Table 2", "average", "base"): (
        "the eight printed bases average to 66.98; one of them, unknown which, is "
        "mis-copied by about 2.9"
    ),
}


IN_DOMAIN = (
    "τ²-Bench",
    "SWE-Bench Verified",
    "Terminal-Bench",
    "BrowseComp",
)
OUT_OF_DOMAIN = (
    "IFBench",
    "AIME25",
    "MATH500",
    "LiveCodeBench",
    "Scicode",
    "MMLU-Pro",
    "MMLU-ProX",
    "WMT24++",
)
TABLE_4 = (
    "D_adv + functional (full PivotRL)",
    "D_cand + functional (no pivot filtering)",
    "D_cand + strict",
    "same-data SFT",
)
RANDOM_TURNS, LOW_MEAN = "random turns (D_cand)", "low reward mean (D_adv)"
DOMAINS = ("airline", "retail", "telecom")
TYPES = ("Pick", "Look", "Clean", "Heat", "Cool", "Pick2")
QUESTIONS = ("NQ", "Triv", "Pop", "Hotp", "2Wk", "MuS", "Bam")
AVERAGES = ("ALF avg", "QA avg", "WS score", "WS succ")
STUDENTS = ("Qwen3-1.7B", "Qwen3-8B")
MARGIN = "margin over the best baseline"
ABLATIONS = (
    "random turns",
    "no action named",
    "reverse-KL recovery",
    "recovery only",
    "preventive only",
    "full",
)
HIT = "accuracy within 1 turn"
#: Rows of Table S.1: teacher on student.
TEACHERS = ("Qwen3-30B-A3B on Qwen3-1.7B", "Qwen3.5-122B-A10B on Qwen3-8B")
POLICIES = ("base", "standard OPD", "preventive only", "PivotOPD")
SWE = "App. D.6, SWE-Bench Verified"

#: Differences and ratios whose inputs are printed nowhere we could see.
NOT_RECOMPUTABLE = (
    *(
        Cell(PIVOTRL, "Table 2", row, f"delta {arm}")
        for row in OUT_OF_DOMAIN
        for arm in ("SFT", "PivotRL")
    ),
    *(Cell(PIVOTRL, "Table 3", r, "delta SFT") for r in ("MATH500", "LiveCodeBench")),
    Cell(PIVOTRL, "Figure 1", "E2E RL over PivotRL", "wall-clock (ratio)"),
    *(
        Cell(PIVOTOPD, "Figure 6", row, column)
        for row, column in (
            ("ALFWorld", "gain of the best K over K=0"),
            ("WebShop", "gain of the best K over K=0"),
            ("Search QA", "gain of the best K over K=0"),
            ("WebShop", "largest difference between budgets at the end"),
            ("WebShop", "drop from K=1 to K=3"),
        )
    ),
    *(
        Cell(PIVOTOPD, "Figure 3", "self-distillation (8B)", column)
        for column in (
            "margin over the strongest baseline, lowest",
            "margin over the strongest baseline, mean",
            "below the big-teacher run, QA and WebShop success, at most",
            "below the big-teacher run, ALFWorld",
        )
    ),
    Cell(PIVOTOPD, "Table S.5", "WebShop, K=1", "recovery rollouts (%)"),
)


class Check(NamedTuple):
    """`target` should be `rule` of the `inputs`."""

    target: Cell
    rule: str
    inputs: tuple[Cell, ...]


def report(reported: pd.DataFrame) -> pd.DataFrame:
    """One row a printed mean, difference or ratio.

    Args:
        reported: of `reported.load_reported`.

    Returns:
        paper, table, row, column, rule, inputs (table | row | column of each), printed,
        recomputed, difference (printed minus recomputed), tolerance, status and reason.
        The status is "agrees", "known mismatch", "unexpected mismatch" or "inputs not
        printed".
    """
    cells = reported.set_index(list(Cell._fields))[["number", "half_unit"]]
    known = {Cell(*key): tuple(row) for key, row in cells.iterrows()}
    rows = [_row(check, known) for check in checks(reported)]
    for cell in NOT_RECOMPUTABLE:
        row = {**cell._asdict(), "printed": known[cell][0]}
        rows.append(row | {"status": "inputs not printed"})
    return pd.DataFrame(rows).fillna({"rule": "", "inputs": "", "reason": ""})


def _row(check: Check, known: dict[Cell, tuple[float, float]]) -> dict:
    printed, own = known[check.target]
    values = [known[cell][0] for cell in check.inputs]
    rule = RULES[check.rule]
    recomputed = rule(*values)
    tolerance = own
    for place, cell in enumerate(check.inputs):
        moved = list(values)
        moved[place] += known[cell][1]
        tolerance += abs(rule(*moved) - recomputed)
    agrees = abs(printed - recomputed) <= tolerance * (1 + 1e-9) + 1e-9
    reason = KNOWN_MISMATCHES.get(check.target, "")
    wrong = "known mismatch" if reason else "unexpected mismatch"
    return {
        **check.target._asdict(),
        "rule": check.rule,
        "inputs": "; ".join(" | ".join(cell[1:]) for cell in check.inputs),
        "printed": printed,
        "recomputed": recomputed,
        "difference": printed - recomputed,
        "tolerance": tolerance,
        "status": "agrees" if agrees else wrong,
        "reason": "" if agrees else reason,
    }


def checks(reported: pd.DataFrame) -> list[Check]:
    """All checks, paper by paper, in the order of the tables."""
    parts = (
        _pivotrl_results(),
        _pivotrl_ablations(),
        _pivotrl_costs(),
        _main_table(reported),
        _opd_settings(),
        _opd_ablations(),
        _opd_analyses(),
        _opd_recovery(),
        _opd_cost(),
    )
    found = [check for part in parts for check in part]
    for paper in reported["paper"].unique():
        if paper.startswith("public τ² run (NeMo"):
            for row in ("before", "after"):
                cell = Cell(paper, "τ²-Bench", row, "average")
                found.append(_across(cell, "mean", DOMAINS))
    return found


def _delta(out: Cell, a: Cell, b: Cell) -> Check:
    return Check(out, "a - b", (a, b))


def _across(out: Cell, rule: str, columns: Iterable[str]) -> Check:
    """Inputs in the target's own row."""
    return Check(out, rule, tuple(out._replace(column=c) for c in columns))


def _down(out: Cell, rule: str, rows: Iterable[str]) -> Check:
    """Inputs in the target's own column."""
    return Check(out, rule, tuple(out._replace(row=r) for r in rows))


def _pivotrl_results() -> Iterator[Check]:
    mean = Cell(PIVOTRL, "Table 1", "mean gain over base", "delta vs SFT")
    for row in (*IN_DOMAIN, mean.row):
        yield _across(mean._replace(row=row), "a - b", ("PivotRL", "SFT"))
    for arm in ("SFT", "PivotRL"):
        cells = [
            mean._replace(row=r, column=c) for r in IN_DOMAIN for c in (arm, "base")
        ]
        yield Check(mean._replace(column=arm), "mean of a - b", tuple(cells))
    for column in ("base", "delta SFT", "delta PivotRL"):
        average = Cell(PIVOTRL, "Table 2", "average", column)
        yield _down(average, "mean", OUT_OF_DOMAIN)
    for row in ("AIME25", "MATH500", "LiveCodeBench"):
        base = Cell(PIVOTRL, "Table 3", row, "base")
        yield Check(base, "same number", (base._replace(table="Table 2"),))
    for arm in ("SFT", "PivotRL"):
        delta = Cell(PIVOTRL, "Table 3", "AIME25", f"delta {arm}")
        yield _across(delta, "a - b", (arm, "base"))


def _pivotrl_ablations() -> Iterator[Check]:
    full, unfiltered, strict, sft = TABLE_4
    tau = Cell(PIVOTRL, "Table 4", full, IN_DOMAIN[0])
    for row in TABLE_4:
        gain = tau._replace(row=row, column="gain over base")
        yield _delta(gain, tau._replace(row=row), tau._replace(row="base"))
    pairs = {"pivot filtering": (full, unfiltered)}
    pairs["functional reward"] = (unfiltered, strict)
    for name, (a, b) in pairs.items():
        effect = tau._replace(row=name, column="effect")
        yield _delta(effect, tau._replace(row=a), tau._replace(row=b))
    for row in (*IN_DOMAIN[:2], "Terminal-Bench 1.1 Core", IN_DOMAIN[3]):
        gain = Cell(PIVOTRL, "Table 5", row, "gain")
        yield _across(gain, "a - b", ("after", "before"))
    rows = {"base": "base", "SFT": sft, RANDOM_TURNS: unfiltered, LOW_MEAN: full}
    for row, ablation in rows.items():
        average = Cell(PIVOTRL, "Table 6", row, "average")
        yield _across(average, "mean", DOMAINS)
        yield Check(average, "same number", (tau._replace(row=ablation),))


def _pivotrl_costs() -> Iterator[Check]:
    turns = Cell(PIVOTRL, "Figure 1", "PivotRL", "rollout turns (thousands)")
    both = (turns._replace(row="E2E RL"), turns)
    ratio = turns._replace(row="E2E RL over PivotRL", column="rollout turns (ratio)")
    yield Check(ratio, "a / b", both)
    batch = Cell(PIVOTRL, "Settings", "PivotRL", "batch")
    yield Check(batch, "1000 a / b", (turns, turns._replace(column="step")))
    for row in ("PivotRL", "E2E RL (SWE)"):
        own = batch._replace(row=row)
        yield _across(own, "product", ("prompts per step", "group size G"))
    for row in ("PivotRL", "E2E RL"):
        again = (Cell(PIVOTRL, "Table 1", IN_DOMAIN[1], "PivotRL"),)
        accuracy = turns._replace(row=row, column="accuracy reached")
        yield Check(accuracy, "same number", again)


def _main_table(reported: pd.DataFrame) -> Iterator[Check]:
    for student in STUDENTS:
        name = f"Table 1, {student}"
        own = block(reported, PIVOTOPD, name)
        methods = list(dict.fromkeys(own["row"]))
        for method in methods:
            cell = Cell(PIVOTOPD, name, method, "ALF avg")
            yield _across(cell, "mean", TYPES)
            yield _across(cell._replace(column="QA avg"), "mean", QUESTIONS)
        for column in AVERAGES:
            rivals = own[(own["column"] == column) & (own["row"] != "PivotOPD")]
            best = rivals.loc[rivals["number"].idxmax(), "row"]
            margin = Cell(PIVOTOPD, f"Table 1, {MARGIN}", student, column)
            full = Cell(PIVOTOPD, name, "PivotOPD", column)
            yield _delta(margin, full, full._replace(row=best))
    full = Cell(PIVOTOPD, f"Table 1, {STUDENTS[0]}", "PivotOPD", "WS succ")
    table = f"Table 1, {MARGIN}"
    quoted = Cell(PIVOTOPD, table, STUDENTS[0], "WS succ, as often quoted")
    yield _delta(quoted, full, full._replace(row="RLSD"))


def _opd_settings() -> Iterator[Check]:
    for environment in ("ALFWorld", "WebShop", "Search QA"):
        batch = Cell(PIVOTOPD, "Hyperparameters", environment, "trajectories per step")
        yield _across(batch, "product", ("tasks per step", "group size G"))
    games = Cell(PIVOTOPD, "Data and evaluation", "ALFWorld", "test")
    yield _across(games, "sum", ("test, valid_seen", "test, valid_unseen"))


def _opd_ablations() -> Iterator[Check]:
    average = Cell(PIVOTOPD, "Table 2", "full", "avg")
    for row in ABLATIONS:
        yield _across(average._replace(row=row), "mean", TYPES)
    for a, b, column in (
        ("full", "preventive only", "avg"),
        ("no action named", "preventive only", "Pick2"),
    ):
        gap = average._replace(row=f"{a} against {b}", column=column)
        yield _delta(gap, gap._replace(row=a), gap._replace(row=b))
    again = Cell(PIVOTOPD, f"Table 1, {STUDENTS[0]}", "PivotOPD", "ALF avg")
    yield Check(average, "same number", (again,))
    for column in TYPES:
        again = again._replace(column=column)
        yield Check(average._replace(column=column), "same number", (again,))
    mean = Cell(PIVOTOPD, "Table S.1", "mean", HIT)
    yield _down(mean, "mean", TEACHERS)
    for row in TEACHERS:
        gain = mean._replace(row=row, column="gain")
        yield _across(gain, "a - b", (HIT, "random"))
    for row in ("OPD", "PivotOPD", "teacher"):
        gap = Cell(PIVOTOPD, SWE, row, "difference to student")
        rate = gap._replace(column="resolve rate")
        yield _delta(gap, rate, rate._replace(row="student"))


def _opd_analyses() -> Iterator[Check]:
    lost = Cell(PIVOTOPD, "Failures with an oracle pivot", "all", "failures")
    found = lost._replace(column="with an oracle pivot")
    models = ("Qwen3-8B", "Qwen3-30B-A3B", "Qwen3-235B-A22B")
    yield _down(lost, "sum", models)
    yield _down(found, "sum", models)
    yield Check(lost._replace(column="share (%)"), "100 a / b", (found, lost))
    replayed = Cell(PIVOTOPD, "Counterfactual replay", "all", "trajectories")
    yield Check(replayed, "same number", (found._replace(row=models[0]),))
    games = Cell(PIVOTOPD, "Data and evaluation", "ALFWorld", "test, valid_seen")
    change = Cell(PIVOTOPD, "Standard OPD", "failure rate", "change")
    after = change._replace(row="failures after a pivot")
    for row, count in ((change, lost), (after, found)):
        yield _across(row, "a - b", ("after (%)", "before (%)"))
        inputs = (count._replace(row=models[0]), games)
        yield Check(row._replace(column="before (%)"), "100 a / b", inputs)
    yield _delta(change._replace(row="failures without a pivot"), change, after)


def _opd_recovery() -> Iterator[Check]:
    plays = Cell(PIVOTOPD, "Figure 5", "protocol", "replays per policy")
    mistakes = plays._replace(column="mistakes")
    yield _across(plays, "product", ("mistakes", "replays per mistake"))
    for row in POLICIES:
        won = plays._replace(row=row, column="recovered replays")
        yield Check(won._replace(column="final rate"), "100 a / b", (won, plays))
    for row in POLICIES[1:]:
        columns = ("better than base", "worse than base", "same as base")
        inputs = tuple(mistakes._replace(row=row, column=c) for c in columns)
        yield Check(mistakes, "sum", inputs)


def _opd_cost() -> Iterator[Check]:
    step = Cell(PIVOTOPD, "Table S.5", "GRPO step", "seconds")
    for row in ("K=0", "K=1", "K=2", "K=3"):
        forward = step._replace(row=row, column="self-teacher forward (s)")
        recovery = step._replace(row=row, column="recovery rollouts (s)")
        total = step._replace(row=row, column="total (%)")
        if row == "K=0":
            share = total._replace(column="self-teacher forward (%)")
            yield Check(share, "100 a / b", (forward, step))
            yield Check(total, "100 a / b", (forward, step))
        else:
            share = total._replace(column="recovery rollouts (%)")
            yield Check(share, "100 a / b", (recovery, step))
            yield Check(total, "100 (a + b) / c", (forward, recovery, step))
