"""The performance model: how long a kernel takes on a GPU, without one."""

from argus.model.predict import Prediction, predict

__all__ = ["Prediction", "predict"]
