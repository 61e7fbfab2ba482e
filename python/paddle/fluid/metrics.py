"""Metrics that the script keeps itself, fed with fetched values batch by batch."""
from __future__ import annotations

import numpy as np

__all__ = ["Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "EditDistance", "MetricBase", "Precision", "Recall"]


def _array(value, what: str) -> np.ndarray:
    if not isinstance(value, (np.ndarray, np.number, int, float)):
        raise ValueError(f"The '{what}' must be a numpy ndarray, found {type(value).__name__}")
    return np.asarray(value)


class MetricBase:
    """Base of metrics: `reset`, `update` with a batch, `eval` for the value so far."""

    def __init__(self, name=None):
        self._name = str(name) if name is not None else type(self).__name__

    def __str__(self) -> str:
        return self._name

    def reset(self) -> None:
        """Sets all numbers and arrays that do not begin with an underscore to zero."""
        for key, value in vars(self).items():
            if key.startswith("_"):
                continue
            if isinstance(value, (int, float, np.number)):
                setattr(self, key, type(value)(0))
            elif isinstance(value, np.ndarray):
                setattr(self, key, np.zeros_like(value))
            else:
                setattr(self, key, None)

    def get_config(self) -> dict:
        """The state, by name."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}

    def update(self, preds, labels) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say how it is updated")

    def eval(self):
        raise NotImplementedError(f"{type(self).__name__} must say what it is")


class CompositeMetric(MetricBase):
    """Several metrics of the same predictions."""

    def __init__(self, name=None):
        super().__init__(name)
        self._metrics = []

    def add_metric(self, metric: MetricBase) -> None:
        if not isinstance(metric, MetricBase):
            raise ValueError("SubMetric should be inherit from MetricBase.")
        self._metrics.append(metric)

    def reset(self) -> None:
        for m in self._metrics:
            m.reset()

    def update(self, preds, labels) -> None:
        for m in self._metrics:
            m.update(preds, labels)

    def eval(self) -> list:
        return [m.eval() for m in self._metrics]


class _Positives(MetricBase):
    """Counts right and wrong positives of a binary classification; predictions are rounded to 0 or 1."""

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = 0

    def _counts(self, preds, labels):
        preds = np.rint(_array(preds, "preds")).astype("int64").ravel()
        labels = _array(labels, "labels").astype("int64").ravel()
        if preds.shape != labels.shape:
            raise ValueError(f"there are {preds.size} predictions and {labels.size} labels: they must be as many")
        return preds, labels


class Precision(_Positives):
    """Of what was predicted as 1, the share that is 1."""

    def __init__(self, name=None):
        super().__init__(name)
        self.fp = 0

    def update(self, preds, labels) -> None:
        preds, labels = self._counts(preds, labels)
        self.tp += int(np.sum((preds == 1) & (labels == 1)))
        self.fp += int(np.sum((preds == 1) & (labels != 1)))

    def eval(self) -> float:
        found = self.tp + self.fp
        return float(self.tp) / found if found else 0.0


class Recall(_Positives):
    """Of what is 1, the share that was predicted as 1."""

    def __init__(self, name=None):
        super().__init__(name)
        self.fn = 0

    def update(self, preds, labels) -> None:
        preds, labels = self._counts(preds, labels)
        self.tp += int(np.sum((preds == 1) & (labels == 1)))
        self.fn += int(np.sum((preds != 1) & (labels == 1)))

    def eval(self) -> float:
        there = self.tp + self.fn
        return float(self.tp) / there if there else 0.0


class Accuracy(MetricBase):
    """The mean of batch accuracies (`fluid.layers.accuracy`), weighted by the sizes of the batches."""

    def __init__(self, name=None):
        super().__init__(name)
        self.value = 0.0
        self.weight = 0.0

    def update(self, value, weight) -> None:
        value = _array(value, "value")
        if not isinstance(weight, (int, float, np.number, np.ndarray)):
            raise ValueError("The 'weight' must be a number")
        if weight < 0:
            raise ValueError("The 'weight' can not be negative")
        self.value += float(value.ravel()[0]) * float(weight)
        self.weight += float(weight)

    def eval(self) -> float:
        if self.weight == 0:
            raise ValueError("there is no data in Accuracy: update it with the value of fluid.layers.accuracy first")
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from counts of batches."""

    def __init__(self, name=None):
        super().__init__(name)
        self.num_infer_chunks = 0
        self.num_label_chunks = 0
        self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks) -> None:
        self.num_infer_chunks += int(_array(num_infer_chunks, "num_infer_chunks").ravel()[0])
        self.num_label_chunks += int(_array(num_label_chunks, "num_label_chunks").ravel()[0])
        self.num_correct_chunks += int(_array(num_correct_chunks, "num_correct_chunks").ravel()[0])

    def eval(self) -> tuple:
        right = float(self.num_correct_chunks)
        precision = right / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = right / self.num_label_chunks if self.num_label_chunks else 0.0
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        return precision, recall, f1


