"""Writes results.md and the pictures from what the cases found: no number in them comes from anywhere else."""

import matplotlib

from machine import TARGET

matplotlib.use("svg")
# the same numbers give the same file
matplotlib.rcParams["svg.hashsalt"] = "bench"
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

COLOURS = {"pgsvm": "#1b6ac9"}
OTHER_COLOURS = ["#c9571b", "#4f8f3a", "#8a4fb0", "#8c8c8c", "#b08a1f", "#2f9c9c", "#a33a5a", "#5b5b2f"]


def seconds(value):
    """A time in seconds, with the range when a spread is given."""
    if isinstance(value, dict):
        return f"{_short(value['median'])} ({_short(value['least'])} to {_short(value['largest'])})"
    return _short(value)


def _short(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def megabytes(value):
    return f"{value / (1 << 20):.0f} MB"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


class Picture:
    """Panels with logarithmic axes, one curve for each system."""

    COLUMNS = 3

    def __init__(self, name, panels, x, y):
        self.name = name
        self._x, self._y = x, y
        columns = min(panels, self.COLUMNS)
        rows = -(-panels // columns)
        self._figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.1 * rows), squeeze=False)
        self._axes = list(axes.ravel())
        for axis in self._axes[panels:]:
            axis.set_visible(False)
        self._next = 0

    def panel(self, title, curves):
        axis = self._axes[self._next]
        self._next += 1
        others = iter(OTHER_COLOURS)
        for name, points in curves.items():
            x, y = zip(*sorted(points))
            colour = COLOURS.get(name) or next(others)
            axis.plot(x, [max(value, 1e-8) for value in y], marker="o", ms=4, label=name, color=colour)
        axis.set(xscale="log", yscale="log", xlabel=self._x, ylabel=self._y)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8, frameon=False)

    def save(self, folder):
        self._figure.tight_layout()
        self._figure.savefig(folder / f"{self.name}.svg", metadata={"Date": None})
        self._figure.savefig(TARGET / f"{self.name}.png", dpi=110)
        plt.close(self._figure)


def verdict(reached, at_least, aim, smaller_is_better=False):
    """`aim` is None where the target has none."""
    sign = -1 if smaller_is_better else 1
    if aim is not None and sign * reached >= sign * aim:
        return "aim met"
    return "met" if sign * reached >= sign * at_least else "**missed**"
