"""What is known to differ and right so: (operator, check) -> reason. "*" stands for every operator or check.

An entry is counted as skipped. A full run with --verbose names entries that were not needed.
"""

_VIEW = "a view fails where the memory does not allow it: that is its purpose"
_MEMORY = "its arguments are about the memory"
_DATA = "the result's form depends on data; the status says so"
_NO_DERIVATIVE = "PyTorch has no derivative with respect to one of its arguments; the library says so"
_WRITTEN = "running statistics are written, which an expanded tensor does not allow"

_REPEATED = "of repeated positions one is taken, and as in PyTorch each gets its gradient"

EXCEPTIONS = {
    ("max_unpool1d", "gradient"): _REPEATED,
    ("max_unpool1d", "second gradient"): _REPEATED,
    ("max_unpool2d", "gradient"): _REPEATED,
    ("max_unpool2d", "second gradient"): _REPEATED,
    ("max_unpool3d", "gradient"): _REPEATED,
    ("max_unpool3d", "second gradient"): _REPEATED,
    ("view", "transposed"): _VIEW,
    ("view", "expanded"): _VIEW,
    ("view", "gradient transposed"): _VIEW,
    ("view_as", "transposed"): _VIEW,
    ("view_as", "expanded"): _VIEW,
    ("view_as", "gradient transposed"): _VIEW,
    ("view_as_complex", "transposed"): _VIEW,
    ("view_as_complex", "sliced"): _VIEW,
    ("view_as_complex", "expanded"): _VIEW,
    ("view_as_complex", "gradient transposed"): _VIEW,
    ("view_as_complex", "gradient sliced"): _VIEW,
    ("as_strided", "transposed"): _MEMORY,
    ("as_strided", "sliced"): _MEMORY,
    ("as_strided", "expanded"): _MEMORY,
    ("as_strided", "gradient transposed"): _MEMORY,
    ("as_strided", "gradient sliced"): _MEMORY,
    ("argwhere", "meta"): _DATA,
    ("one_hot", "meta"): _DATA,
    ("tensor_split.tensor_indices_or_sections", "meta"): _DATA,
    ("repeat_interleave.self_Tensor", "meta"): _DATA,
    ("instance_norm", "expanded"): _WRITTEN,
}
for _name in ("special_zeta", "igamma", "igammac", "nextafter", "nextafter_equal"):
    for _check in ("gradient", "second gradient", "gradient transposed", "gradient sliced", "gradient expanded", "in place gradient", "threads"):
        EXCEPTIONS[_name, _check] = _NO_DERIVATIVE


def reason_for(op, check):
    """The reason why a failure of this check is expected, or None."""
    name = op.split(".")[0]
    for key in ((op, check), (name, check), (op, "*"), (name, "*"), ("*", check)):
        if key in EXCEPTIONS:
            return key, EXCEPTIONS[key]
    return None
