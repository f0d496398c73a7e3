"""AIM (McKenna, Mullins, Sheldon, Miklau 2022): measure the table that the model has worst, as its size and noise allow."""

from dpsyn.mechanisms.aim.mechanism import AIM, AIMMechanism

__all__ = ["AIM", "AIMMechanism"]
