"""What a study found, as one page for people (HTML, Markdown) or as data (JSON)."""

from steinquad.report.write import write_report

__all__ = ["write_report"]
