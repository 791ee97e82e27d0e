"""The (4,4,3) method of Ascher, Ruuth & Spiteri, Appl. Numer. Math. 25 (1997): order 3, L-stable in A."""

from fractions import Fraction as F

from gleg_integrators.imex import ImexRungeKutta, ImexTable

O, H = F(0), F(1, 2)  # noqa: E741

ARS443 = ImexTable(
    order=3,
    c=(O, H, F(2, 3), H, F(1)),
    implicit=(
        (O,),
        (O, H),
        (O, F(1, 6), H),
        (O, -H, H, H),
        (O, F(3, 2), F(-3, 2), H, H),
    ),
    explicit=(
        (),
        (H,),
        (F(11, 18), F(1, 18)),
        (F(5, 6), F(-5, 6), H),
        (F(1, 4), F(7, 4), F(3, 4), F(-7, 4)),
    ),
    weights=(F(1, 4), F(7, 4), F(3, 4), F(-7, 4), O),
)


class ImexArs443(ImexRungeKutta):
    """ARS(4,4,3)."""

    table = ARS443
