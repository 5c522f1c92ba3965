"""Leaves and results: values, gradients, and that nothing is ever stale."""

import gc
import operator
import weakref

import numpy as np
import pytest

import wyrmling as wy


def test_types_of_values():
    """float32 and float64 are kept; everything else becomes float64."""
    assert wy.Parameter(1).dtype == np.float64
    assert wy.Parameter([1, 2]).dtype == np.float64
    assert wy.Parameter(True).dtype == np.float64
    assert wy.Input(np.arange(3)).dtype == np.float64
    assert wy.Input(np.arange(3, dtype=np.uint8)).value.tolist() == [0.0, 1.0, 2.0]
    assert wy.Input(np.float32(1.5)).dtype == np.float32
    assert wy.Input(np.float64(1.5)).dtype == np.float64
    assert wy.Input([True, False]).value.tolist() == [1.0, 0.0]
    index = wy.IndexInput(np.array([[1, 2]], np.int8))
    assert index.dtype == np.uint32
    assert index.shape == (1, 2)
    assert wy.IndexInput([]).shape == (0,)


@pytest.mark.parametrize(
    "layout",
    [
        lambda a: a[::-1],
        lambda a: a.T,
        lambda a: a[:, ::2],
        lambda a: np.asfortranarray(a),
        lambda a: a.astype(">f8"),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float64),
        lambda a: a[:0],
        lambda a: np.broadcast_to(a[0], (5, 4)),
    ],
)
def test_any_layout_is_read(layout):
    given = layout(np.arange(12.0).reshape(3, 4))
    read = wy.Variable(given).value
    np.testing.assert_array_equal(read, given)
    assert read.dtype == np.float64
    assert read.flags.c_contiguous


def test_properties():
    x = wy.Variable([[1.0, 2.0, 3.0]])
    assert (x.shape, x.ndim, x.size, len(x)) == ((1, 3), 2, 3, 1)
    assert x.name is None
    assert wy.Parameter(0.0, name="w").name == "w"
    assert wy.Input(0.0, "x").name == "x"
    scalar = wy.Variable(2.0)
    assert isinstance(scalar.value, np.ndarray)
    assert scalar.value.shape == ()
    assert (scalar.item(), float(scalar), bool(scalar)) == (2.0, 2.0, True)
    for several in (np.ones(2), np.ones(0)):
        with pytest.raises(ValueError, match=r"the truth of an array of shape .*np\.any"):
            bool(wy.Variable(several))
    with pytest.raises(TypeError, match="loss: expected a variable, got float"):
        wy.freeze(3.0)
    assert isinstance(scalar.item(), float)
    assert isinstance(wy.Parameter(1.0), wy.Variable)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(24, dtype=np.float32).reshape(4, 3, 2),
        np.arange(5, dtype=np.uint32),
        np.arange(4.0) > 1.5,
        np.array(7.0),
        np.zeros((2, 0)),
    ],
    ids=lambda values: f"{values.dtype}-{values.shape}",
)
def test_an_item_of_several_is_named_as_in_numpy(values):
    match values.dtype.kind:
        case "u":
            variables = [wy.IndexInput(values)]
        case "b":
            variables = [wy.Input(values.astype(float)) > 0.5]
        case _:
            variables = [leaf(values) for leaf in (wy.Input, wy.Variable, wy.Parameter)]
            variables.append(variables[-1] * 1.0)
    flat = [(k,) for k in range(-values.size - 1, values.size + 1)]
    axes = [
        *np.ndindex(*values.shape),
        (-1,) * values.ndim,
        (5,) * values.ndim,
        (0,) * 4,
        (10**30,),
    ]
    others = [("a",), (True,), (1.5,), (np.int64(0),), (None,), (0, "a"), ((0,) * values.ndim,)]
    for x in variables:
        for which in [*flat, *axes, *others]:
            try:
                expected = values.item(*which)
            except Exception as error:
                with pytest.raises(type(error)):
                    x.item(*which)
            else:
                found = x.item(*which)
                assert (found, type(found)) == (expected, type(expected)), which


def test_an_item_of_several_is_named():
    x = wy.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="exactly one element"):
        x.item()


def test_value_is_the_users_own():
    """Writing to it changes nothing, and nothing changes it."""
    w = wy.Parameter([1.0, 2.0])
    y = w * 1.0
    for variable in (w, y):
        taken = variable.value
        taken[:] = 9.0
        assert variable.value.tolist() == [1.0, 2.0]
    before = w.value
    (w * w).sum().backward()
    wy.SGD(lr=0.1).step([w])
    assert before.tolist() == [1.0, 2.0]
    gradient = w.grad
    gradient[:] = 0.0
    assert w.grad.tolist() == [2.0, 4.0]
    given = np.array([1.0, 2.0])
    v = wy.Variable(given)
    given[:] = 0.0
    assert v.value.tolist() == [1.0, 2.0]


