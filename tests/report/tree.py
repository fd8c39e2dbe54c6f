"""A page as a tree, by the standard library's parser: enough to find elements by name and class and to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "img", "input", "br", "link", "hr", "source"}


@dataclass
class Element:
    """An element: its name, attributes, and what is in it (elements and text)."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, spaces folded."""
        return " ".join("".join(each if isinstance(each, str) else f" {each.text} " for each in self.children).split())

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def walk(self) -> Iterator[Element]:
        """This element and all inside it."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, name: str | None = None, class_: str | None = None) -> list[Element]:
        return [
            each
            for each in self.walk()
            if (name is None or each.name == name) and (class_ is None or class_ in each.classes)
        ]

    def one(self, name: str | None = None, class_: str | None = None) -> Element:
        (found,) = self.all(name, class_)
        return found

    def by_id(self, id_: str) -> Element:
        (found,) = (each for each in self.walk() if each.attributes.get("id") == id_)
        return found


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute twice on {tag}"
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Element:
    """The tree of a page; every element must be closed by itself."""
    builder = _Builder()
    builder.feed(page)
    builder.close()
    assert builder.open == [builder.root], f"not closed: {builder.open[-1].name}"
    return builder.root
