"""What a study found, as one page for people (HTML, Markdown) or as data (JSON)."""

from steinquad.report.write import check_targets, write_report

__all__ = ["check_targets", "write_report"]
