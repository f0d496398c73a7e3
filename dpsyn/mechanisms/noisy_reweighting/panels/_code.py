"""Python that makes what a view of noisy reweighting shows: the same functions, the same numbers."""

from __future__ import annotations

from dpsyn.kit.code import imports_of, script, written
from dpsyn.mechanisms.noisy_reweighting.panels._controls import Bench

_FIGURES = "dpsyn.mechanisms.noisy_reweighting.figures"
_TITLE = "Noisy reweighting from the inside: it reads the private rows."


def _trial(bench: Bench) -> str:
    return f"""
rows = train.project({bench.columns!r})
run = trial(rows, {written(bench.spec)}, degree={bench.degree}, noise={bench.noise!r}, seed={bench.seed})
"""


def _mechanism(bench: Bench) -> str:
    return f"""
rows = train.project({bench.columns!r})
spec = {written(bench.spec)}
config = dpsyn.NoisyReweighting(degree={bench.degree}, noise={bench.noise!r})
mechanism = config.calibrate(spec, rows.domain, n=rows.n)
"""


def noise(bench: Bench, n: int) -> str:
    """Noise by family at n rows, and the budget of the mechanism."""
    body = f"""{_mechanism(bench)}
bits = sum(1 if a.kind == "truth" else a.size for a in rows.domain.attributes)
found = noise_info(rows.domain.shape, bits, spec, degree={bench.degree}, kind={bench.noise!r}, n={n})
for line in found.lines:
    print(line.family, line.statistics, "statistics, noise at n:", line.at({n}))
draw_noise(found).save("noise.html")
print(mechanism.guarantee)
for part in mechanism.calibrated()["ledger"]:
    print("   ", part)
"""
    return script(_TITLE, body, bench.current, imports_of(_FIGURES, noise="draw_noise, noise_info"))


def fitted(bench: Bench, objective: str) -> str:
    """True, noisy and fitted statistics, and the worst tables."""
    body = f"""{_trial(bench)}
print(run.family.count, "statistics of", run.n, "rows, noise of standard deviation", run.deviation)
found = statistics_info(run, {objective!r})
print(found.subtitle)
draw_statistics(found).save("statistics.html")
draw_worst_tables(worst_tables_info(run, {objective!r})).save("worst_tables.html")
"""
    imports = imports_of(
        _FIGURES,
        statistics="draw_statistics, draw_worst_tables, statistics_info, worst_tables_info",
        trial="trial",
    )
    return script(_TITLE, body, bench.current, imports)


def support(bench: Bench, objective: str, k: int) -> str:
    """Support of three densities, and the error that drawing rows adds."""
    body = f"""{_trial(bench)}
found = support_info(run)
for line in found.lines:
    print(line.objective, "points:", line.carrying, "worth:", line.effective, "mean error:", line.error)
draw_support(found).save("support.html")
drawn = draws_info(run, {objective!r}, k={k}, seed={bench.seed})
print(drawn.subtitle)
draw_draws(drawn).save("draws.html")
"""
    imports = imports_of(
        _FIGURES,
        draws="draw_draws, draws_info",
        support="draw_support, support_info",
        trial="trial",
    )
    return script(_TITLE, body, bench.current, imports)


def audit(bench: Bench, factor: float) -> str:
    """The audit, with noise scaled by a factor; its runs are drawn anew."""
    body = f"""{_mechanism(bench)}
found = audit_noisy_reweighting(mechanism, noise_factor={factor!r}, generator=np.random.default_rng())
print("claimed:", found.claim, "at least, by the runs:", found.epsilon)
print("refuted" if found.refuted else "nothing speaks against the claim")
"""
    return script(
        "An audit of noisy reweighting.",
        body,
        bench.current,
        "from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting\n",
    )
