"""Audits of the mechanisms on their worst pairs of datasets: lower bounds on ε by running what a release runs.

Each takes a calibrated mechanism, builds two neighbouring datasets that are as far apart as its proof allows, runs the very
code that makes the noisy part of a release, and scores outputs by the logarithm of their likelihood ratio. What follows the
noise (the fit, the draws, decoding) is post-processing and only loses information.

Beside the (ε, δ) that is claimed, the claims that the same noise makes at other δ are tested. In 20,000 runs Gaussian noise
gives up little of its ε at δ = 1e-5, and Laplace noise on many statistics little of its ε at δ = 0; but a fault shows at
δ = 0.1.
"""

from dpsyn.evaluation.audits._mixing import audit_dp_cda, audit_published_dp_cda
from dpsyn.evaluation.audits._reweighting import audit_noisy_reweighting, worst_rows

__all__ = ["audit_dp_cda", "audit_noisy_reweighting", "audit_published_dp_cda", "worst_rows"]
