"""Losses as modules."""

from trt.nn import functional as F
from trt.nn.module import Module

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
           "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
           "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class _Loss(Module):
    """Calls `function` with the inputs and the options of the constructor. `options` are their names and defaults; those in `buffers` are tensors."""

    function = None
    options = {}
    buffers_ = ()
    order = ()

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = dict(zip(self.order, args))
        for name, value in kwargs.items():
            if name in ("size_average", "reduce") and value is None:
                continue
            if name not in self.options or name in given:
                raise TypeError(f"{type(self).__name__}() got an unexpected argument '{name}'")
            given[name] = value
        if len(args) > len(self.order):
            raise TypeError(f"{type(self).__name__}() takes at most {len(self.order)} arguments, got {len(args)}")
        for name, default in self.options.items():
            value = given.get(name, default)
            if name in self.buffers_:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs):
        return type(self).function(*inputs, **{name: getattr(self, name) for name in self.options})


def _loss(name, function, doc, buffers=(), **options):
    options["reduction"] = options.get("reduction", "mean")
    return type(name, (_Loss,), {"function": staticmethod(function), "options": options, "buffers_": tuple(buffers), "order": tuple(options), "__doc__": doc,
                                 "__module__": __name__})


MSELoss = _loss("MSELoss", F.mse_loss, "(input - target)^2.")
L1Loss = _loss("L1Loss", F.l1_loss, "abs(input - target).")
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss, "Squares below `beta`, absolute values above.", beta=1.0)
HuberLoss = _loss("HuberLoss", F.huber_loss, "Half squares below `delta`, delta times absolute values above.", delta=1.0)
CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy, "Of logits [n, c, ...] and classes [n, ...] or probabilities [n, c, ...].", ("weight",), weight=None,
                         ignore_index=-100, label_smoothing=0.0)
NLLLoss = _loss("NLLLoss", F.nll_loss, "Of log-probabilities [n, c, ...] and classes [n, ...].", ("weight",), weight=None, ignore_index=-100)
BCELoss = _loss("BCELoss", F.binary_cross_entropy, "Binary cross entropy of probabilities.", ("weight",), weight=None)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, "Binary cross entropy of logits.", ("weight", "pos_weight"), weight=None,
                          pos_weight=None)
KLDivLoss = _loss("KLDivLoss", F.kl_div, "Kullback-Leibler divergence of log-probabilities from `target`.", log_target=False)
CTCLoss = _loss("CTCLoss", F.ctc_loss, "Connectionist temporal classification: of log-probabilities [t, n, c], targets and lengths.", blank=0, zero_infinity=False)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss, "1 - cos for targets 1, max(0, cos - margin) for -1.", margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss, "x for targets 1, max(0, margin - x) for -1.", margin=1.0)
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss, "max(0, -y (x1 - x2) + margin).", margin=0.0)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss, "log(1 + exp(-y x)).")
MultiMarginLoss = _loss("MultiMarginLoss", F.multi_margin_loss, "Hinge loss over the classes.", ("weight",), p=1, margin=1.0, weight=None)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", F.multilabel_margin_loss, "Hinge loss of several classes.")
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, "Mean binary cross entropy of logits over the classes.", ("weight",),
                                 weight=None)
TripletMarginLoss = _loss("TripletMarginLoss", F.triplet_margin_loss, "max(0, d(anchor, positive) - d(anchor, negative) + margin).", margin=1.0, p=2.0, eps=1e-6,
                          swap=False)
PoissonNLLLoss = _loss("PoissonNLLLoss", F.poisson_nll_loss, "Negative log likelihood of Poisson counts.", log_input=True, full=False, eps=1e-8)
GaussianNLLLoss = _loss("GaussianNLLLoss", F.gaussian_nll_loss, "Negative log likelihood of normal targets.", full=False, eps=1e-6)


class TripletMarginWithDistanceLoss(Module):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with any distance d; pairwise_distance by default."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        self.distance_function, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
                                                   reduction=self.reduction)
