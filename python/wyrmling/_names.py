"""Which functions the package exports, and the modules that they live in.

Written by ``scripts/stubs.py``: ``__init__.py`` loads a module when one of its names is asked for.
"""

# written by scripts/stubs.py
HOMES: dict[str, str] = {
    "functions": """
        abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
        atan atan2 atanh broadcast_to cbrt ceil concatenate conj conjugate copysign cos cosh
        cross_entropy deg2rad degrees diag diagonal divide dot equal exp exp2 expand_dims expm1 fabs
        floor floor_divide fmax fmin fmod gather greater greater_equal heaviside hypot isfinite
        isinf isnan less less_equal linear_recurrence log log1p log2 log10 log_softmax logaddexp
        logaddexp2 logical_and logical_not logical_or logical_xor logsigmoid matmul max maximum mean
        min minimum mod multiply negative not_equal outer positive pow power rad2deg radians
        reciprocal relu remainder reshape rint sigmoid sign signbit sin sinc sinh softmax softplus
        sqrt square squeeze stack stop_gradient subtract sum tan tanh trace transpose tril triu
        true_divide trunc vecdot where
    """,
    "arrays": """
        angle append apply_along_axis apply_over_axes argmax argmin argpartition argsort around
        array array_split astype atleast_1d atleast_2d atleast_3d average bincount block
        broadcast_arrays c_ choose clip column_stack compress convolve copy copyto corrcoef
        correlate cov cross cumprod cumsum cumulative_prod cumulative_sum delete diagflat diff
        dsplit dstack ediff1d einsum empty_like extract fill_diagonal flip fliplr flipud float_power
        frexp full full_like geomspace gradient histogram histogram2d histogram_bin_edges
        histogramdd hsplit hstack imag inner insert interp intersect1d isneginf isposinf kron ldexp
        linspace logspace logsumexp median meshgrid modf moveaxis nan_to_num nanargmax nanargmin
        nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile
        nanstd nansum nanvar ones_like pad partition percentile piecewise place poly polyadd polyder
        polydiv polyfit polyint polymul polysub polyval prod ptp put put_along_axis putmask quantile
        r_ ravel repeat replace resize roll rollaxis rot90 round select setdiff1d setxor1d sort
        split std swapaxes take take_along_axis tensordot tile trapezoid trim_zeros union1d unique
        unique_all unique_counts unique_inverse unique_values unstack unwrap vander var vdot
        vectorize vsplit vstack zeros_like
    """,
    "bags": """
        bag
    """,
    "checkpoints": """
        load_checkpoint save_checkpoint
    """,
    "drawing": """
        Drawing draw
    """,
    "ragged": """
        Ragged
    """,
    "transforms": """
        Primitive SourceError check_grads checkpoint code_adjoint code_ir compile elementwise_grad
        explain grad hessian hvp jacfwd jacobian jacrev jvp primitive pullback value_and_grad vjp
    """,
}
__all__ = [name for names in HOMES.values() for name in names.split()]
