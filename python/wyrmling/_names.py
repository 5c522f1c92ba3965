"""Which functions the package exports, and the modules that they live in.

Written by ``scripts/stubs.py``: ``__init__.py`` loads a module when one of its names is asked for.
"""

# written by scripts/stubs.py
HOMES: dict[str, str] = {
    "_core": """
        abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
        atan atan2 atanh broadcast_to cbrt ceil concatenate conj conjugate copysign cos cosh
        cross_entropy deg2rad degrees diag diagonal divide dot equal exp exp2 expand_dims expm1 fabs
        floor floor_divide fmax fmin fmod gather greater greater_equal heaviside hypot isfinite
        isinf isnan less less_equal log log1p log2 log10 log_softmax logaddexp logaddexp2
        logical_and logical_not logical_or logical_xor logsigmoid matmul max maximum mean min
        minimum mod multiply negative not_equal outer positive pow power rad2deg radians reciprocal
        relu remainder reshape rint sigmoid sign signbit sin sinc sinh softmax softplus sqrt square
        squeeze stack stop_gradient subtract sum tan tanh transpose tril triu true_divide trunc
        vecdot
    """,
    "arrays": """
        append apply_along_axis argmax argmin argpartition argsort around array array_split astype
        atleast_1d atleast_2d atleast_3d average block broadcast_arrays c_ clip column_stack
        convolve copy corrcoef correlate cov cross cumprod cumsum delete diff dsplit dstack ediff1d
        einsum empty_like flip fliplr flipud float_power full full_like geomspace gradient hsplit
        hstack inner insert interp kron ldexp linspace logspace logsumexp median meshgrid moveaxis
        nan_to_num nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
        nanquantile nanstd nansum nanvar ones_like pad partition percentile piecewise polyval prod
        ptp quantile r_ ravel repeat replace roll rollaxis rot90 round select sort split std
        swapaxes take take_along_axis tensordot tile trace trapezoid unique vander var vdot
        vectorize vsplit vstack where zeros_like
    """,
    "drawing": """
        Drawing draw
    """,
    "transforms": """
        Primitive check_grads checkpoint elementwise_grad grad hessian hvp jacfwd jacobian jacrev
        jvp primitive pullback value_and_grad vjp
    """,
}
__all__ = [name for names in HOMES.values() for name in names.split()]
