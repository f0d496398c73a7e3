"""Our systems beside other people's code, on the same rows: SWIFT, AIM and MST of google/dpsynth, AIM, MST and MWEM+PGM of
mbi, PrivSyn of zealscott/SynMeter, PrivBayes of DataSynthesizer.

    python benchmarks/rivals.py TRAIN.csv TEST.csv --python VENV/bin/python --dpsynth CHECKOUT --mbi CHECKOUT
        --synmeter CHECKOUT [--sets adult8 mbi] [--systems dpsyn swift] [--epsilons 0.1 1 10] [--seeds 1 2 3]
        [--minutes 100] [--csv FILE]

VENV is an environment of the rivals' own with what they need, DataSynthesizer and for dpsynth the package mbi among it. Of
the checkout of dpsynth all is used, of that of mbi ``src``, ``mechanisms`` and, for the set ``mbi``, ``data``: the self-test
at the end of its ``aim.py`` (48,842 rows, 14 columns of up to 100 codes), of SynMeter's ``synthesizer/syn``, which needs
packages of its time: with pandas 3 its rows never change. The other sets are UCI Adult with a header, and ASIA. Under
``taskset -c 1`` everyone computes with one thread.

Everyone guarantees add/remove at δ = 1e-5 (1e-9 for ``mbi``). A line a run, to the CSV file as well: the mean and the
largest total variation of all tables of two columns (for ``mbi``, as there, of at most 10,000 cells), seconds of a clock and
of the processor, the largest memory of the process, and the load of the machine before. Each run is a process of its own.
``swift_reduced`` has cliques of at most 1e5 cells and 1,000 iterations; everything else is as it comes.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import types
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_MOST_CELLS = 10_000
SETS = ("adult8", "adult13", "asia", "mbi")
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "dpsyn": ("NoisyReweighting", {"degree": 2}),
    "our_mst": ("MST", {}),
    "our_aim": ("AIM", {}),
    "privsyn": ("PrivSyn", {}),
    "privbayes": ("PrivBayes", {}),
    "mwem": ("MWEM", {}),
    "tables": ("Independent", {"degree": 2}),
}
DPSYNTH: dict[str, tuple[str, dict[str, Any]]] = {
    "swift": ("SWIFTConfig", {}),
    "swift_reduced": ("SWIFTConfig", {"max_clique_size": 1e5, "pgm_iters": 1_000}),
    "aim_gdp": ("AIMGDPConfig", {}),
    "aim": ("AIMConfig", {}),
    "mst": ("MSTConfig", {}),
}
MODULES = dict.fromkeys(DPSYNTH, "dpsynth.discrete_mechanisms") | {
    "mbi_aim": "aim",
    "mbi_mst": "mst",
    "mbi_mwem": "mwem+pgm",
    "synmeter_privsyn": "syn.dpsyn",
    "data_synthesizer": "DataSynthesizer.DataDescriber",
}
"""Of the rivals, by system."""


def load(name: str, arguments: argparse.Namespace) -> Any:
    """The table of a set."""
    import dpsyn

    if name != "mbi":
        from noisy_reweighting_adult import load as load_adult

        return load_adult(name, arguments.train, arguments.test)[0]
    folder = Path(arguments.mbi) / "data"
    sizes: dict[str, int] = json.loads((folder / "adult-domain.json").read_text())
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(column, "categorical", tuple(range(size)), public=True) for column, size in sizes.items()
    )
    return dpsyn.Table(pd.read_csv(folder / "adult.csv")[list(sizes)], domain)


def errors(real: np.ndarray, made: np.ndarray, sizes: tuple[int, ...], most_cells: float) -> np.ndarray:
    """Total variation of every table of two columns with at most so many cells."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(sizes)), 2) if sizes[i] * sizes[j] <= most_cells]
    shares = [
        [np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]) / len(codes) for i, j in pairs]
        for codes in (real.astype(np.int64), made.astype(np.int64))
    ]
    return np.array([np.abs(one - other).sum() / 2 for one, other in zip(*shares, strict=True)])


