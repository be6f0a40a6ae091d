"""Comparison of gradients with differences."""

from trt import _C
from trt._modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """The gradients are not what differences say."""


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outputs):
    return [o for o in _tuple(outputs) if isinstance(o, _C.TensorBase) and o.requires_grad]


def _numerical(function, inputs, at, eps):
    """d outputs / d inputs[at], by central differences: a list of rows (one an element of the input) for each output."""
    x = inputs[at]
    rows = None
    with no_grad():
        flat = x.detach()
        flat = flat.view(-1) if flat._is_contiguous() else None
        for i in range(x.numel()):
            def moved(step):
                if flat is not None:
                    before = flat[i].item()
                    flat[i] = before + step
                    try:
                        return [o.detach().clone() for o in _tuple(function(*inputs)) if isinstance(o, _C.TensorBase) and o.is_floating_point()]
                    finally:
                        flat[i] = before
                changed = x.detach().contiguous().clone()
                changed.view(-1)[i] += step
                changed.requires_grad_()  # the function may take gradients itself
                args = [changed if k == at else a for k, a in enumerate(inputs)]
                return [o.detach().clone() for o in _tuple(function(*args)) if isinstance(o, _C.TensorBase) and o.is_floating_point()]

            differences = [((high - low) / (2 * eps)).reshape(-1) for high, low in zip(moved(eps), moved(-eps))]
            rows = rows or [[] for _ in differences]
            for r, d in zip(rows, differences):
                r.append(d)
    return rows or []


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False):
    """Whether the gradients of func(*inputs) with respect to the inputs that require them (of float64) agree with central differences."""
    from trt.autograd import grad

    inputs = _tuple(inputs)

    def fail(message):
        if raise_exception:
            raise GradcheckError(message)
        return False

    wanted = [i for i, x in enumerate(inputs) if isinstance(x, _C.TensorBase) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for i in wanted:
        if inputs[i].dtype.name != "float64":
            raise ValueError(f"gradcheck: input {i} is of {inputs[i].dtype}; differences need float64")
    numerical = {i: _numerical(func, inputs, i, eps) for i in wanted}  # first: it changes the inputs meanwhile
    with enable_grad():
        outputs = [o for o in _tuple(func(*inputs)) if isinstance(o, _C.TensorBase) and o.is_floating_point()]
    for k, output in enumerate(outputs):
        for i in wanted:
            if not inputs[i].numel():
                continue
            expected = _C._operators["stack"](numerical[i][k])  # [elements of the input, elements of the output]
            for j in range(output.numel()):
                found = None
                if output.requires_grad:
                    seed = _C._operators["zeros_like"](output)
                    seed.view(-1)[j] = 1
                    found = grad([output], [inputs[i]], [seed], retain_graph=True, allow_unused=True)[0]
                column = expected[:, j]
                actual = _C._operators["zeros_like"](column) if found is None else found.detach().reshape(-1)
                if not bool(_C._operators["isclose"](actual, column, rtol, atol, True).all()):
                    return fail(f"Jacobian mismatch for output {k} with respect to input {i}, element {j} of the output:\nnumerical: {column}\nanalytical: {actual}")
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_):
    """The same for second derivatives: the gradients of the gradients."""
    from trt.autograd import grad

    inputs = _tuple(inputs)
    if grad_outputs is None:
        with enable_grad():
            outputs = _differentiable(func(*inputs))
        grad_outputs = tuple(_C._operators["randn_like"](o).requires_grad_() for o in outputs)
    grad_outputs = _tuple(grad_outputs)
    n = len(inputs)

    def first(*args):
        with enable_grad():
            outputs = _differentiable(func(*args[:n]))
            wanted = [a for a in args[:n] if isinstance(a, _C.TensorBase) and a.requires_grad]
            if not wanted:
                return ()
            return tuple(g for g in grad(outputs, wanted, args[n:], create_graph=True, allow_unused=True) if g is not None)

    return gradcheck(first, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
