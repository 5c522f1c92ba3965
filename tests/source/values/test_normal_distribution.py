"""``scipy.stats.norm`` in what is read: values of scipy to the last digits, and derivatives."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

import wyrmling as wy

FUNCTIONS = {
    "cdf": lambda x, loc, scale: norm.cdf(x, loc, scale),
    "sf": lambda x, loc, scale: norm.sf(x, loc, scale),
    "logcdf": lambda x, loc, scale: norm.logcdf(x, loc, scale),
    "pdf": lambda x, loc, scale: norm.pdf(x, loc, scale),
    "logpdf": lambda x, loc, scale: norm.logpdf(x, loc, scale),
    "ppf": lambda x, loc, scale: norm.ppf(x, loc, scale),
}
POINTS = [0.3, -40.0, 40.0, 0.0, 1.0, math.inf, math.nan, np.float32(0.3), 1, [0.1, 0.2]]
POINTS += [np.array([0.1, 0.5], np.float32), np.array([0.0, 1.0, -1.0, math.nan])]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (1.0, 2.0), (1.0, 0.0), (1.0, -1.0)])
def test_values(name, loc, scale):
    compiled = wy.compile(FUNCTIONS[name], mode="source")
    for x in POINTS:
        with np.errstate(all="ignore"):
            expected, found = FUNCTIONS[name](x, loc, scale), compiled(x, loc, scale)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0.0)


def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * math.sqrt(years)
    d = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    return spot * norm.cdf(d) - strike * math.exp(-rate * years) * norm.cdf(d - spread)


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_greeks(mode):
    greeks = wy.grad(black_scholes, argnums=(0, 4), mode=mode)
    for volatility in (0.3, 0.2, 0.1):
        spread = volatility * math.sqrt(0.5)
        d = (math.log(100.0 / 95.0) + (0.02 + volatility**2 / 2) * 0.5) / spread
        expected = norm.cdf(d), 100.0 * norm.pdf(d) * math.sqrt(0.5)
        assert greeks(100.0, 95.0, 0.5, 0.02, volatility) == pytest.approx(expected, rel=1e-12)


def test_likelihood_and_quantiles():
    data = np.array([0.1, 0.5, 2.0])

    def loss(parameters):
        mean, log_scale = parameters
        loss = -stats.norm.logpdf(data, mean, scale=np.exp(log_scale)).sum()
        return loss + norm.ppf(norm.cdf(mean)) + norm.ppf(0.3) * log_scale

    mean, log_scale = 0.3, 0.1
    apart = (data - mean) / np.exp(log_scale)
    expected = [
        1.0 - np.sum(apart) / np.exp(log_scale),
        np.sum(1.0 - apart**2) + norm.ppf(0.3),
    ]
    for _ in range(3):
        assert wy.grad(loss)([mean, log_scale]) == pytest.approx(expected, rel=1e-10)
