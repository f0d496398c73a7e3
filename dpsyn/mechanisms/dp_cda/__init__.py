"""DP-CDA: noisy averages of records of one class (Saha, Tonoy, Imtiaz 2024), with the gaps of its proof closed."""

from dpsyn.mechanisms.dp_cda._config import DPCDA
from dpsyn.mechanisms.dp_cda._mechanism import DPCDAMechanism
from dpsyn.mechanisms.dp_cda._published import PublishedDPCDA, PublishedDPCDAMechanism, published_rows
from dpsyn.privacy.mixing.averaging import noisy_averages

__all__ = [
    "DPCDA",
    "DPCDAMechanism",
    "PublishedDPCDA",
    "PublishedDPCDAMechanism",
    "noisy_averages",
    "published_rows",
]
