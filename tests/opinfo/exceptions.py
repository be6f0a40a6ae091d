"""What is known to differ and right so: (operator, check) -> reason. "*" stands for every operator or check.

An entry is counted as skipped. A full run with --verbose names entries that were not needed.
"""

_VIEW = "a view fails where the memory does not allow it: that is its purpose"
_MEMORY = "its arguments are about the memory"
_BITS = "the bits, and how many there are, are those of the dtype"
_DATA = "the result's form depends on data; the status says so"
_SINGULAR = "samples whose matrix is singular but for rounding: differences say nothing there"
_AT_ZERO = "norms of an order below 1 have no second derivative where an element is 0"
_NO_DERIVATIVE = "PyTorch has no derivative with respect to one of its arguments; the library says so"
_WRITTEN = "running statistics are written, which an expanded tensor does not allow"
_ONE_TRIANGLE = "only one triangle is read; the gradient is that of a Hermitian argument, as in PyTorch"
_NO_DERIVATIVE = "there is no derivative of it, in PyTorch neither; the status says so"
_TRUNCATED = "singular values below the bound are cut off, which the gradient takes for zeros, as in PyTorch"
_FREE_SIGNS = "vectors have free signs, complete bases free vectors"
_ROUNDED = "the condition number or a cancellation multiplies the error of the dtype"

_NORMALIZED = "the gradient is that of scores which log_softmax normalized, as in PyTorch, which has no second derivative either"
_WIDER = "logarithms of sums are kept in float32 beside 16-bit floats"
_REPEATED = "of repeated positions one is taken, and as in PyTorch each gets its gradient"

_DRAWN = "random numbers are drawn in the order in memory, which is that of the argument, as in PyTorch"

_SAVED = "what the forward operator kept is an argument, but the derivative takes it for the function of the others that it is; the second gradient of the forward one tests it"
_STATISTICS = "statistics and states are kept in float32 beside 16-bit floats"

