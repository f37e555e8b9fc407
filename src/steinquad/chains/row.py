"""One line of the answer: a property of a parameter or function, plain and better."""

from dataclasses import dataclass
from typing import Any

__all__ = ["COLUMNS", "SummaryRow"]

COLUMNS = ("plain", "mcse", "mean", "std", "low", "high", "reduction")  # the numbers of a row


@dataclass(frozen=True)
class SummaryRow:
    """One property of one parameter or function, from the draws alone and corrected.

    Attributes:
        name: of the parameter or output.
        statistic: `mean`, `variance`, `P[x <= 1.23]`, `5%`, `50%` or `95%`.
        plain: from the draws alone.
        mcse: its standard error, autocorrelation counted.
        mean: the better value.
        std: its standard error.
        low: lower end of its 95 % interval.
        high: upper end.
        method: by which features, or other method, the better value is.
        warnings: what is doubtful of it, each a sentence.
    """

    name: str
    statistic: str
    plain: float
    mcse: float
    mean: float
    std: float
    low: float
    high: float
    method: str
    warnings: tuple[str, ...] = ()

    @property
    def reduction(self) -> float:
        """How many times as many draws the plain value would need to be as accurate.

        The squared ratio of the standard errors, `(mcse / std)^2`; 1 for a constant.
        """
        if self.std > 0:
            return (self.mcse / self.std) ** 2
        return 1.0 if self.mcse == 0 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings by column name, as a data frame or a CSV file has them.

        The warnings are joined by semicolons; infinite and missing numbers stay as they are.
        """
        columns = ("name", "statistic", *COLUMNS, "method")
        fields = {column: getattr(self, column) for column in columns}
        return {**fields, "warnings": "; ".join(self.warnings)}
