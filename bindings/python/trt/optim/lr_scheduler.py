"""Learning-rate schedulers: a new one sets the first rates; step() after the optimizer's step sets the next."""

import math
import warnings
import weakref

from trt import _C
from trt._options import options


class LRScheduler:
    """Base of the library's schedulers."""

    def __init__(self, optimizer, handle):
        self.optimizer, self._handle = optimizer, handle
        self._fresh, self._steps = True, getattr(optimizer, "_steps", None)  # until its first step; the optimizer's steps before

    def step(self):
        """Sets the next learning rates."""
        if self._fresh:
            self._fresh = False
            if self._steps is not None and self.optimizer._steps == self._steps:
                warnings.warn("the scheduler's step() came before the optimizer's first one, so that the first learning rate is never used: optimizer.step() goes first",
                              stacklevel=2)
        _C.trt_scheduler_step(self._handle)

    @property
    def last_epoch(self) -> int:
        """Number of steps taken."""
        return _C.trt_scheduler_last_epoch(self._handle)

    def get_last_lr(self) -> list:
        """The learning rate set last, of each group."""
        return [_C.trt_scheduler_last_lr(self._handle, i) for i in range(len(self.optimizer.param_groups))]

    def state_dict(self) -> dict:
        """The position, as a dict of tensors; the options are not in it."""
        return _C.trt_scheduler_state_dict(self._handle)

    def load_state_dict(self, state_dict):
        """Goes to a position."""
        _C.trt_scheduler_load_state_dict(self._handle, state_dict)
        self._fresh = False


class StepLR(LRScheduler):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer, step_size, gamma=0.1):
        super().__init__(optimizer, _C.trt_step_lr_create(optimizer, step_size, gamma))


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1):
        super().__init__(optimizer, _C.trt_multi_step_lr_create(optimizer, list(milestones), gamma))


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma):
        super().__init__(optimizer, _C.trt_exponential_lr_create(optimizer, gamma))


class ConstantLR(LRScheduler):
    """Times factor for the first total_iters steps."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5):
        super().__init__(optimizer, _C.trt_constant_lr_create(optimizer, factor, total_iters))


class LinearLR(LRScheduler):
    """Times a factor that goes linearly from start_factor to end_factor in total_iters steps."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5):
        super().__init__(optimizer, _C.trt_linear_lr_create(optimizer, start_factor, end_factor, total_iters))


class PolynomialLR(LRScheduler):
    """To zero in total_iters steps along (1 - t / total_iters)^power."""

    def __init__(self, optimizer, total_iters=5, power=1.0):
        super().__init__(optimizer, _C.trt_polynomial_lr_create(optimizer, total_iters, power))


class CosineAnnealingLR(LRScheduler):
    """Along half a cosine to eta_min in T_max steps, then up again."""

    def __init__(self, optimizer, T_max, eta_min=0.0):
        super().__init__(optimizer, _C.trt_cosine_annealing_lr_create(optimizer, T_max, eta_min))


class OneCycleLR(LRScheduler):
    """Up to a peak and down again, the momentum the other way. Step after every batch."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos", cycle_momentum=True,
                 base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        with options("one_cycle", max_lr=max_lr, total_steps=total_steps, linear=anneal_strategy == "linear", cycle_momentum=cycle_momentum, three_phase=three_phase,
                     pct_start=pct_start, base_momentum=base_momentum, max_momentum=max_momentum, div_factor=div_factor, final_div_factor=final_div_factor) as o:
            super().__init__(optimizer, _C.trt_one_cycle_lr_create(optimizer, o))


class LambdaLR(LRScheduler):
    """Times a factor that lr_lambda(epoch) computes; a list has a function for each group."""

    def __init__(self, optimizer, lr_lambda):
        several = isinstance(lr_lambda, (list, tuple))
        if several and len(lr_lambda) != len(optimizer.param_groups):
            raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")

        # The library keeps this function. What lr_lambda refers to, which may be this scheduler, Python's collector must see.
        self._lambda = lr_lambda
        this = weakref.ref(self)

        def factor(epoch, group):
            functions = this()._lambda
            return (functions[group] if several else functions)(epoch)

        super().__init__(optimizer, _C._lambda_lr(optimizer, factor))


class SequentialLR(LRScheduler):
    """Runs schedulers[0] until step milestones[0], then schedulers[1] from its beginning, and so on."""

    def __init__(self, optimizer, schedulers, milestones):
        self._schedulers = list(schedulers)
        super().__init__(optimizer, _C.trt_sequential_lr_create(optimizer, self._schedulers, list(milestones)))


class ReduceLROnPlateau:
    """Times `factor` when a metric did not get better for more than `patience` steps: step(metric)."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', got {mode!r} and {threshold_mode!r}")
        self.optimizer, self.mode, self.factor, self.patience, self.threshold, self.threshold_mode = optimizer, mode, factor, patience, threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best, self.num_bad_epochs, self.cooldown_counter, self.last_epoch = math.inf if mode == "min" else -math.inf, 0, 0, 0

    def _better(self, value):
        margin = self.threshold * abs(self.best) if self.threshold_mode == "rel" and math.isfinite(self.best) else self.threshold if self.threshold_mode == "abs" else 0.0
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    def step(self, metrics):
        """Looks at the metric, and sets the learning rates."""
        value = float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                new = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self) -> list:
        """The learning rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict:
        """The position."""
        return {name: getattr(self, name) for name in ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")}

    def load_state_dict(self, state_dict):
        """Goes to a position."""
        self.__dict__.update(state_dict)
