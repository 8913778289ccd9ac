"""Writes metrics.txt: scikit-learn's metrics, for tests/nn/test_metrics.c. Run: python make_metrics.py > metrics.txt"""
import numpy as np
from sklearn import metrics as m

rng = np.random.default_rng(5)


def emit(name, value):
    value = np.asarray(value, dtype=np.float64)
    print(name, value.ndim, *value.shape, " ".join("%.17g" % v for v in value.flatten()))


print("# scikit-learn, make_metrics.py")
N, C = 60, 5
logits = np.round(rng.normal(size=(N, C)), 1) + np.arange(C) * 1e-3  # no ties: scikit-learn ranks those the other way round
labels = rng.integers(0, C - 1, N)  # the last class is never a label
labels[:C - 1] = range(C - 1)
predictions = logits.argmax(1)
emit("logits", logits)
emit("labels", labels)
emit("predictions", predictions)
emit("confusion", m.confusion_matrix(labels, predictions, labels=range(C)))
for k in range(1, C + 1):
    emit(f"top.{k}", m.top_k_accuracy_score(labels, logits, k=k, labels=range(C)))
for average in ("macro", "weighted", "micro", None):
    p, r, f, _ = m.precision_recall_fscore_support(labels, predictions, average=average, zero_division=0)
    j = m.jaccard_score(labels, predictions, average=average, zero_division=0)
    emit(f"scores.{average or 'each'}", np.array([p, r, f, j]))
log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
emit("perplexity", np.exp(m.log_loss(labels, np.exp(log_p), labels=range(C))))
for name, n, digits in [("smooth", 50, 9), ("ties", 80, 1), ("few", 3, 9)]:
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    s = np.round(rng.normal(size=n) + y, digits)
    emit(f"binary.{name}.scores", s)
    emit(f"binary.{name}.labels", y)
    emit(f"binary.{name}.auc", m.roc_auc_score(y, s))
    emit(f"binary.{name}.precision", m.average_precision_score(y, s))
four = np.exp(logits[:, :C - 1])
four /= four.sum(1, keepdims=True)
emit("many.scores", four)
emit("many.auc", m.roc_auc_score(labels, four, multi_class="ovr", average="macro"))
