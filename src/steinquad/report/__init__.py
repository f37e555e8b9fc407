"""What a study found, as one page for people (HTML, Markdown) or as data (JSON)."""

from steinquad.report.files import check_targets, write

__all__ = ["check_targets", "write"]
