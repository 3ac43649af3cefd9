"""Multi-head Nadaraya-Watson regression and classification of tables, as scikit-learn estimators."""

from __future__ import annotations

import operator
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, overload

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import __version__, _core, _tables

HeadKind = Literal["auto", "random", "principal", "learned", "diagonal"]
Combiner = Literal["mean", "sum", "simplex", "least_squares"]
FloatArray = NDArray[np.float64]
_Kinds: TypeAlias = dict[str, Callable[[Any], Any]]

_NUMBERS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
_AUTO_FOLDS = 5
_LARGEST_SEED = np.iinfo(np.int32).max
_SECONDS_BETWEEN_LINES = 1.0


@dataclass(frozen=True, eq=False)
class Support:
    """What predictions at m points rest on."""

    n_eff: FloatArray
    """[m] training rows that a head's mean is worth there, 1 / sum_i w_i^2, averaged over the heads."""
    extrapolated: NDArray[np.bool_]
    """[m] no training row is near: the point is lonelier than every training row was when left out."""


@dataclass(frozen=True, eq=False)
class PredictionVariance:
    """Variances at m points, in squared units of the target; their sum is that of a new target about the prediction."""

    fit: FloatArray
    """[m] of the prediction, for other noise in the training targets and the structure of the fit held fixed."""
    noise: FloatArray
    """[m] of a new target about its mean."""


class _MultiHead(BaseEstimator):
    """What regression and classification share: parameters, checks of input, threads, progress."""

    def _options(self, n_folds: int) -> _core.FitOptions:
        options = _core.FitOptions()
        self._fill(options, _RECIPE)
        options.n_folds = n_folds
        return options

    def _auto_options(self, n_folds: int) -> _core.AutoOptions:
        options = _core.AutoOptions()
        self._fill(options, {"effort": float})
        options.n_folds = n_folds
        return options

    def _fill(self, options: _core.FitOptions | _core.AutoOptions, parameters: _Kinds) -> None:
        """Gives the options the parameters of this estimator, each of its kind."""
        for name, kind in (parameters | {"learn_rows": operator.index}).items():
            value = getattr(self, name)
            try:
                setattr(options, name, kind(value))
            except TypeError as error:
                raise TypeError(f"{name}: {_WANTED[kind]} wanted, it is {value!r}") from error
        options.seed = _seed(self.random_state)

    def _threads(self) -> int:
        """As joblib counts them, but all cores for None; one within a worker of joblib, whose cores are taken."""
        return int(joblib.effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _training_table(self, X: Any, y: Any, y_numeric: bool) -> tuple[list[_tables.Column], NDArray[Any]]:
        """The columns of X, and y as scikit-learn checks it."""
        words = _tables.word_columns(X)
        if not words:
            rows, y = validate_data(self, X, y, y_numeric=y_numeric, **_NUMBERS)
            return _tables.columns_of_numbers(rows, self._names(rows)), _target(y, y_numeric)
        validate_data(self, X, y, skip_check_array=True)
        y = _target(y, y_numeric)
        check_consistent_length(X, y)
        return _tables.columns_of_table(X, words), y

    def _learn_inputs(self, columns: list[_tables.Column], target: FloatArray, weight: FloatArray) -> FloatArray:
        self.encoding_ = _core.learn_encoding(columns, target, weight)
        for name, reason, note in self.encoding_.left_out:
            warnings.warn(f"X: column {name!r} is left out ({reason}): {note}", UserWarning, stacklevel=3)
        return self.encoding_.encode(columns, len(target))

    def _rows(self, X: Any) -> FloatArray:
        """The inputs that the columns of X become."""
        check_is_fitted(self)
        words = _tables.word_columns(X)
        if words:
            validate_data(self, X, reset=False, skip_check_array=True)
            return self.encoding_.encode(_tables.columns_of_table(X, words), _num_samples(X))
        rows = validate_data(self, X, reset=False, **_NUMBERS)
        return self.encoding_.encode(_tables.columns_of_numbers(rows, self._names(rows)), len(rows))

    def _names(self, rows: FloatArray) -> list[str]:
        return list(getattr(self, "feature_names_in_", _tables.names_of_positions(rows.shape[1])))

    def _progress(self, shape: tuple[int, ...]) -> Callable[[], None] | None:
        return _Progress(type(self).__name__, shape) if self.verbose else None

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)


