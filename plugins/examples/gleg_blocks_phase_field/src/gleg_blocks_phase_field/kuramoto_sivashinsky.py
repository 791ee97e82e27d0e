"""Kuramoto–Sivashinsky  u_t = −Δ²u − Δu − ½|∇u|².

With test functions that satisfy ∂_n v = 0 its linear part is  −∫ [Δv Δu − ∇v·∇u] − ∮ v ∂_n(Δu + u).  Where v = 0 on ∂Ω too (clamped) the
boundary integral vanishes; elsewhere leaving it out makes ∂_n(Δu + u) = 0 a natural condition.
"""

from gleg_blocks_phase_field.pack import eikonal, flame_instability
from gleg_blocks_phase_field.params import KuramotoSivashinskyParams
from gleg_blocks_phase_field.weak_sum import WeakSum
from gleg_core.contracts.block import Binding, Traits


class KuramotoSivashinsky(WeakSum):
    """L(u) = −Δ²u − Δu − ½|∇u|²: the linear part is assembled, the rest is evaluated at the nodes."""

    def __init__(self, params: KuramotoSivashinskyParams, binding: Binding):
        traits = Traits("R", order=4, degree=2, modes=("weak",), weak_traces=(1,), conditions=1)
        super().__init__(traits, *(part.block(params, binding) for part in (flame_instability, eikonal)))
