"""The HTML report: one whole file, harmless whatever the texts of a user are."""

from html_page import TAGS, Page


def test_it_is_one_whole_file_that_refers_to_nothing(report):
    page = Page(report.html)
    assert page.tags <= TAGS
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "action", "style"}
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in report.html and "@import" not in report.html
    assert ("content", "width=device-width, initial-scale=1") in page.attributes
    assert "prefers-color-scheme: dark" in report.html


def test_users_text_is_escaped(bad):
    for text in ("<script", "<img", "<b ", "\x1b", "\u202e"):
        assert text not in bad.html
    assert "\x1b" not in bad.md and "\u202e" not in bad.md
    seen = " ".join(Page(bad.html).leaves)
    for text in ("<script>alert(1)</script>", "onerror=alert(2)", "</title><b onclick='x'>"):
        assert text in seen
    assert '</pre><script>alert("4")</script>' in seen and "RuntimeError" in seen
    outside_code = "\n".join(line for line in bad.md.split("\n") if not line.startswith("    "))
    assert "&lt;script&gt;alert(1)" in outside_code and "\\[a\\](b)" in outside_code
    assert "\\`x\\`" in outside_code and "<" not in outside_code
