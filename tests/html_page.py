"""An HTML page as a reader sees it."""

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "div", "section", "p", "h1", "h2"),
    *("h3", "strong", "span", "table", "thead", "tbody", "tr", "th", "td", "pre", "figure"),
    *("figcaption", "details", "summary", "svg", "path", "text", "polyline", "polygon", "circle"),
    "rect",
}
LEAVES = {"h1", "h2", "h3", "p", "td", "th", "figcaption", "pre"}


class Page(HTMLParser):
    """Checks that tags nest, and collects what a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.leaves = [], set(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag in LEAVES:
            self.leaves.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if LEAVES & set(self.open):
            self.leaves[-1] += data
