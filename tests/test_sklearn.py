"""The scikit-learn estimators: scikit-learn's own suite, their definition, weights, tables, uncertainty, pickles."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_wine, make_friedman1
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import headspan
from headspan import MultiHeadNWClassifier, MultiHeadNWRegressor

Array = NDArray[Any]
LIGHT: dict[str, Any] = {"heads": "learned", "n_heads": 3, "head_dim": 2, "iterations": 6}


FRUGAL: dict[str, Any] = {"effort": 5.0}


@parametrize_with_checks(
    [
        MultiHeadNWRegressor(**FRUGAL),
        MultiHeadNWClassifier(**FRUGAL),
        MultiHeadNWRegressor(**LIGHT),
        MultiHeadNWClassifier(**LIGHT),
    ]
)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_suite(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_the_check_that_scikit_learn_skips_without_its_switch() -> None:
    code = (
        "import headspan; from sklearn.utils.estimator_checks import check_array_api_input as check\n"
        "for one in (headspan.MultiHeadNWRegressor, headspan.MultiHeadNWClassifier):\n"
        "    check(one.__name__, one(effort=5.0), array_namespace='numpy', expect_only_array_outputs=False)\n"
        "print('checked')"
    )
    assert run(code, SCIPY_ARRAY_API="1").stdout == "checked\n"


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def test_headspan_does_without_scikit_learn() -> None:
    done = run(
        "import sys\n"
        "sys.modules['sklearn'] = None\n"
        "import headspan\n"
        "print(headspan.nadaraya_watson([0.0, 1.0], [1.0, 1.0], bandwidth=1.0).output)\n"
        "try: headspan.MultiHeadNWRegressor\n"
        "except ImportError as error: print(error)\n"
        "try: from headspan import MultiHeadNWClassifier\n"
        "except ImportError as error: print(error)\n"
        "print(hasattr(headspan, 'no_such_name'))"
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "[1. 1.]"
    assert lines[1].startswith("headspan.MultiHeadNWRegressor needs scikit-learn") and "headspan[sklearn]" in lines[1]
    assert lines[2].startswith("headspan.MultiHeadNWClassifier needs scikit-learn")
    assert lines[3] == "False"


def test_importing_headspan_does_not_import_scikit_learn() -> None:
    assert run("import sys, headspan; print('sklearn' in sys.modules)").stdout == "False\n"


def friedman(n: int, seed: int, noise: float = 1.0) -> tuple[Array, Array]:
    x, y = make_friedman1(n, n_features=5, noise=noise, random_state=seed)
    return x, y


def test_predicts_as_the_definition_says() -> None:
    x, y = friedman(80, 0)
    model = MultiHeadNWRegressor(combiner="least_squares", **LIGHT).fit(x, y)
    state = model.model_.__getstate__()
    (estimate,) = state["ensemble"]["estimates"]
    assert len(estimate["heads"]) == 3
    at = x[:7] + 0.05
    standard = (at - x.mean(axis=0)) / x.std(axis=0)
    expected = np.zeros(7)
    for head in estimate["heads"]:
        apart = (standard[:, None, :] - state["keys"][None, :, :]) @ head["projection"].T
        weight = np.exp(-0.5 * (apart**2).sum(axis=2))
        expected += head["weight"] * (weight @ state["target"]) / weight.sum(axis=1)
    np.testing.assert_allclose(model.predict(at), y.mean() + y.std() * expected, rtol=1e-10)


def test_a_weight_of_two_is_two_rows_to_the_bit() -> None:
    x, y = friedman(60, 1)
    weight = np.ones(60)
    weight[:20], weight[50:] = 2.0, 0.0
    weighted = MultiHeadNWRegressor(**LIGHT).fit(x, y, sample_weight=weight)
    rows = np.r_[np.arange(50), np.arange(20)]
    repeated = MultiHeadNWRegressor(**LIGHT).fit(x[rows], y[rows])
    for have, want in zip(everything_about(weighted, x), everything_about(repeated, x), strict=True):
        np.testing.assert_array_equal(have, want)
    np.testing.assert_array_equal(weighted.loo_prediction_[:50], repeated.loo_prediction_[:50])
    assert np.isnan(weighted.loo_prediction_[50:]).all()
    label = np.where(y > np.median(y), "high", "low")
    np.testing.assert_array_equal(
        MultiHeadNWClassifier(**LIGHT).fit(x, label, sample_weight=weight).predict_proba(x),
        MultiHeadNWClassifier(**LIGHT).fit(x[rows], label[rows]).predict_proba(x),
    )


def everything_about(model: MultiHeadNWRegressor, x: Array) -> list[Array]:
    value, deviation = model.predict(x, return_std=True)
    support = model.support(x)
    return [value, deviation, *model.predict_interval(x, 0.8), support.n_eff, support.extrapolated]


def test_a_model_is_the_same_after_pickling_and_plain_inside() -> None:
    x, y = friedman(60, 2)
    model = MultiHeadNWRegressor(trend=True, **LIGHT).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    for have, want in zip(everything_about(again, x), everything_about(model, x), strict=True):
        np.testing.assert_array_equal(have, want)
    assert only_plain(model.model_.__getstate__())
    classes = MultiHeadNWClassifier(**LIGHT).fit(x, (y > 14).astype(int) + (y > 17))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classes)).predict_proba(x), classes.predict_proba(x))
    assert only_plain(classes.model_.__getstate__())


def only_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and only_plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(only_plain(one) for one in value)
    return type(value) in (bool, int, float, str) or (type(value) is np.ndarray and value.dtype == np.float64)


def test_a_pickle_of_another_release_is_refused() -> None:
    x, y = friedman(20, 3)
    model = MultiHeadNWRegressor(n_folds=0, **LIGHT).fit(x, y).model_
    state = {**model.__getstate__(), "version": 99}
    with pytest.raises(ValueError, match="version 99"):
        type(model).__new__(type(model)).__setstate__(state)


NAMES = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_are_read_by_their_columns(table: Callable[[dict[str, Array]], Any]) -> None:
    x, y = friedman(50, 4)
    columns = {name: x[:, j] for j, name in enumerate(NAMES)}
    model = MultiHeadNWRegressor(**LIGHT).fit(table(columns), y)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(table(columns)), MultiHeadNWRegressor(**LIGHT).fit(x, y).predict(x))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table({name: columns[name] for name in reversed(NAMES)}))


def mixed(n: int, seed: int) -> tuple[dict[str, Any], Array, Array]:
    """Columns of four kinds, a target, and the inputs that the columns should become."""
    random = np.random.default_rng(seed)
    size, age = random.normal(size=n), random.uniform(20, 60, size=n)
    age[::3] = np.nan
    town, old = random.choice(["Bonn", "Köln", "Ulm"], n), random.choice([True, False], n)
    sex = random.choice(["f", "m"], n)
    y = np.sin(2 * size) + (town == "Ulm") + 0.5 * (sex == "m") + 0.1 * random.normal(size=n)
    inputs = [size, np.where(np.isnan(age), np.nanmedian(age), age), np.isnan(age)]
    inputs += [town == name for name in ("Bonn", "Köln", "Ulm")] + [old, np.where(sex == "m", 0.5, -0.5)]
    columns = {"size": size, "age": age, "town": town.tolist(), "old": old, "sex": sex.tolist()}
    return columns, y, np.column_stack(inputs)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_words_and_gaps_become_inputs(table: Callable[[dict[str, Any]], Any]) -> None:
    columns, y, inputs = mixed(90, 13)
    model = MultiHeadNWRegressor(**LIGHT).fit(table(columns), y)
    assert model.feature_names_in_.tolist() == ["size", "age", "town", "old", "sex"]
    assert model.encoding_.inputs[:3] == ["size", "age", "age missing"]
    expected = MultiHeadNWRegressor(**LIGHT).fit(inputs, y)
    for have, want in zip(everything_about(model, table(columns)), everything_about(expected, inputs), strict=True):
        np.testing.assert_array_equal(have, want)
    unseen = {**columns, "town": ["Trier"] * 90}
    assert np.isfinite(pickle.loads(pickle.dumps(model)).predict(table(unseen))).all()
    assert only_plain(model.encoding_.__getstate__())


def test_categories_and_their_missing_values_are_words() -> None:
    columns, y, _ = mixed(90, 14)
    words = [None if i % 4 == 0 else town for i, town in enumerate(columns["town"])]
    tables: list[Any] = [
        pd.DataFrame({"town": pd.Categorical(words)}),
        pd.DataFrame({"town": np.array([np.nan if w is None else w for w in words], dtype=object)}),
        pl.DataFrame({"town": pl.Series(words, dtype=pl.Categorical)}),
        pa.table({"town": pa.array(words).dictionary_encode()}),
    ]
    first, *others = (MultiHeadNWRegressor(**LIGHT).fit(one, y).predict(one) for one in tables)
    assert len(np.unique(first)) == 4
    for other in others:
        np.testing.assert_array_equal(other, first)
    label = np.where(y > np.median(y), "high", "low")
    assert MultiHeadNWClassifier(**LIGHT).fit(tables[0], label).predict_proba(tables[1]).shape == (90, 2)


def test_a_number_missing_in_an_array_is_the_median() -> None:
    x, y = friedman(60, 15)
    model = MultiHeadNWRegressor(**LIGHT).fit(x, y)
    gap, filled = x[:5].copy(), x[:5].copy()
    gap[:, 2], filled[:, 2] = np.nan, np.median(x[:, 2])
    np.testing.assert_array_equal(model.predict(gap), model.predict(filled))


def test_dates_and_free_text_are_left_out_with_a_warning() -> None:
    x, y = friedman(40, 16)
    frame = pd.DataFrame(x, columns=NAMES)
    more = frame.assign(day=pd.date_range("2024-01-01", periods=40), note=[f"note {i}" for i in range(40)])
    with pytest.warns(UserWarning, match=r"column '(day|note)' is left out") as warned:
        model = MultiHeadNWRegressor(**LIGHT).fit(more, y)
    assert sorted(str(one.message).split("'")[1] for one in warned) == ["day", "note"]
    np.testing.assert_array_equal(model.predict(more), MultiHeadNWRegressor(**LIGHT).fit(frame, y).predict(frame))


def test_columns_that_are_neither_numbers_nor_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"column 'tags' is of type List.*leave it out"):
        MultiHeadNWRegressor().fit(pl.DataFrame({"size": [1.0, 2.0], "tags": [["a"], ["b"]]}), [1.0, 2.0])
    columns, y, _ = mixed(60, 17)
    model = MultiHeadNWRegressor(**LIGHT).fit(pd.DataFrame(columns), y)
    with pytest.raises(ValueError, match=r"line 1: column 'size'.*this says 'big'"):
        model.predict(pd.DataFrame({**columns, "size": ["big"] * 60}))


def test_wages_of_a_real_table_with_words(tables: Path) -> None:
    frame = pd.read_csv(tables / "cps1985.csv")
    train, fresh = frame.iloc[::2], frame.iloc[1::2]
    model = MultiHeadNWRegressor(effort=30.0).fit(train.drop(columns="wage"), train["wage"])
    assert "occupation = management" in model.encoding_.inputs
    # A linear model of all columns explains about as much.
    assert model.score(fresh.drop(columns="wage"), fresh["wage"]) > 0.2
    lower, upper = model.predict_interval(fresh.drop(columns="wage"), coverage=0.9)
    assert 0.85 < ((lower <= fresh["wage"]) & (fresh["wage"] <= upper)).mean() < 0.95


def test_a_model_file_gives_the_same_bits(tmp_path: Path) -> None:
    columns, y, _ = mixed(60, 18)
    frame = pd.DataFrame(columns)
    model = MultiHeadNWRegressor(combiner="simplex", trend=True, **LIGHT).fit(frame, y)
    model.save(tmp_path / "house.headspan", target="price")
    again = MultiHeadNWRegressor.load(tmp_path / "house.headspan")
    for have, want in zip(everything_about(again, frame), everything_about(model, frame), strict=True):
        np.testing.assert_array_equal(have, want)
    assert (again.combiner, again.trend, again.n_heads) == ("simplex", True, 3)
    x, y = friedman(30, 19)
    of_array = MultiHeadNWRegressor(**LIGHT).fit(x, y)
    of_array.save(tmp_path / "array.headspan")
    np.testing.assert_array_equal(
        MultiHeadNWRegressor.load(tmp_path / "array.headspan").predict(x), of_array.predict(x)
    )
    (tmp_path / "bad.headspan").write_bytes((tmp_path / "house.headspan").read_bytes()[:-100])
    with pytest.raises(RuntimeError, match=r"bad\.headspan"):
        MultiHeadNWRegressor.load(tmp_path / "bad.headspan")


def test_works_in_pipelines_searches_and_cross_validation() -> None:
    x, y = friedman(120, 5)
    frame = pd.DataFrame(x, columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), MultiHeadNWRegressor(n_folds=0, **LIGHT)).set_output(transform="pandas")
    assert cross_val_score(pipeline, frame, y, cv=3).mean() > 0.5
    search = GridSearchCV(pipeline, {"multiheadnwregressor__n_heads": [1, 4]}, cv=3).fit(frame, y)
    assert search.best_params_ == {"multiheadnwregressor__n_heads": 4}
    assert search.best_estimator_[-1].feature_names_in_.tolist() == NAMES


def test_parameters_are_cloned_and_checked_when_fitted() -> None:
    model = MultiHeadNWRegressor(heads="diagonal", n_heads=2)
    assert clone(model).get_params() == model.get_params()
    x, y = friedman(20, 6)
    for parameters, message in (
        ({"heads": "many"}, "heads: 'many' is none of random"),
        ({"heads": "random", "combiner": "max"}, "combiner: 'max' is none of mean"),
        ({"heads": "random", "n_heads": -1}, "n_heads: is -1"),
        ({"n_folds": 1}, "n_folds: is 1"),
        ({"effort": -1}, "effort: is -1"),
        ({"random_state": -1}, "random_state: not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            MultiHeadNWRegressor(**parameters).fit(x, y)
    for wrong in ({"n_heads": "two"}, {"n_folds": 2.5}, {"shrinkage": None}):
        with pytest.raises(TypeError, match=f"{next(iter(wrong))}: .* wanted"):
            MultiHeadNWRegressor(heads="random", **wrong).fit(x, y)
    numpy_scalars: dict[str, Any] = {"n_heads": np.int64(2), "trend": np.bool_(True), "shrinkage": np.float32(0.5)}
    assert MultiHeadNWRegressor(heads="random", **numpy_scalars).fit(x, y).predict(x).shape == (20,)


def test_the_seed_decides_and_the_threads_do_not() -> None:
    x, y = friedman(80, 7)

    def fitted(**parameters: Any) -> Array:
        prediction: Array = MultiHeadNWRegressor(**LIGHT, **parameters).fit(x, y).predict(x)
        return prediction

    np.testing.assert_array_equal(fitted(n_jobs=1), fitted(n_jobs=2))
    np.testing.assert_array_equal(fitted(random_state=0), fitted())
    assert (fitted(random_state=1) != fitted()).any()
    random = np.random.RandomState(3)
    np.testing.assert_array_equal(fitted(random_state=random), fitted(random_state=np.random.RandomState(3)))


def test_intervals_and_deviations_are_those_of_new_targets() -> None:
    # Where noise is most of the error, folds that see fewer rows are no worse than the fit.
    x, y = friedman(250, 8, noise=4.0)
    fresh, truth = friedman(400, 9, noise=4.0)
    model = MultiHeadNWRegressor(effort=200.0).fit(x, y)
    lower, upper = model.predict_interval(fresh, coverage=0.9)
    assert 0.85 < ((lower <= truth) & (truth <= upper)).mean() < 0.97
    value, deviation = model.predict(fresh, return_std=True)
    # The mean of squared standardised errors is one; of 400 near-normal ones with a standard error of 0.07.
    assert 0.75 < (((value - truth) / deviation) ** 2).mean() < 1.25
    narrow = model.predict_interval(fresh, coverage=0.5)
    assert (narrow[1] - narrow[0] < upper - lower).all()
    with pytest.raises(ValueError, match="coverage: is 1"):
        model.predict_interval(fresh, coverage=1.0)
    _, same = MultiHeadNWRegressor(n_folds=0, **LIGHT).fit(x, y).predict(fresh, return_std=True)
    assert len(np.unique(same)) == 1


def test_variances_are_those_of_weighted_sums_of_targets() -> None:
    x, y = make_friedman1(60, noise=1.0, random_state=3)
    model = MultiHeadNWRegressor("random", "mean", n_heads=1, head_dim=x.shape[1], n_folds=0).fit(x, y)
    state = model.model_.__getstate__()
    projection = state["ensemble"]["estimates"][0]["heads"][0]["projection"]
    standard = ((x[:5] - state["input_center"]) / state["input_scale"]) @ projection.T
    apart = standard[:, np.newaxis] - state["keys"] @ projection.T
    weights = np.exp(-0.5 * (apart**2).sum(axis=-1))
    weights /= weights.sum(axis=1, keepdims=True)
    found = model.predict_variance(x[:5])
    assert np.allclose(found.fit, found.noise * (weights**2).sum(axis=1), rtol=1e-9)
    assert np.ptp(model.predict_variance(x, "local").noise) > 0
    with pytest.raises(ValueError, match="'loud' is neither constant nor local"):
        model.predict_variance(x, "loud")  # type: ignore[arg-type]


def test_auto_says_what_every_recipe_would_have_given() -> None:
    x, y = friedman(150, 20)
    model = MultiHeadNWRegressor(effort=300.0).fit(x, y)
    tried = [one for one in model.candidates_ if one["tried"]]
    assert len(tried) >= 3 and sum(one["cost"] for one in tried) <= 300.0
    assert sum(one["weight"] for one in model.candidates_) == pytest.approx(1.0)
    assert model.cv_error_ < 1.1 * min(one["error"] for one in tried) and not model.partial_
    hurried = MultiHeadNWRegressor(seconds=0.0).fit(x, y)
    assert hurried.partial_ and sum(one["tried"] for one in hurried.candidates_) == 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert not hasattr(model.set_params(heads="random", n_folds=0).fit(x, y), "candidates_")


def test_points_far_from_every_row_are_flagged() -> None:
    x, y = friedman(100, 10)
    support = MultiHeadNWRegressor(**LIGHT).fit(x, y).support(np.vstack([x.mean(axis=0), x.mean(axis=0) + 50.0]))
    assert support.extrapolated.tolist() == [False, True]
    assert 1.0 < support.n_eff[0] < 100.0


def test_classes_of_wine() -> None:
    x, y = load_wine(return_X_y=True)
    words = np.array(["barolo", "grignolino", "barbera"])[y]
    model = MultiHeadNWClassifier(**LIGHT)
    assert cross_val_score(model, x, words, cv=5).mean() > 0.94
    probability = model.fit(x[::2], words[::2]).predict_proba(x[1::2])
    assert model.classes_.tolist() == ["barbera", "barolo", "grignolino"]
    assert (probability > 0.0).all()
    # A third of what knowing the shares of the classes alone would give.
    assert log_loss(words[1::2], probability) < 0.35


def test_progress_is_printed_when_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for the checks of progress, 50 ms apart, on a fast machine too.
    x, y = friedman(20000, 11)
    MultiHeadNWRegressor(**LIGHT).fit(x[:40], y[:40])
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("headspan._estimator._SECONDS_BETWEEN_LINES", 0.0)
    MultiHeadNWRegressor(**LIGHT, n_folds=0, verbose=1).fit(x, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[MultiHeadNWRegressor] fitting 20000 rows of 5 columns")
    assert lines[-1].startswith("[MultiHeadNWRegressor] ") and "evaluations in" in lines[-1]


def test_a_fit_is_ended_by_ctrl_c() -> None:
    x, y = friedman(4000, 12)
    model = MultiHeadNWRegressor(heads="learned", n_heads=50, iterations=200, learn_rows=4000)
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y)
    timer.join()
    assert not hasattr(model, "model_")


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_names_are_listed() -> None:
    estimators = {"MultiHeadNWClassifier", "MultiHeadNWRegressor"}
    assert set(dir(headspan)) == {*headspan.__all__, *estimators}


@pytest.mark.parametrize("power", [-1000, -600, 600, 1000])
def test_units_of_any_size_change_nothing(power: int) -> None:
    x, y = make_friedman1(60, random_state=0, noise=0.5)
    unit = 2.0**power
    here = MultiHeadNWRegressor(**LIGHT, n_folds=3, random_state=0).fit(x, y)
    there = MultiHeadNWRegressor(**LIGHT, n_folds=3, random_state=0).fit(x * unit, y * unit)
    value, deviation = here.predict(x[:9], return_std=True)
    far_value, far_deviation = there.predict(x[:9] * unit, return_std=True)
    np.testing.assert_array_equal(far_value / unit, value)
    np.testing.assert_array_equal(far_deviation / unit, deviation)
    assert deviation.min() > 0


def test_beyond_double_is_said() -> None:
    x, y = make_friedman1(30, random_state=0)
    with pytest.raises(ValueError, match=r"x: column 0: its values lie further apart than double can say"):
        MultiHeadNWRegressor(**LIGHT, n_folds=0).fit((x - 0.5) * 1.7e308 * 2, y)
    model = MultiHeadNWRegressor(**LIGHT, n_folds=0).fit(x * 0.01, y)
    with pytest.raises(ValueError, match="column 3 is so far from the rows of the fit"):
        model.predict(np.eye(1, 10, 3) * 1.7e308)


def test_variances_of_weighted_rows_far_apart_are_numbers() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(100, 2))
    y = x[:, 0] + 0.3 * random.normal(size=100)
    model = MultiHeadNWRegressor("diagonal", n_heads=8, n_folds=3).fit(x, y, sample_weight=random.integers(1, 4, 100))
    assert np.isfinite(model.predict_variance(x).fit).all()


def test_one_row_says_nothing_of_deviations() -> None:
    model = MultiHeadNWRegressor(**LIGHT, n_folds=0).fit([[1.0]], [2.0])
    value, deviation = model.predict([[3.0]], return_std=True)
    assert value[0] == 2.0 and deviation[0] == np.inf
