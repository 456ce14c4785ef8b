"""Charts of scores."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from wordforest.reproduce.chart import Dot, dots


def test_has_a_dot_an_interval_and_the_papers_diamond():
    svg = ElementTree.fromstring(dots("similarity", [Dot("A<", 0.5, 0.4, 0.6, 0.45), Dot("B", 0.2, 0.1, 0.3)], 2))
    assert len(svg.findall("circle")) == 2
    assert len(svg.findall("path")) == 1
    assert "A&lt;" not in svg.find("text[2]").text


def test_nothing_to_show():
    assert dots("x", [Dot("A", math.nan, math.nan, math.nan)], 1) == ""


def test_one_value_only():
    assert "circle" in dots("x", [Dot("A", 1.0, 1.0, 1.0)], 1)