class EditDistance(MetricBase):
    """The mean edit distance, and the share of sequences that are not exactly right."""

    def __init__(self, name):
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = 0
        self.instance_error = 0

    def update(self, distances, seq_num) -> None:
        distances = _array(distances, "distances")
        count = int(_array(seq_num, "seq_num").ravel()[0])
        self.seq_num += count
        self.instance_error += count - int(np.sum(distances == 0))
        self.total_distance += float(np.sum(distances))

    def eval(self) -> tuple:
        if self.seq_num == 0:
            raise ValueError("there is no data in EditDistance: update it with distances first")
        return self.total_distance / self.seq_num, self.instance_error / float(self.seq_num)


class Auc(MetricBase):
    """Area under the curve of a binary classification, over all batches since `reset`.

    Args:
        name: shown by str().
        curve: "ROC" or "PR".
        num_thresholds: bins of the probability.
    """

    def __init__(self, name, curve: str = "ROC", num_thresholds: int = 4095):
        super().__init__(name)
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Auc: curve must be 'ROC' or 'PR', found {curve!r}")
        self._curve = curve
        self._num_thresholds = num_thresholds
        self._stat_pos = np.zeros(num_thresholds + 1, dtype="int64")
        self._stat_neg = np.zeros(num_thresholds + 1, dtype="int64")

    def reset(self) -> None:
        self._stat_pos[:] = 0
        self._stat_neg[:] = 0

    def update(self, preds, labels) -> None:
        """Adds a batch: preds [N, 2] (column 1 is the probability of the label 1), labels [N, 1]."""
        preds, labels = _array(preds, "preds"), _array(labels, "labels").ravel()
        bins = (preds[:, -1] * self._num_thresholds).astype("int64")
        if bins.size and (bins.min() < 0 or bins.max() > self._num_thresholds):
            raise ValueError("Auc: predictions must be probabilities from 0 to 1")
        np.add.at(self._stat_pos, bins[labels != 0], 1)
        np.add.at(self._stat_neg, bins[labels == 0], 1)

    def eval(self) -> float:
        tp = np.cumsum(self._stat_pos[::-1], dtype="float64")
        fp = np.cumsum(self._stat_neg[::-1], dtype="float64")
        if tp[-1] == 0 or fp[-1] == 0:
            return 0.0
        before_tp, before_fp = np.append(0.0, tp[:-1]), np.append(0.0, fp[:-1])
        if self._curve == "ROC":
            return float(np.sum((fp - before_fp) * (tp + before_tp)) / 2 / (tp[-1] * fp[-1]))
        seen = tp + fp
        precision = np.divide(tp, seen, out=np.ones_like(tp), where=seen > 0)
        before = np.append(1.0, precision[:-1])
        return float(np.sum((tp - before_tp) / tp[-1] * (precision + before) / 2))
