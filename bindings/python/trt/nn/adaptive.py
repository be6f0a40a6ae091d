"""A softmax over many classes of which few are frequent."""

from collections import namedtuple

from trt import _C
from trt.nn import functional as F
from trt.nn.containers import ModuleList, Sequential
from trt.nn.layers import Linear
from trt.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ops = _C._operators

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over `n_classes` in the order of how frequent they are (Grave et al. 2017): those before `cutoffs[0]` have a score each in the head, the others stand
    in clusters that begin at the cutoffs. A cluster has one score in the head, and scores of its classes by two matrices over in_features / div_value^(i + 1)
    features. forward(input [n, in_features], target [n]) gives the logarithms of the targets' probabilities [n] and the mean loss; without n both are single."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(f"cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1, "
                             f"got {cutoffs} with {n_classes} classes")
        kind = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.cutoffs, self.div_value, self.head_bias = in_features, n_classes, cutoffs + [n_classes], div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, hidden, False, **kind), Linear(hidden, self.cutoffs[i + 1] - self.cutoffs[i], False, **kind)))

    def reset_parameters(self):
        """Draws the parameters anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input, target):
        if input.dim() not in (1, 2) or target.dim() != input.dim() - 1:
            raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss: an input [n, in_features] with a target [n], or both without n, are needed, got {list(input.shape)} and "
                               f"{list(target.shape)}")
        if input.dim() == 2 and input.size(0) != target.size(0):
            raise RuntimeError(f"Input and target should have the same size in the batch dimension, got {list(input.shape)} and {list(target.shape)}")
        single = input.dim() == 1
        x, classes = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        if classes.numel() and not 0 <= int(classes.min()) <= int(classes.max()) < self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(classes.min())}, {int(classes.max())}] were found.")
        # Of each sample the place in the head; of those in a cluster also the logarithm within it.
        place, rows, within = classes.clone(), [], []
        for i, tail in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            found = ((classes >= low) & (classes < high)).nonzero().squeeze(1)
            if found.numel():
                place[found] = self.shortlist_size + i
                scores = F.log_softmax(tail(x.index_select(0, found)), 1)
                rows.append(found)
                within.append(scores.gather(1, (classes[found] - low).unsqueeze(1)).squeeze(1))
        output = F.log_softmax(self.head(x), 1).gather(1, place.unsqueeze(1)).squeeze(1)
        if rows:
            output = output.index_add(0, _ops["cat"](rows), _ops["cat"](within))
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _all(self, input, head):
        logs = F.log_softmax(head, 1)
        parts = [logs[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), 1) + logs[:, self.shortlist_size + i].unsqueeze(1))
        return _ops["cat"](parts, 1)

    def log_prob(self, input):
        """The logarithms of the probabilities of all classes: [n, in_features] to [n, n_classes]."""
        return self._all(input, self.head(input))

    def predict(self, input):
        """The class with the largest probability: [n, in_features] to [n]. Only samples for which the head prefers a cluster are compared with all classes."""
        head = self.head(input)
        best = head.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel():
            best[rows] = self._all(input.index_select(0, rows), head.index_select(0, rows)).argmax(1)
        return best