def test_assignment_reaches_everything_above():
    x, w = wy.Input([1.0, 2.0]), wy.Parameter([3.0, 4.0])
    v = wy.Variable(2.0)
    product = x * w * v
    loss = product.sum()
    assert loss.item() == 22.0
    x.value = [10.0, 20.0]
    assert product.value.tolist() == [60.0, 160.0]
    w.value = np.array([1.0, 1.0])
    assert loss.forward() == 60.0
    v.value = 3
    loss.backward()
    assert w.grad.tolist() == [30.0, 60.0]
    x.value = [0.0, 0.0]
    assert loss.item() == 0.0


def test_an_input_may_change_its_length():
    x = wy.Input([1.0])
    w = wy.Parameter(2.0)
    loss = (x * w).sum()
    x.value = [1.0, 2.0, 3.0]
    assert loss.item() == 12.0
    loss.backward()
    assert w.grad == 6.0
    index = wy.IndexInput([0])
    rows = wy.Parameter([[1.0], [2.0]])[index]
    index.value = [1, 1, 0]
    assert rows.value.ravel().tolist() == [2.0, 2.0, 1.0]


def test_gradients_add_up_until_zero_grad():
    w, v = wy.Parameter(3.0), wy.Variable(2.0)
    loss = w * v
    assert w.grad is None
    loss.backward()
    loss.backward()
    assert (w.grad, v.grad) == (4.0, 6.0)
    w.zero_grad()
    assert w.grad is None
    assert v.grad == 6.0
    loss.zero_grad()
    assert v.grad is None
    loss.backward()
    assert (w.grad, v.grad) == (2.0, 3.0)


def test_results_keep_no_gradient():
    w = wy.Parameter(3.0)
    y = w * 2.0
    (y * y).backward()
    assert y.grad is None
    assert wy.Input(1.0).grad is None


def test_seed_of_backward():
    w = wy.Variable([1.0, 2.0, 3.0])
    y = w * w
    y.backward(np.array([1.0, 0.0, -1.0]))
    assert w.grad.tolist() == [2.0, 0.0, -6.0]
    w.zero_grad()
    y.backward([1, 1, 1])
    assert w.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_shared_subgraph_counts_once_for_each_use():
    x = wy.Variable(1.0)
    y = x
    for _ in range(30):
        y = y + y
    y.backward()
    assert x.grad == 2.0**30
    z = wy.Variable(3.0)
    (z * z + z).backward()
    assert z.grad == 7.0


def test_parameters_are_the_objects_themselves():
    w, b = wy.Parameter([1.0], name="w"), wy.Parameter(0.0, name="b")
    x, v = wy.Input([1.0]), wy.Variable(1.0)
    loss = ((w * x + b) * v * w).sum()
    found = loss.parameters()
    assert len(found) == 2
    assert {id(p) for p in found} == {id(w), id(b)}
    assert w.parameters() == [w]
    assert x.parameters() == []


def test_a_parameter_whose_object_is_gone_comes_back():
    w = wy.Parameter([1.0], name="kept")
    alive = weakref.ref(w)
    loss = (w * 2.0).sum()
    del w
    gc.collect()
    assert alive() is None
    (found,) = loss.parameters()
    assert isinstance(found, wy.Parameter)
    assert found.name == "kept"
    assert loss.parameters()[0] is found
    loss.backward()
    assert found.grad.tolist() == [2.0]
    del found
    assert loss.parameters()[0].grad.tolist() == [2.0]


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_are_elementwise(name):
    """With variables, arrays, lists and numbers on either side, as in NumPy."""
    compare = getattr(operator, name)
    a, b = np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan])
    x, y = wy.Variable(a), wy.Variable(b)
    for left, right, expected in [
        (x, y, compare(a, b)),
        (x, b, compare(a, b)),
        (a, y, compare(a, b)),
        (x, [2.0, 2.0, 2.0], compare(a, 2.0)),
        (x, 2, compare(a, 2)),
        (2, x, compare(2, a)),
        (x, np.float32(2.0), compare(a, 2.0)),
        (x, wy.Input(np.float32(2.0)), compare(a, 2.0)),
    ]:
        found = compare(left, right)
        assert isinstance(found, wy.Variable)
        np.testing.assert_array_equal(found.value, expected.astype(float))
    ufunc = {"eq": "equal", "ne": "not_equal", "lt": "less", "gt": "greater"}.get(name)
    if ufunc is not None:
        np.testing.assert_array_equal(getattr(np, ufunc)(x, b).value, compare(a, b).astype(float))
    with pytest.raises(ValueError, match="broadcast"):
        compare(x, np.zeros(2))


