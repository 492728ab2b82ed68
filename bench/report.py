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


# of a curve in a picture
MOST_POINTS = 60


def thinned(points):
    """About so many of the points as a picture can show apart, the last one included."""
    step = -(-len(points) // MOST_POINTS)
    return points[::step] + points[-1:]


class Picture:
    """Panels with logarithmic axes; a system has the same colour in all of them, and one legend stands below.

    With `gaps` the vertical axis has one range, in which smaller gaps lie on the lower edge, and a dotted line at the gap
    `asked` for.
    """

    COLUMNS = 3

    # what pictures of gaps show
    GAPS = (1e-5, 1.0)

    def __init__(self, name, panels, x, y, gaps=False, asked=1e-3):
        self.name = name
        self._x, self._y, self._gaps, self._asked = x, y, gaps, asked
        columns = min(panels, self.COLUMNS)
        rows = -(-panels // columns)
        width = 5.2 if panels == 1 else 3.9
        self._figure, axes = plt.subplots(rows, columns, figsize=(width * columns, 3.2 * rows), squeeze=False)
        self._axes = list(axes.ravel())
        for axis in self._axes[panels:]:
            axis.set_visible(False)
        self._next = 0
        self._colours = dict(COLOURS)
        self._others = iter(OTHER_COLOURS)

    def panel(self, title, curves):
        """Curves by name, each as points (x, y)."""
        axis = self._axis(title)
        for name, points in curves.items():
            x, y = zip(*sorted(points))
            shown = [min(max(value, self.GAPS[0]), self.GAPS[1]) for value in y] if self._gaps else y
            axis.plot(x, shown, marker="o", ms=4, label=name, color=self._colour(name))
        if self._gaps:
            axis.set_ylim(self.GAPS[0] / 1.5, self.GAPS[1] * 1.5)
            axis.axhline(self._asked, color="#888888", lw=1, ls=":")

    def scatter(self, title, groups):
        """Points by group on axes of the same unit, and the line where both are equal."""
        axis = self._axis(title)
        for (name, points), marker in zip(groups.items(), "o^"):
            if points:
                axis.scatter(*zip(*points), s=22, marker=marker, label=name, color=self._colour(name), zorder=3)
        values = [value for points in groups.values() for point in points for value in point]
        ends = [min(values) / 1.5, max(values) * 1.5]
        axis.plot(ends, ends, color="#888888", lw=1, ls="--", label="equal")

    def _axis(self, title):
        axis = self._axes[self._next]
        self._next += 1
        axis.set(xscale="log", yscale="log", xlabel=self._x, ylabel=self._y)
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.25)
        return axis

    def _colour(self, name):
        if name not in self._colours:
            self._colours[name] = next(self._others)
        return self._colours[name]

    def save(self, folder):
        labels = {}
        for axis in self._axes[: self._next]:
            _tick(axis.xaxis)
            _tick(axis.yaxis)
            handles, names = axis.get_legend_handles_labels()
            labels |= dict(zip(names, handles))
        if len(labels) > 1:
            columns = min(len(labels), self.COLUMNS)
            self._figure.legend(
                labels.values(),
                labels.keys(),
                loc="upper center",
                bbox_to_anchor=(0.5, 0),
                ncols=columns,
                fontsize=9,
                frameon=False,
            )
        self._figure.tight_layout()
        self._figure.savefig(folder / f"{self.name}.svg", metadata={"Date": None}, bbox_inches="tight")
        self._figure.savefig(TARGET / f"{self.name}.png", dpi=110, bbox_inches="tight")
        plt.close(self._figure)


class Bars:
    """Seconds by system as horizontal bars, each with its number, for a light page and a dark one. Each group has a title and
    a scale of its own."""

    THEMES = {"light": {"ink": "#1f2328", "peer": "#afb8c1"}, "dark": {"ink": "#e6edf3", "peer": "#57606a"}}

    def __init__(self, name, title, groups):
        self._name = name
        # the one that results.md shows
        self.name = f"{name}_light"
        self._title = title
        self._groups = {
            group: sorted(bars.items(), key=lambda bar: bar[1], reverse=True) for group, bars in groups.items()
        }

    def save(self, folder):
        counts = [len(bars) for bars in self._groups.values()]
        height = 0.42 * sum(counts) + 0.5 * len(counts) + 0.5
        for theme, colours in self.THEMES.items():
            figure, axes = plt.subplots(len(counts), figsize=(7.6, height), height_ratios=counts, squeeze=False)
            for axis, (group, bars) in zip(axes.ravel(), self._groups.items()):
                self._draw(axis, group, bars, colours)
            figure.suptitle(self._title, x=0.02, ha="left", fontsize=11, color=colours["ink"])
            figure.tight_layout()
            figure.savefig(folder / f"{self._name}_{theme}.svg", metadata={"Date": None}, transparent=True)
            page = "#ffffff" if theme == "light" else "#0d1117"
            figure.savefig(TARGET / f"{self._name}_{theme}.png", dpi=110, facecolor=page)
            plt.close(figure)

    def _draw(self, axis, group, bars, colours):
        names, values = zip(*bars)
        longest = max(values)
        shades = [COLOURS["pgsvm"] if name == "pgsvm" else colours["peer"] for name in names]
        axis.barh(names, values, color=shades, height=0.7)
        axis.set_title(group, loc="left", fontsize=10, color=colours["ink"])
        axis.set_xlim(0, longest * 1.15)
        axis.set_facecolor("none")
        for place, value in enumerate(values):
            end = value + longest * 0.01
            axis.text(end, place, f"{_short(value)} s", va="center", fontsize=10, color=colours["ink"])
        axis.tick_params(axis="y", colors=colours["ink"], length=0, labelsize=10)
        axis.xaxis.set_visible(False)
        for side in axis.spines.values():
            side.set_visible(False)


def _tick(axis):
    """Few labels, so that they do not touch: decades, and parts of them where there are less than two."""
    low, high = sorted(axis.get_view_interval())
    parts = (1,) if high / low > 100 else (1, 3) if high / low > 10 else (1, 1.5, 2, 3, 5, 7)
    axis.set_major_locator(LogLocator(subs=parts))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def verdict(reached, at_least, aim, smaller_is_better=False):
    """`aim` is None where the target has none."""
    sign = -1 if smaller_is_better else 1
    if aim is not None and sign * reached >= sign * aim:
        return "aim met"
    return "met" if sign * reached >= sign * at_least else "**missed**"
