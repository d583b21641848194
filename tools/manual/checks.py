"""What the built pages are checked for: links that lead somewhere, and nothing from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

# What a browser loads by itself when it shows a page; a link to click is no such thing.
LOADED: Final = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("embed", "src"),
    ("object", "data"),
}
LOADED_RELS: Final = {
    "stylesheet",
    "preload",
    "preconnect",
    "icon",
    "dns-prefetch",
    "modulepreload",
}


class Reader(HTMLParser):
    """What a page loads, links to, and can be linked to at."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids.add(values["id"])
        for name, value in values.items():
            if (tag, name) in LOADED:
                self.loads.append(value)
        if tag == "link" and set(values.get("rel", "").split()) & LOADED_RELS:
            self.loads.append(values.get("href", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])


@cache
def read(page: Path) -> Reader:
    reader = Reader()
    reader.feed(page.read_text())
    return reader


def elsewhere(address: str) -> bool:
    """Whether an address is another site's."""
    parts = urlparse(address)
    return parts.scheme in ("http", "https") or bool(parts.netloc)


def from_elsewhere(folder: Path) -> list[str]:
    """What pages and styles would load from other sites."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        found += [f"{page.relative_to(folder)}: {a}" for a in read(page).loads if elsewhere(a)]
    for style in sorted(folder.rglob("*.css")):
        text = style.read_text(errors="replace")
        addresses = re.findall(r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')\s]+)", text)
        found += [f"{style.relative_to(folder)}: {address}" for address in addresses]
    return found


def broken(folder: Path) -> list[str]:
    """Links of pages that lead to no file of the folder, or to no place in one."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        for link in read(page).links:
            parts = urlparse(link)
            if parts.scheme or parts.netloc:
                continue
            end = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            here = page.relative_to(folder)
            if not end.exists() or (
                parts.fragment
                and end.suffix == ".html"
                and unquote(parts.fragment) not in read(end).ids
            ):
                found.append(f"{here}: {link}")
    return found


def outward(folder: Path) -> list[str]:
    """The links to other sites, each once."""
    pages = folder.rglob("*.html")
    return sorted({link for page in pages for link in read(page).links if elsewhere(link)})
