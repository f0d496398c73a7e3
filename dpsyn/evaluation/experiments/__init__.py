"""Experiments: mechanisms × settings × repeats, run anywhere, kept, summarised, and planned from."""

from dpsyn.data.source import DataSource
from dpsyn.evaluation.experiments.archive import Archive, Experiment, MadeRelease, archive_text, read_archive
from dpsyn.evaluation.experiments.plan import Cell, Grid
from dpsyn.evaluation.experiments.pool import run_grid
from dpsyn.evaluation.experiments.results import CellResult
from dpsyn.evaluation.experiments.run import run_cell
from dpsyn.evaluation.experiments.script import experiment_script
from dpsyn.evaluation.experiments.summary import Crossing, Point, crossings, results_frame, summarise
from dpsyn.evaluation.experiments.workspace import Workspace
from dpsyn.evaluation.report import references
from dpsyn.mechanisms.records import config_from_dict, config_to_dict

__all__ = [
    "Archive",
    "Cell",
    "CellResult",
    "Crossing",
    "DataSource",
    "Experiment",
    "Grid",
    "MadeRelease",
    "Point",
    "Workspace",
    "archive_text",
    "config_from_dict",
    "config_to_dict",
    "crossings",
    "experiment_script",
    "read_archive",
    "references",
    "results_frame",
    "run_cell",
    "run_grid",
    "summarise",
]