def made_by_us(table: Any, system: str, epsilon: float, delta: float, seed: int) -> np.ndarray:
    """Codes of a release of ours."""
    import dpsyn

    name, settings = OURS[system]
    mechanism = getattr(dpsyn, name)(**settings).calibrate(
        dpsyn.PrivacySpec(epsilon, delta, "add_remove"), table.domain, n=table.n
    )
    return np.asarray(table.domain.encode(mechanism(np.random.default_rng(seed), table).rows))


def made_by_them(
    codes: np.ndarray, sizes: tuple[int, ...], system: str, epsilon: float, delta: float, seed: int
) -> np.ndarray:
    """Codes of a rival's release."""
    module: Any = importlib.import_module(MODULES[system])
    names = [f"c{j}" for j in range(len(sizes))]
    np.random.seed(seed)  # noqa: NPY002 (all but dpsynth draw from NumPy's global generator)
    if system == "synmeter_privsyn":
        return privsyn(module, pd.DataFrame(codes, columns=names), sizes, epsilon, delta)
    if system == "data_synthesizer":
        return privbayes(module, pd.DataFrame(codes, columns=names), epsilon, seed)
    mbi: Any = importlib.import_module("mbi")
    data = mbi.Dataset({name: codes[:, j] for j, name in enumerate(names)}, mbi.Domain(names, sizes))
    if system in DPSYNTH:
        name, settings = DPSYNTH[system]
        config = module.DiscreteConfig(mechanism=getattr(module, name)(**settings))
        made = config.calibrate(epsilon=epsilon, delta=delta)(np.random.default_rng(seed), data).synthetic_data
    elif system == "mbi_mst":
        made = module.MST(data, epsilon, delta)
    elif system == "mbi_mwem":
        made = module.mwem_pgm(data, epsilon, delta)
    else:
        pairs = [pair for pair in itertools.combinations(names, 2) if data.domain.size(pair) <= _MOST_CELLS]
        _, made = module.AIM(epsilon, delta, max_model_size=80).run(data, [(pair, 1.0) for pair in pairs])
    found = made.to_dict()
    return np.stack([np.asarray(found[name]) for name in names], axis=1)


def privsyn(module: Any, rows: pd.DataFrame, sizes: tuple[int, ...], epsilon: float, delta: float) -> np.ndarray:
    """Codes of a release of SynMeter's PrivSyn; a tenth of ε is for single columns, which by default spend it once more."""
    data = importlib.import_module("syn.data_loader").DataLoader()
    data.load_data(rows, {name: {code: code for code in range(size)} for name, size in zip(rows, sizes, strict=True)})
    model = module.DPSyn(data, 50, epsilon, delta, 1, 0.1)  # 50 rounds, as in its configuration
    model.train()
    return np.asarray(model.synthesize()[rows.columns], dtype=np.int64)


def privbayes(module: Any, rows: pd.DataFrame, epsilon: float, seed: int) -> np.ndarray:
    """Codes of a release of DataSynthesizer (pure ε, once more for single columns), which chooses its degree itself."""
    generator = importlib.import_module("DataSynthesizer.DataGenerator").DataGenerator()
    describer = module.DataDescriber()
    with tempfile.TemporaryDirectory() as folder:
        data, about = f"{folder}/rows.csv", f"{folder}/about.json"
        rows.to_csv(data, index=False)
        describer.describe_dataset_in_correlated_attribute_mode(
            data, epsilon=epsilon, attribute_to_is_categorical=dict.fromkeys(rows.columns, True), seed=seed
        )
        describer.save_dataset_description_to_file(about)
        generator.generate_dataset_in_correlated_attribute_mode(len(rows), about, seed=seed)
    return np.asarray(generator.synthetic_dataset[rows.columns], dtype=np.int64)


def loaded(system: str, synmeter: str) -> None:
    """Load a rival's modules."""
    if system == "synmeter_privsyn":
        package = types.ModuleType("syn")  # as it is, it would load torch, which this part has no use for
        package.__path__ = [f"{synmeter}/synthesizer/syn"]
        sys.modules["syn"] = package
    importlib.import_module(MODULES[system])