def test_comparisons_in_a_loss_follow_their_operands():
    x, w = wy.Input([1.0, 2.0, 3.0]), wy.Parameter([10.0, 10.0, 10.0])
    loss = wy.where(x != 2.0, w, 0.0).sum() + (x == 3.0).sum()
    assert loss.item() == 21.0
    x.value = [2.0, 2.0, 1.0]
    assert loss.item() == 10.0
    loss.backward()
    assert w.grad.tolist() == [0.0, 0.0, 1.0]
    assert wy.freeze(loss).run({x: [3.0, 2.0, 3.0]}) == 22.0


def test_what_is_not_a_number_is_not_equal():
    x = wy.Variable([1.0, 2.0])
    for other in (None, "x", object(), {}):
        assert (x == other) is False
        assert (x != other) is True
        assert (other == x) is False


def test_hash_is_by_identity():
    a, b = wy.Variable([1.0, 2.0]), wy.Variable([1.0, 2.0])
    assert len({a, b, a}) == 2
    numbers = {a: 1, b: 2}
    assert (numbers[a], numbers[b]) == (1, 2)
    # A key of the same hash is the one case in which a dictionary would compare.
    many = {wy.Input(0.0): k for k in range(1000)}
    assert [many[key] for key in many] == list(range(1000))


def test_iteration():
    x = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    assert second.value.tolist() == [3.0, 4.0]
    (first * 2.0).backward()
    assert x.grad.tolist() == [[2.0, 2.0], [0.0, 0.0]]
    assert list(wy.Variable(np.zeros((0, 2)))) == []
    for refused in (lambda: iter(wy.Variable(1.0)), lambda: len(wy.Variable(1.0))):
        with pytest.raises(TypeError, match="without axes"):
            refused()


def test_repr():
    assert repr(wy.Variable(1.5)) == "Variable(1.5)"
    assert repr(wy.Parameter(np.float32(1.5), name="w")) == (
        'Parameter(1.5, dtype=float32, name="w")'
    )
    assert repr(wy.Input([1.0, 2.0])) == "Input(array([1., 2.]))"
    big = repr(wy.Parameter(np.zeros((1000, 8), np.float32), name="users"))
    assert big == 'Parameter(shape=(1000, 8), dtype=float32, name="users")'
    x = wy.Input([1.0])
    y = x + np.zeros(3)
    x.value = [1.0, 2.0]
    assert "cannot be computed" in repr(y)


def test_a_failed_update_is_repaired_by_the_next_value():
    x = wy.Input([1.0, 2.0])
    w = wy.Variable([1.0, 1.0])
    y = (x * w).sum()
    x.value = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"\(3,\) and \(2,\)"):
        y.item()
    with pytest.raises(ValueError, match="broadcast"):
        y.backward()
    assert w.grad is None
    x.value = [5.0, 5.0]
    y.backward()
    assert y.item() == 10.0
    assert w.grad.tolist() == [5.0, 5.0]


def test_attributes_are_not_invented():
    x = wy.Variable(1.0)
    with pytest.raises(AttributeError):
        x.vlaue = 2.0
    with pytest.raises(AttributeError):
        x.grad = 2.0


@pytest.mark.parametrize("wanted", [np.float32, np.float64])
@pytest.mark.parametrize(
    "given", [np.float16, np.float32, np.float64, np.int64, np.uint8, bool, list]
)
def test_what_a_leaf_of_each_type_takes(wanted, given):
    """All but float64 for float32, and float16, which no variable keeps: assigned, bound to a
    program, and as a column.
    """
    w = wy.Parameter(np.ones(2, wanted))
    x = wy.Input(np.zeros(2, wanted), name="x")
    loss = (w * x).sum()
    program = wy.freeze(loss)
    numbers = [1, 0] if given is list else np.array([1, 0], given)

    def assign(leaf):
        leaf.value = numbers

    uses = [
        lambda: assign(w),
        lambda: assign(x),
        lambda: (w * x).backward(numbers),
        lambda: program.run({x: numbers}),
        lambda: wy.fit(wy.Parameter(wanted(1.0)) * x, {x: numbers}, optimizer=wy.SGD(lr=0.1)),
    ]
    match = {
        (np.float32, np.float64): r"expected float32, got float64 of shape \(2,\)",
        (wanted, np.float16): r"got float16.*\.astype\(np\.float32\)",
    }.get((wanted, given))
    if match:
        for use in uses:
            with pytest.raises(TypeError, match=match):
                use()
        return
    for use in uses:
        use()
    assert (w.dtype, x.dtype) == (wanted, wanted)
    assert x.value.tolist() == w.value.tolist() == [1.0, 0.0]
    assert program.run({x: numbers}) == 1.0


