"""Studies: expensive integrands, evaluated over days by many processes, losing nothing."""

from steinquad.studies.integrand import Command
from steinquad.studies.look import Look
from steinquad.studies.run import Snapshot
from steinquad.studies.study import Study

__all__ = ["Command", "Look", "Snapshot", "Study"]
