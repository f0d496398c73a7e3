"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017): a Bayesian network chosen and filled in with noise."""

from dpsyn.mechanisms.privbayes.mechanism import PrivBayes, PrivBayesMechanism

__all__ = ["PrivBayes", "PrivBayesMechanism"]
