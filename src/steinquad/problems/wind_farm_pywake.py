"""The thrust coefficient through the PyWake simulator itself (extra `wind`)."""

from typing import Any

import numpy as np

from steinquad._types import Array
from steinquad.errors import InputError
from steinquad.problems.wind_farm_layout import WIND_SPEED, AveragingGrid, layout

__all__ = ["require_pywake", "simulate"]


def require_pywake() -> None:
    """Raise `InputError`, with the extra to install, where PyWake is missing: call it early."""
    try:
        import py_wake  # noqa: F401
    except ImportError:
        raise InputError(
            "simulator is 'pywake' but PyWake is not installed; "
            "run pip install 'steinquad[wind]', or pass simulator='jax'."
        ) from None


def simulate(point: Array, physics: str, grid: AveragingGrid) -> tuple[float, float]:
    """Wind speeds U_0 at the target turbine and U_F of the farm, in 14 CPU s on the full grid.

    Args:
        point: the seven inputs (7,), checked by `as_inputs`.
        physics: "p22" or "p26", the formulas of PyWake 2.2 to 2.4 or of 2.6.
        grid: the points over which U_F is averaged.
    """
    from py_wake.flow_map import Points
    from py_wake.rotor_avg_models.rotor_avg_model import GQGridRotorAvg
    from py_wake.site import UniformSite
    from py_wake.superposition_models import LinearSum
    from py_wake.wind_farm_models.engineering_models import PropagateDownwind
    from py_wake.wind_turbines import WindTurbine
    from py_wake.wind_turbines.power_ct_functions import PowerCtFunction

    ct_prime, w1, w2, turbulence, direction, height, diameter = (float(v) for v in point)
    induction = ct_prime / (4.0 + ct_prime)
    thrust = 4.0 * induction * (1.0 - induction)

    def power_or_thrust(ws: Any, run_only: int) -> Any:
        return np.full(np.shape(ws), thrust if run_only else 0.0)

    turbine = WindTurbine("disc", diameter, height, PowerCtFunction(["ws"], power_or_thrust, "w"))
    deficit, added_turbulence = _models(physics, np.array([w1, w2]), GQGridRotorAvg(4, 3))
    farm = PropagateDownwind(
        UniformSite([1.0], turbulence),
        turbine,
        wake_deficitModel=deficit,
        superpositionModel=LinearSum(),
        turbulenceModel=added_turbulence,
    )
    positions, target = layout(direction)
    result: Any = farm(*positions.T, wd=270.0 + direction, ws=WIND_SPEED)
    box = np.stack(np.meshgrid(grid.x, grid.y, grid.z, indexing="ij"), axis=-1).reshape(-1, 3)
    flow = result.flow_map(Points(*box.T)).WS_eff.values
    return float(result.WS_eff.values.reshape(-1)[target]), float(np.mean(flow))


def _models(physics: str, wake: Array, rotor: Any) -> tuple[Any, Any]:
    """Deficit and turbulence: the defaults of PyWake 2.6, or what 2.2 to 2.4 had, in its terms."""
    from py_wake.deficit_models.gaussian import NiayifarGaussianDeficit
    from py_wake.deficit_models.utils import ct2a_mom1d
    from py_wake.rotor_avg_models.area_overlap_model import AreaOverlapAvgModel
    from py_wake.turbulence_models.crespo import CrespoHernandez

    if physics == "p26":
        deficit = NiayifarGaussianDeficit(a=wake, use_effective_ws=True, rotorAvgModel=rotor)
        return deficit, CrespoHernandez()
    overlap = AreaOverlapAvgModel()

    class NodeAveraged(CrespoHernandez):
        """The overlap of wake and rotor, averaged once more over the nodes of the rotor."""

        # PyWake reads from these names which arrays to pass.
        def calc_added_turbulence(
            self,
            dw_ijlk: Any,
            cw_ijlk: Any,
            D_src_il: Any,
            ct_ilk: Any,
            TI_ilk: Any,
            D_dst_ijl: Any,
            wake_radius_ijlk: Any,
            **_: Any,
        ) -> Any:
            inside = np.zeros_like(cw_ijlk)
            added = CrespoHernandez.calc_added_turbulence(
                self, dw_ijlk, inside, D_src_il, ct_ilk, TI_ilk, D_dst_ijl, wake_radius_ijlk
            )
            if np.ndim(cw_ijlk) == 4:  # points of a flow map: no rotor, and nobody asks for it
                return added
            radius = D_dst_ijl[..., None, None] / 2
            share = overlap._cal_overlapping_area_factor(wake_radius_ijlk, radius, cw_ijlk)
            return added * share

    deficit = NiayifarGaussianDeficit(
        a=wake, ct2a=ct2a_mom1d, ctlim=1.0, use_effective_ws=True, rotorAvgModel=rotor
    )
    exponents = [0.73, 0.8325, 0.0325, -0.32]
    return deficit, NodeAveraged(ct2a=ct2a_mom1d, c=exponents, rotorAvgModel=rotor)