def one_run(arguments: argparse.Namespace) -> None:
    """One release in this process: codes from a file, codes to a file, what it took as a line of JSON."""
    if arguments.system in OURS:
        table = load(arguments.set, arguments)
        _ = table.codes
    else:
        given = np.load(arguments.codes)
        codes, sizes = given["codes"], tuple(int(size) for size in given["sizes"])
        loaded(arguments.system, arguments.synmeter)
    wall, processor = time.perf_counter(), sum(os.times()[:4])  # its own processes' as well
    asked = (arguments.system, arguments.epsilon, arguments.delta, arguments.seed)
    made = made_by_us(table, *asked) if arguments.system in OURS else made_by_them(codes, sizes, *asked)
    seconds, cpu = time.perf_counter() - wall, sum(os.times()[:4]) - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    np.save(arguments.made, made)
    print(json.dumps({"rows": len(made), "seconds": seconds, "processor": cpu, "gigabytes": memory}))


def in_a_process(arguments: argparse.Namespace, table: Any, folder: Path, **asked: Any) -> dict[str, Any]:
    """:func:`one_run` in a fresh process, and how far its rows are from the table's."""
    ours = asked["system"] in OURS
    np.savez(folder / "codes.npz", codes=table.codes, sizes=table.domain.shape)
    made = folder / "made.npy"
    command = [sys.executable if ours else arguments.python, __file__, arguments.train, arguments.test, "--one"]
    for name, value in (
        asked | {"mbi": arguments.mbi, "synmeter": arguments.synmeter, "codes": folder / "codes.npz", "made": made}
    ).items():
        command += [f"--{name}", str(value)]
    scripts = [str(Path(arguments.mbi) / folder) for folder in ("src", "mechanisms")]
    paths = scripts if asked["system"].startswith("mbi_") else [arguments.dpsynth]
    environment = os.environ if ours else os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=60 * arguments.minutes
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done within {arguments.minutes:g} minutes"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    found = errors(table.codes, np.load(made), table.domain.shape, _MOST_CELLS if asked["set"] == "mbi" else np.inf)
    return {"mean": found.mean(), "largest": found.max(), **json.loads(done.stdout.strip().splitlines()[-1])}


def main(arguments: argparse.Namespace) -> None:
    """Print a line for every run, and keep it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.sets:
            table = load(name, arguments)
            delta = 1e-9 if name == "mbi" else 1e-5
            for epsilon, seed, system in itertools.product(arguments.epsilons, arguments.seeds, arguments.systems):
                asked = {"set": name, "system": system, "epsilon": epsilon, "delta": delta, "seed": seed}
                load_before = os.getloadavg()[0]
                run = in_a_process(arguments, table, Path(folder), **asked)
                line = {"date": date.today().isoformat(), "load": round(load_before, 1), **asked, **run}
                shown = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in line.items()}
                print(json.dumps(shown, ensure_ascii=False), flush=True)
                if arguments.csv is not None:
                    keep(arguments.csv, shown)


_KEPT = ("date", "load", "set", "system", "epsilon", "delta", "seed", "mean", "largest", "rows", "seconds", "processor",
         "gigabytes", "failed")  # fmt: skip


def keep(path: Path, line: dict[str, Any]) -> None:
    """Append a line."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, _KEPT)
        if new:
            writer.writeheader()
        writer.writerow(line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--python", default=sys.executable, help="of an environment that has what the rivals need")
    parser.add_argument("--dpsynth", default="", help="a checkout of google/dpsynth")
    parser.add_argument("--mbi", default="", help="a checkout of ryan112358/mbi")
    parser.add_argument("--synmeter", default="", help="a checkout of zealscott/SynMeter")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["adult8"])
    parser.add_argument("--systems", nargs="+", choices=[*OURS, *MODULES], default=["dpsyn", "swift"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--minutes", type=float, default=120, help="after which a run is ended")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    for hidden, kind in (("set", str), ("system", str), ("epsilon", float), ("delta", float), ("seed", int),
                         ("codes", str), ("made", str)):  # fmt: skip
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one_run(given)
    else:
        main(given)
