"""Studies: expensive integrands, evaluated over days by many processes, losing nothing."""

from steinquad.studies.integrand import Command
from steinquad.studies.study import Snapshot, Study

__all__ = ["Command", "Snapshot", "Study"]
