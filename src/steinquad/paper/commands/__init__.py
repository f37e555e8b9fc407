"""The commands of the paper: `steinquad reproduce`, `steinquad draw`, `steinquad truth`."""
