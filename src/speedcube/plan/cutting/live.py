"""What a program still needs, as its nodes are visited one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from ...expr.nodes import Leaf, Map, Node


class Live:
    """The maps that were visited and that nodes to come read."""

    __slots__ = ("_last", "_open", "_place")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._place = 0
        self._open: dict[int, Map] = {}
        self._last: dict[int, int] = {}  # which node reads each last
        for place, node in enumerate(nodes):
            read = node.args if isinstance(node, Map) else ()
            if isinstance(node, Leaf) and isinstance(node.source, Map):
                read = (node.source,)
            self._last.update((id(one), place) for one in read)

    def passed(self, node: Node) -> None:
        """``node``, the next one, was visited."""
        self._place += 1
        if isinstance(node, Map) and id(node) in self._last:
            self._open[id(node)] = node

    def beside(self, one: Node) -> list[Map]:
        """The others of the shape of ``one`` that were visited and are read later."""
        last, place = self._last, self._place
        self._open = {name: node for name, node in self._open.items() if last[name] > place}
        return [node for node in self._open.values() if node is not one and node.shape == one.shape]
