"""Dates as calendar parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from priorwise.common.estimator import Estimator
from priorwise.common.stored.checks import check_fitted, require
from priorwise.data.tables.raw_table import RawTable

MONTHS = np.array(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    dtype=object,
)
WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)
SECONDS_OF_DAY = 86_400.0


class DateParts(TransformerMixin, Estimator):
    """Replace each column of dates by what classifiers can use of it.

    A column "when" becomes four: "when", the seconds since 1970; "when month" and "when weekday",
    names such as "Jan" and "Mon"; and "when hour", hours since midnight with fractions, left out if
    no row has a time of day. Times are local ones if the column has a time zone. All other columns
    stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"when": pd.to_datetime(["2013-01-05 06:30", None])})
    >>> DateParts().fit_transform(frame).to_dict("records")[0]
    {'when': 1357367400.0, 'when month': 'Jan', 'when weekday': 'Sat', 'when hour': 6.5}
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        "dates_": list,
        "with_hour_": list,
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of dates.

        Parameters
        ----------
        X : pandas, polars or Arrow table
            Rows to learn from.
        y : None
            Ignored.

        Returns
        -------
        DateParts
            The fitted transformer.
        """
        table = RawTable(X)
        dates = [i for i in range(table.n_columns) if table.holds_dates(i)]
        self.dates_ = [str(table.names[i]) for i in dates]
        self.with_hour_ = [bool((table.numeric(i) % SECONDS_OF_DAY > 0).any()) for i in dates]
        return self

    def check_learnt(self) -> None:
        check_fitted(self, "dates_", "with_hour_")
        require(
            len(self.dates_) == len(self.with_hour_)
            and all(isinstance(name, str) for name in self.dates_),
            "every column of dates needs a name",
        )

    def transform(self, X: Any) -> Any:
        """Replace the columns of dates.

        Parameters
        ----------
        X : pandas, polars or Arrow table
            Rows with the columns of training.

        Returns
        -------
        pandas, polars or Arrow table
            The rows with the parts of dates.
        """
        check_is_fitted(self)
        frame = nw.from_native(X, eager_only=True)
        for name, with_hour in zip(self.dates_, self.with_hour_, strict=True):
            series = frame[name]
            if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
                series = series.dt.replace_time_zone(None)
            seconds = RawTable(series.to_frame().to_native()).numeric(0)
            known = ~np.isnan(seconds)
            days = np.where(known, seconds // SECONDS_OF_DAY, 0.0).astype(np.int64)
            months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
            parts: dict[str, Any] = {
                name: seconds,
                f"{name} month": _blank(MONTHS[months], known),
                f"{name} weekday": _blank(WEEKDAYS[(days + 3) % 7], known),
            }
            if with_hour:
                parts[f"{name} hour"] = seconds % SECONDS_OF_DAY / 3600.0
            frame = frame.with_columns(
                *(
                    nw.new_series(part, values.tolist(), backend=frame.implementation)
                    for part, values in parts.items()
                )
            )
        return frame.to_native()


def _blank(labels: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    labels[~known] = None
    return labels
