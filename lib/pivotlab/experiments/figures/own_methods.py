"""The record table `methods` as a grid: methods downwards, environments across."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pivotlab.experiments.figures.own_panels import NOT_RUN, PERCENT, empty_rows
from pivotlab.experiments.figures.panels import rows_of, span
from pivotlab.experiments.methods.arms import BASE, METHOD_ARMS, TABLE
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.summaries import over_seeds

#: Environment -> head of its column, in the order drawn; others follow by name.
ENVIRONMENTS = {
    "textgame": "household game",
    "shop": "shop",
    "search_qa": "search questions",
}


def method_grid(own: OwnRecords) -> pd.DataFrame:
    """Success per method and environment, mean over seeds.

    Every method of the table has a row; a method that no record names is "not run".
    Heads of columns carry n and seeds of what was run there.

    Raises:
        ValueError: a method has two rows for one environment and seed, or is unknown.
    """
    table = _checked(own)
    if table.empty:
        return empty_rows()
    means = over_seeds(table, "success", ("method", "environment"))
    means.loc[means["method"] == BASE, "seeds"] = np.nan
    ran = set(means["method"])
    methods = [m for m in METHOD_ARMS if m in TABLE or m in ran]
    found = set(means["environment"])
    places = [e for e in ENVIRONMENTS if e in found] + sorted(found - set(ENVIRONMENTS))
    keys = ["method", "environment"]
    index = pd.MultiIndex.from_product([methods, places], names=keys)
    grid = means.set_index(keys).reindex(index).reset_index()
    heads = {e: _head(e, means[means["environment"] == e]) for e in places}
    grid["note"] = np.where(grid["mean"].isna(), NOT_RUN, "")
    grid["row"] = [METHOD_ARMS[m].title for m in grid["method"]]
    grid["column"] = grid["environment"].map(heads)
    return rows_of(grid, "mean", PERCENT)


def method_steps(own: OwnRecords) -> str:
    """How long the methods were trained, as a title says it; empty without records."""
    table = _checked(own)
    trained = table[table["method"] != BASE]["steps"]
    return f" after {span(trained)} steps" if len(trained) else ""


def _checked(own: OwnRecords) -> pd.DataFrame:
    table = own.table("methods")
    keys = ["environment", "method", "seed"]
    if table.duplicated(keys).any():
        raise ValueError(f"methods.csv has several rows for one {', '.join(keys)}")
    unknown = sorted(set(table["method"]) - set(METHOD_ARMS))
    if unknown:
        raise ValueError(f"methods.csv names unknown methods: {', '.join(unknown)}")
    return table


def _head(environment: str, means: pd.DataFrame) -> str:
    """Name of a column, with tasks per seed and seeds of the trained methods."""
    trained = means[means["seeds"].notna()]
    name = ENVIRONMENTS.get(environment, environment.replace("_", " "))
    if trained.empty:
        return f"{name}\nn = {span(means['n'])}"
    tasks = span(trained["n"] / trained["seeds"])
    return f"{name}\nn = {tasks} tasks, seeds: {span(trained['seeds'])}"