class MultiHeadNWRegressor(RegressorMixin, _MultiHead):
    """Regression by several Nadaraya-Watson heads: F(x) = trend + sum_h a_h f_h(x).

    Each head is a weighted mean of training targets, with weights that fall with the distance in a projection of
    the standardised columns. Intervals and standard deviations come from rows that a fit did not see.

    heads: "auto" tries recipes of all kinds by cross-validation, cheap ones first, as long as `effort` lasts, counted
    in evaluations and not in time so that results do not depend on the machine (`seconds` may end the search, then
    partial_ is True), and weighs the best; parameters from combiner to iterations are then not used. Or one recipe:
    "diagonal", one bandwidth per column, of least leave-one-out error; "learned", projections likewise;
    "random", orthogonal blocks; "principal", blocks of principal components.
    combiner: "sum", every head smooths what those before it left over, times `shrinkage`; "mean"; "simplex",
    non-negative weights of sum one; "least_squares", shrunk towards equal weights.
    sharpen: heads smooth values that hold a share of what they leave over, the share learned with the head: little
    bias, as kernel ridge regression has, at the cost of the cube of the rows.
    n_heads, head_dim: how many, each of how many dimensions. trend: a linear trend (ridge) first.
    diversity_penalty: times the mean overlap of the heads' subspaces. iterations: evaluations of the leave-one-out
    error per learned head; few of them guard against learning noise.
    n_folds: of cross-validation, and of the refits that give intervals and standard deviations. 0, which "auto" cannot
    do with, saves their time: intervals then rest on leave-one-out residuals.
    learn_rows: heads are learned on a random sample of so many rows; they smooth all rows.
    random_state: an integer (the default, so that equal calls give equal results), a numpy RandomState, or None.
    n_jobs: threads, which change no bit of the result; None or -1 for all cores. verbose: progress once a second.

    Attributes: n_features_in_, feature_names_in_; loo_prediction_ [rows], the prediction of every row by all others
    (NaN for rows of weight 0); n_evaluations_ of the leave-one-out error in the final fit; encoding_.inputs, what the
    columns became; of "auto" candidates_, what every recipe would have given (error: held-out, relative to the target's
    standard deviation), and cv_error_, that of their mixture.
    """

    def __init__(
        self,
        heads: HeadKind = "auto",
        combiner: Combiner = "sum",
        *,
        effort: float = 20000.0,
        seconds: float | None = None,
        n_heads: int = 8,
        head_dim: int = 4,
        trend: bool = False,
        shrinkage: float = 0.5,
        diversity_penalty: float = 0.0,
        iterations: int = 30,
        sharpen: bool = False,
        n_folds: int = 5,
        learn_rows: int = 1500,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.heads = heads
        self.combiner = combiner
        self.effort = effort
        self.seconds = seconds
        self.n_heads = n_heads
        self.head_dim = head_dim
        self.trend = trend
        self.shrinkage = shrinkage
        self.diversity_penalty = diversity_penalty
        self.iterations = iterations
        self.sharpen = sharpen
        self.n_folds = n_folds
        self.learn_rows = learn_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """X: [rows, columns], an array of numbers, or a pandas, polars or Arrow table; y: [rows].

        Columns of words, categories or truth values become numbers: one input per level. A missing number (NaN, null)
        counts as the median of its column, and a further input says where that is so; dates and free-form text are
        left out with a warning. sample_weight: [rows] how often each row counts: a row of weight 2 is two rows, in
        leave-one-out and folds too. Raises ValueError on infinity, sizes that disagree, columns of another kind, or
        parameters outside their ranges.
        """
        columns, target = self._training_table(X, y, y_numeric=True)
        weight = _weights(sample_weight, target)
        rows = self._learn_inputs(columns, target, weight)
        n_folds = _integer("n_folds", self.n_folds)
        start = time.monotonic()
        how = (self._threads(), self._progress(rows.shape))
        if self.heads == "auto":
            auto = self._auto_options(n_folds)
            auto.seconds = None if self.seconds is None else float(self.seconds)
            fitted, report = _core.fit_auto(rows, target, weight, auto, *how)
            self.candidates_, self.cv_error_, self.partial_ = report
            n_tried = sum(one["tried"] for one in self.candidates_)
            self._say(f"{n_tried} recipes tried, held-out error {self.cv_error_:.3f} of the target's deviation")
        else:
            for name in ("candidates_", "cv_error_", "partial_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            fitted = _core.fit_table(rows, target, weight, self._options(n_folds), *how)
        self.model_, self.loo_prediction_, self.n_evaluations_ = fitted
        self._say(f"{self.n_evaluations_} evaluations in {time.monotonic() - start:.1f} s")
        return self

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """[m] predictions; with return_std also the standard deviation [m] of new targets about them."""
        rows = self._rows(X)
        threads = self._threads()
        value = self.model_.predict(rows, threads)[0]
        return (value, self.model_.deviation(rows, threads)) if return_std else value

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends [m] of intervals that hold a new target with probability `coverage`.

        CV+, from residuals of rows that a fit did not see: finite-sample coverage without assumptions on the noise,
        as long as new rows are like those of the fit. Infinite where there are too few rows for the coverage.
        """
        rows = self._rows(X)
        return self.model_.intervals(rows, float(coverage), self._threads())

    def predict_variance(self, X: Any, noise: Literal["constant", "local"] = "constant") -> PredictionVariance:
        """The variance of the predictions at X, exact given the variance s2 of the noise.

        With projections, bandwidths, stages and weights held fixed a prediction is a weighted sum of the training
        targets, so its variance is the sum of s2 times squared weights; the choice of the structure and the bias
        are not in it, as they are in predict_interval() and return_std. s2 is estimated: "constant", squared
        residuals over the degrees of freedom that the fit leaves; "local", a smooth of squared leave-one-out
        residuals, which grows where the data scatter. Raises ValueError for another word, and for a loaded model
        whose file is too old to hold what is needed.
        """
        rows = self._rows(X)
        return PredictionVariance(*self.model_.variance(rows, noise, self._threads()))

    def support(self, X: Any) -> Support:
        """What the predictions at X rest on."""
        rows = self._rows(X)
        _, n_eff, extrapolated = self.model_.predict(rows, self._threads())
        return Support(n_eff, extrapolated)

    def save(self, path: str | os.PathLike[str], target: str = "y") -> None:
        """Writes the model file that the command line reads and writes; `target` names what is predicted.

        Whole or not at all; the parameters that only a further fit would need are not in it.
        """
        check_is_fitted(self)
        _core.save_model(os.fspath(path), target, self.encoding_, self.model_, f"headspan {__version__} (Python)")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The regressor of a model file, ready to predict, to the bit as the one that was saved.

        Nothing in the file is run. Raises RuntimeError, naming the file and the reason, for what is damaged, newer
        than this release or no model. loo_prediction_ and n_evaluations_ are not in a file.
        """
        _, encoding, model = _core.load_model(os.fspath(path))
        loaded = cls(**model.recipe)
        loaded.encoding_, loaded.model_ = encoding, model
        names = encoding.columns
        loaded.n_features_in_ = len(names)
        if names != _tables.names_of_positions(len(names)):
            loaded.feature_names_in_ = np.asarray(names, dtype=object)
        return loaded


class MultiHeadNWClassifier(ClassifierMixin, _MultiHead):
    """Classification by the regressions of class indicators.

    One regression as by MultiHeadNWRegressor for every class (two classes need one), of the number that is 1 in its
    rows; the probabilities are the nearest ones to their predictions, with one row's worth of the classes' shares
    mixed in, so that no class seen in training is impossible. Parameters as there; `effort` is for each class.

    Attributes: classes_, n_features_in_, feature_names_in_, n_evaluations_.
    """

    def __init__(
        self,
        heads: HeadKind = "auto",
        combiner: Combiner = "sum",
        *,
        effort: float = 20000.0,
        n_heads: int = 8,
        head_dim: int = 4,
        trend: bool = False,
        shrinkage: float = 0.5,
        diversity_penalty: float = 0.0,
        iterations: int = 30,
        sharpen: bool = False,
        learn_rows: int = 1500,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.heads = heads
        self.combiner = combiner
        self.effort = effort
        self.n_heads = n_heads
        self.head_dim = head_dim
        self.trend = trend
        self.shrinkage = shrinkage
        self.diversity_penalty = diversity_penalty
        self.iterations = iterations
        self.sharpen = sharpen
        self.learn_rows = learn_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """As MultiHeadNWRegressor.fit(), with y: [rows] the classes, numbers or words."""
        columns, target = self._training_table(X, y, y_numeric=False)
        check_classification_targets(target)
        weight = _weights(sample_weight, target)
        self.classes_, label = np.unique(target, return_inverse=True)
        rows = self._learn_inputs(columns, label.astype(np.float64), weight)
        start = time.monotonic()
        self.model_ = _core.fit_classes(
            rows, label.tolist(), len(self.classes_), weight,
            self._auto_options(_AUTO_FOLDS) if self.heads == "auto" else self._options(0),
            self._threads(), self._progress(rows.shape),
        )  # fmt: skip
        self.n_evaluations_ = self.model_.n_evaluations
        self._say(f"{self.n_evaluations_} evaluations in {time.monotonic() - start:.1f} s")
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """[m, classes] probabilities, columns as in classes_."""
        rows = self._rows(X)
        return self.model_.probabilities(rows, self._threads())

    def predict(self, X: Any) -> NDArray[Any]:
        """[m] the most probable classes."""
        probability = self.predict_proba(X)
        most: NDArray[Any] = self.classes_[np.argmax(probability, axis=1)]
        return most


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name}: an integer wanted, it is {value!r}") from error


_RECIPE: _Kinds = {
    "heads": str,
    "combiner": str,
    "n_heads": operator.index,
    "head_dim": operator.index,
    "trend": bool,
    "shrinkage": float,
    "diversity_penalty": float,
    "iterations": operator.index,
    "sharpen": bool,
}
_WANTED = {str: "a word", operator.index: "an integer", bool: "True or False", float: "a number"}


def _seed(random_state: Any) -> int:
    """An integer stands for itself, so that the same seed gives the same fit here and on the command line."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state: not negative, it is {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(_LARGEST_SEED))


def _target(y: Any, y_numeric: bool) -> NDArray[Any]:
    """y in one dimension, without NaN; numbers for a regression."""
    target: NDArray[Any] = column_or_1d(y, warn=True)
    assert_all_finite(target, input_name="y")
    return np.ascontiguousarray(target, dtype=np.float64) if y_numeric else target


def _weights(sample_weight: ArrayLike | None, target: NDArray[Any]) -> FloatArray:
    """An empty vector for None."""
    if sample_weight is None:
        return np.empty(0)
    weight: FloatArray = _check_sample_weight(sample_weight, target, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(weight)


class _Progress:
    """Prints how long a fit has taken, once a second."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self._what = f"[{name}] fitting {shape[0]} rows of {shape[1]} columns"
        self._start = time.monotonic()
        self._next = self._start + _SECONDS_BETWEEN_LINES

    def __call__(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            print(f"{self._what}: {now - self._start:.0f} s", flush=True)
            self._next = now + _SECONDS_BETWEEN_LINES