EXCEPTIONS = {
    ("attention_backward", "gradient"): _SAVED,
    ("native_batch_norm_backward", "gradient"): _SAVED,
    ("native_layer_norm_backward", "gradient"): _SAVED,
    ("batch_norm_stats", "dtype float16"): _STATISTICS,
    ("batch_norm_stats", "dtype bfloat16"): _STATISTICS,
    ("recurrent_layer", "dtype float16"): _STATISTICS,
    ("recurrent_layer", "dtype bfloat16"): _STATISTICS,
    ("ctc_loss_forward", "gradient"): _NORMALIZED,
    ("ctc_loss_forward", "second gradient"): _NORMALIZED,
    **{(op, check): _NO_DERIVATIVE for op in ("ctc_loss_backward", "recurrent_layer_backward")
       for check in ("gradient", "second gradient", "gradient transposed", "gradient sliced", "gradient expanded")},
    ("recurrent_layer_backward", "threads"): _NO_DERIVATIVE,
    ("rand_like", "transposed"): _DRAWN,
    ("randn_like", "transposed"): _DRAWN,
    ("randint_like", "transposed"): _DRAWN,
    ("randint_like.low_dtype", "transposed"): _DRAWN,
    ("max_unpool1d", "gradient"): _REPEATED,
    ("max_unpool1d", "second gradient"): _REPEATED,
    ("max_unpool2d", "gradient"): _REPEATED,
    ("max_unpool2d", "second gradient"): _REPEATED,
    ("max_unpool3d", "gradient"): _REPEATED,
    ("max_unpool3d", "second gradient"): _REPEATED,
    ("ctc_loss", "gradient"): _NORMALIZED,
    ("ctc_loss", "second gradient"): _NORMALIZED,
    ("ctc_loss.Tensor", "meta"): _DATA,
    ("embedding_bag", "meta"): _DATA,
    ("attention_forward", "dtype float16"): _WIDER,
    ("attention_forward", "dtype bfloat16"): _WIDER,
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
    ("as_strided", "in place strided"): _MEMORY,
    **{("view.dtype", f"dtype {dtype}"): _BITS for dtype in ("float32", "float16", "bfloat16")},
    **{("as_strided_scatter", check): _MEMORY for check in ("transposed", "sliced", "expanded", "gradient transposed", "gradient sliced", "gradient expanded")},
    ("as_strided", "sliced"): _MEMORY,
    ("as_strided", "expanded"): _MEMORY,
    ("as_strided", "gradient transposed"): _MEMORY,
    ("as_strided", "gradient sliced"): _MEMORY,
    ("argwhere", "meta"): _DATA,
    ("one_hot", "meta"): _DATA,
    ("tensor_split.tensor_indices_or_sections", "meta"): _DATA,
    ("repeat_interleave.self_Tensor", "meta"): _DATA,
    ("instance_norm", "expanded"): _WRITTEN,
    ("cholesky", "gradient"): _ONE_TRIANGLE,
    ("cholesky", "second gradient"): _ONE_TRIANGLE,
    ("linalg_cholesky", "gradient"): _ONE_TRIANGLE,
    ("linalg_cholesky", "second gradient"): _ONE_TRIANGLE,
    ("linalg_cholesky_ex", "gradient"): _ONE_TRIANGLE,
    ("linalg_cholesky_ex", "second gradient"): _ONE_TRIANGLE,
    ("linalg_eigh", "gradient"): _ONE_TRIANGLE,
    ("linalg_eigh", "second gradient"): _ONE_TRIANGLE,
    ("linalg_eigvalsh", "gradient"): _ONE_TRIANGLE,
    ("linalg_eigvalsh", "second gradient"): _ONE_TRIANGLE,
    ("geqrf", "gradient"): _NO_DERIVATIVE,
    ("geqrf", "gradient expanded"): _NO_DERIVATIVE,
    ("geqrf", "gradient sliced"): _NO_DERIVATIVE,
    ("geqrf", "gradient transposed"): _NO_DERIVATIVE,
    ("geqrf", "second gradient"): _NO_DERIVATIVE,
    ("geqrf", "threads"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "gradient expanded"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "gradient sliced"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "gradient transposed"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "second gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_factor", "threads"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "gradient expanded"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "gradient sliced"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "gradient transposed"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "second gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_factor_ex", "threads"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "gradient expanded"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "gradient sliced"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "gradient transposed"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "second gradient"): _NO_DERIVATIVE,
    ("linalg_ldl_solve", "threads"): _NO_DERIVATIVE,
    ("ldl_system", "gradient"): _NO_DERIVATIVE,
    ("ldl_system", "gradient expanded"): _NO_DERIVATIVE,
    ("ldl_system", "gradient sliced"): _NO_DERIVATIVE,
    ("ldl_system", "gradient transposed"): _NO_DERIVATIVE,
    ("ldl_system", "second gradient"): _NO_DERIVATIVE,
    ("ldl_system", "threads"): _NO_DERIVATIVE,
    ("linalg_pinv", "gradient"): _TRUNCATED,
    ("linalg_pinv", "second gradient"): _TRUNCATED,
    ("pseudoinverse_of", "gradient"): _TRUNCATED,
    ("pseudoinverse_of", "second gradient"): _TRUNCATED,
    ("pinverse", "gradient"): _TRUNCATED,
    ("pinverse", "second gradient"): _TRUNCATED,
    ("pca_lowrank", "gradient"): _SINGULAR,
    ("pca_lowrank", "second gradient"): _SINGULAR,
    ("linalg_svd", "gradient"): _FREE_SIGNS,
    ("linalg_svd", "second gradient"): _FREE_SIGNS,
    ("svd", "gradient"): _FREE_SIGNS,
    ("linalg_eig", "dtype float32"): _FREE_SIGNS,
    ("linalg_eig", "gradient"): _FREE_SIGNS,
    ("linalg_eig", "second gradient"): _FREE_SIGNS,
    ("histogram", "dtype float32"): "an edge between the bounds is rounded to the dtype and may pass an element that lies on it in float64",
    ("linalg_cond", "dtype float32"): _ROUNDED,
    ("linalg_det", "dtype float32"): _ROUNDED,
    ("linalg_eigh", "dtype float32"): _ROUNDED,
    ("linalg_det", "second gradient"): _SINGULAR,
    ("linalg_norm", "second gradient"): _AT_ZERO,
    ("cov", "dtype bfloat16"): _ROUNDED,
    ("cov", "dtype float16"): _ROUNDED,
}
for _name in ("special_zeta", "special_zeta_backward_other", "igamma", "igammac", "nextafter", "nextafter_equal"):
    for _check in ("gradient", "second gradient", "gradient transposed", "gradient sliced", "gradient expanded", "in place gradient", "threads"):
        EXCEPTIONS[_name, _check] = _NO_DERIVATIVE


def reason_for(op, check):
    """The reason why a failure of this check is expected, or None."""
    name = op.split(".")[0]
    for key in ((op, check), (name, check), (op, "*"), (name, "*"), ("*", check)):
        if key in EXCEPTIONS:
            return key, EXCEPTIONS[key]
    return None