def test_a_column_of_float32_is_the_numbers_that_it_holds():
    """Widened, not read as decimals: 0.1 in float32 is not 0.1."""
    x = wy.Input([0.0])
    tenth = np.array([0.1], np.float32)
    assert wy.freeze(x.sum()).run({x: tenth}) == float(tenth[0]) != 0.1


@pytest.mark.parametrize("kind", ["leaf", "parameter", "input"])
@pytest.mark.parametrize("where", ["hook", "rule"])
def test_a_value_set_during_backward_is_an_error_and_no_mixture(kind, where):
    """Some gradients would be of the old value and some of the new."""
    w = {"leaf": wy.Variable, "parameter": wy.Parameter, "input": wy.Input}[kind]([2.0, 3.0])
    other = wy.Variable([1.0, 1.0])
    free = wy.Variable([5.0])
    target = [w]

    def assign():
        target[0].value = target[0].value * 10.0

    @wy.primitive
    def same(x):
        return x

    def rule(g, ans, x):
        if where == "rule":
            assign()
        return g

    same.defvjp(rule)
    y = same(w * other) * w
    if where == "hook":
        y.register_hook(lambda g: assign())
    with pytest.raises(RuntimeError, match="has set a value that the gradient depends on"):
        y.sum().backward()
    assert other.grad is None
    assert w.grad is None
    # Another value may be set.
    target[0] = free
    w.value = [2.0, 3.0]
    y.sum().backward()
    assert other.grad.tolist() == [4.0, 9.0]
    assert free.item() == 50.0


def test_forward_mode_passes_over_no_hook():
    def hooked(x):
        y = x * x
        y.register_hook(lambda g: g * 10.0)
        return (y * x).sum()

    x = np.array([1.0, 2.0])
    # Of x³, with the part through y tenfold.
    np.testing.assert_allclose(wy.grad(hooked)(x), 21.0 * x**2)
    for forward in (lambda: wy.jvp(hooked, (x,), (x,)), lambda: wy.jacfwd(hooked)(x)):
        with pytest.raises(
            RuntimeError, match=r"jvp and jacfwd would pass over; use vjp or jacrev"
        ):
            forward()
    # A derivative of the gradient has what the hook made of it.
    np.testing.assert_allclose(wy.jacfwd(wy.grad(hooked))(x), np.diag(42.0 * x))


def hooked_cube(x):
    y = x * x * x
    y.register_hook(lambda g: g * 7.0)
    return np.sum(y)


@pytest.mark.parametrize(
    "second",
    [
        wy.hessian(hooked_cube),
        wy.jacrev(wy.grad(hooked_cube)),
        wy.jacfwd(wy.grad(hooked_cube)),
        wy.jacrev(wy.jacrev(hooked_cube)),
        lambda x: np.stack([wy.hvp(hooked_cube)(x, e) for e in np.eye(len(x))]),
    ],
    ids=["hessian", "reverse", "forward", "jacrev twice", "hvp"],
)
def test_a_hook_makes_the_gradient_once_whatever_is_derived_of_it(second):
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(wy.grad(hooked_cube)(x), 21.0 * x**2)
    np.testing.assert_allclose(second(x), np.diag(42.0 * x))


def test_hooks_of_each_order_are_called_in_their_own_run():
    calls = []

    def f(x):
        y = x * x * x
        y.register_hook(lambda g: (calls.append("inner"), g * 3.0)[1])
        return y * 1.0

    def slope(x):
        z = x * 1.0
        z.register_hook(lambda g: (calls.append("outer"), g * 5.0)[1])
        return wy.grad(f)(z)

    # 3 times 3x², of which 5 times the derivative, 18x; and the derivative of that.
    assert slope(wy.Variable(2.0)).item() == 36.0
    calls.clear()
    assert wy.grad(slope)(2.0) == 180.0
    assert calls == ["inner", "outer"]
    assert wy.grad(wy.grad(slope))(2.0) == 90.0
    # All rows of a Jacobian pass the hook.
    rows = wy.jacrev(lambda x: f(x) * np.array([1.0, 2.0]))(2.0)
    np.testing.assert_allclose(rows, [36.0, 72.0])
    # A pass by `backward` is one of its own, of whatever order.
    calls.clear()
    x = wy.Variable(2.0)
    (f(x) ** 2).backward(create_graph=True)
    x.grad.backward()
    assert calls == ["inner", "inner"]
