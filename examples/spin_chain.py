"""The ground state of a spin chain as a matrix product state, against exact diagonalisation.

A state of n spins has 2^n amplitudes. As a matrix product state (Schollwöck, "The density-matrix
renormalization group in the age of matrix product states", 2011) it has two matrices a spin, and
the amplitude of spins s is tr(A1[s1] @ A2[s2] @ … @ An[sn]). The energy is minimised over the
matrices by its gradient. The chain is a ring of spins in a transverse field,

    H = - sum of Z_k Z_{k+1} - g sum of X_k,

at g = 1, where spins far apart are correlated most and products of small matrices find it hardest.
"""

import numpy as np

import wyrmling as wy

SPINS, BOND, FIELD, STEPS = 8, 4, 1.0, 400

rng = np.random.default_rng(0)
sites = [
    wy.Parameter(np.eye(BOND) + rng.normal(0.0, 0.1, (2, BOND, BOND)), name=f"A{k}")
    for k in range(SPINS)
]


def products(tensors: list[wy.Parameter]) -> wy.Variable:
    """The matrices A1[s1] @ A2[s2] @ … of all spins s, one after the other."""
    result = tensors[0]
    for tensor in tensors[1:]:
        result = (wy.expand_dims(result, 1) @ tensor).reshape(-1, BOND, BOND)
    return result


def amplitudes() -> wy.Variable:
    """The amplitudes of all spins, in binary order."""
    # The products of either half; tr(x @ y) is the dot product of x and the transpose of y.
    half = SPINS // 2
    left, right = products(sites[:half]), products(sites[half:])
    left = left.reshape(-1, BOND * BOND)
    return (left @ right.transpose(0, 2, 1).reshape(-1, BOND * BOND).T).reshape(-1)


# Spins up and down as 1 and -1, and where the state with one spin turned is.
bits = np.arange(2**SPINS)[:, None] >> np.arange(SPINS)[::-1] & 1
spins = 1.0 - 2.0 * bits
couplings = -(spins * np.roll(spins, 1, axis=1)).sum(axis=1)
turned = np.arange(2**SPINS) ^ (1 << np.arange(SPINS))[:, None]

state = amplitudes()
applied = couplings * state - FIELD * state[turned].sum(axis=0)
energy = (state @ applied) / (state @ state)

optimizer = wy.Adam(lr=0.02)
for step in range(STEPS + 1):
    energy.zero_grad()
    energy.backward()
    if step % 100 == 0:
        print(f"step {step:3}: energy {energy.item():.6f}")
    optimizer.step(sites)

# One amplitude as it is written.
one = np.linalg.multi_dot([site.value[bit] for site, bit in zip(sites, bits[5], strict=True)])
print(f"amplitude {state[5].item():.12f}, trace of the product {np.trace(one):.12f}")

# The whole Hamiltonian, by Kronecker products.
x, z = np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([1.0, -1.0])


def on(*operators: tuple[int, np.ndarray]) -> np.ndarray:
    """Operators on single spins, the identity on all others."""
    factors = [np.eye(2)] * SPINS
    for spin, operator in operators:
        factors[spin % SPINS] = operator
    result = np.eye(1)
    for factor in factors:
        result = np.kron(result, factor)
    return result


hamiltonian = -sum(on((k, z), (k + 1, z)) + FIELD * on((k, x)) for k in range(SPINS))
exact = np.linalg.eigvalsh(hamiltonian)[0]
print(f"exact energy {exact:.6f}, relative error {energy.item() / exact - 1:.1e}")
