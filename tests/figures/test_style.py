"""Colours: white is exactly zero, and readers without one kind of cone see the sign."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.figures.drawn import (
    pixel,
    two_words,
)
from wordforest.figures import (
    COLORBLIND,
    PAPER,
    Palette,
    Style,
    heatmap,
)
from wordforest.figures.style import ink_on, rgb, symmetric_limit
from wordforest.vectors import Vectors


@pytest.fixture(name="two_words")
def two_words_fixture() -> Vectors:
    return two_words()


def seen_by(kind: str, colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return colours (n, 3) in CIE Lab as readers without one kind of cone see them (Machado et al. 2009)."""
    simulated = {
        "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    }[kind]
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(simulated).T, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = linear @ np.array(to_xyz).T / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("palette", [PAPER, COLORBLIND])
class TestColors:
    def test_exact_zero_alone_is_white(self, palette: Palette) -> None:
        colors = rgb([0.0, -0.0, 1e-30, -1e-30], 1.0, palette)
        assert (colors == 1).all(axis=1).tolist() == [True, True, False, False]

    @pytest.mark.parametrize("value", [1e-12, -1e-12])
    def test_tiny_values_are_visibly_tinted(self, palette: Palette, value: float) -> None:
        assert rgb(value, 1.0, palette).min() < 0.85

    @pytest.mark.parametrize("sign", [1, -1])
    def test_more_extreme_is_darker(self, palette: Palette, sign: int) -> None:
        brightness = rgb(sign * np.linspace(0, 1, 101), 1.0, palette).mean(axis=1)
        assert (np.diff(brightness) < 0).all()

    def test_values_beyond_the_limit_take_its_colour(self, palette: Palette) -> None:
        np.testing.assert_array_equal(rgb(5.0, 1.0, palette), rgb(1.0, 1.0, palette))

    def test_text_is_light_on_dark_and_dark_on_light(self, palette: Palette) -> None:
        light, dark = ink_on(rgb([0.0, 1.0], 1.0, palette))
        assert (light, dark) == ("#222222", "white")

    @pytest.mark.parametrize("kind", ["no red", "no green", "no blue"])
    def test_colour_blind_readers_tell_tiny_values_from_zero(self, palette: Palette, kind: str) -> None:
        zero, below, above = seen_by(kind, rgb([0.0, -1e-9, 1e-9], 1.0, palette))
        # 2.3 is a just noticeable difference between neighbouring patches
        assert min(np.linalg.norm(below - zero), np.linalg.norm(above - zero)) > 5 * 2.3


class TestColorblind:
    # the paper's palette comes to 20, 24 and 26; a mix-up of signs takes less than about 10
    @pytest.mark.parametrize(("kind", "least"), [("no red", 40), ("no green", 40), ("no blue", 24)])
    def test_no_negative_looks_like_a_positive(self, kind: str, least: float) -> None:
        strength = np.linspace(1e-9, 1, 60)
        below = seen_by(kind, rgb(-strength, 1.0, COLORBLIND))
        above = seen_by(kind, rgb(strength, 1.0, COLORBLIND))
        assert np.linalg.norm(below[:, None] - above, axis=2).min() > least

    def test_limit_of_zeros_is_one(self) -> None:
        assert symmetric_limit(np.zeros(3)) == 1.0

    def test_the_palette_reaches_the_page(self, two_words: Vectors) -> None:
        figure = heatmap(two_words, ["up", "down"], style=Style(palette=COLORBLIND))
        expected = np.round(255 * np.array(rgb(-3.0, 3.0, COLORBLIND))).astype(int).tolist()
        assert pixel(figure, figure.axes[0], 0, 1) == expected
