"""The outline of a domain."""

from matplotlib.axes import Axes

from gleg_core.contracts.domain import Domain


def draw_boundary(ax: Axes, domain: Domain) -> None:
    for segment in domain.segments:
        outline = segment.outline(400)
        ax.plot(outline[:, 0], outline[:, 1], color="black", linewidth=1.0)
