"""Pictures of a page at four widths, light and dark, as one small sheet, and their comparison.

The pictures are the same on every machine as far as that is possible: the page gets a font from the
package mkdocs, a fixed time, and no animation, scroll bars or caret. A sheet has a quarter of the
size, in 16 steps per colour, so that smoothing of glyphs and edges hardly shows. Two sheets are
compared by tiles: a tile differs if a twentieth of its pixels has another colour, which is a button
that is missing, or a text that is elsewhere, not a glyph with another edge.

The browser itself makes and compares sheets, on a canvas.
"""

import base64
import importlib.util
from pathlib import Path
from typing import Any

import pytest

SIZES = {390: 844, 820: 1180, 1280: 800, 1920: 1080}
"""Width → height in CSS pixels."""
SCHEMES = ("light", "dark")
_FONTS = "themes/readthedocs/css/fonts"
_STYLE = """
@font-face { font-family: Pictured; src: url(data:font/woff2;base64,%s); }
@font-face { font-family: Pictured; font-weight: 600 800; src: url(data:font/woff2;base64,%s); }
:root { --sans: Pictured; --mono: Pictured; }
* { caret-color: transparent !important; animation: none !important; transition: none !important; }
::-webkit-scrollbar { display: none; }
"""
_RENDERED = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"""
_COMPOSE = """async ({ shots, columns }) => {
  const images = await Promise.all(shots.map(async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    return image;
  }));
  const small = (length) => Math.round(length / 4);
  const widths = images.slice(0, columns).map(({ width }) => small(width));
  const height = Math.max(...images.map((each) => small(each.height)));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const canvas = new OffscreenCanvas(sum(widths), height * images.length / columns);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  images.forEach((image, at) => {
    const left = sum(widths.slice(0, at % columns)), top = height * Math.floor(at / columns);
    context.drawImage(image, left, top, small(image.width), small(image.height));
  });
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  pixels.data.forEach((value, at) => { pixels.data[at] = at % 4 === 3 ? 255 : value & 0xf0; });
  context.putImageData(pixels, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  return btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(""));
}"""
_COMPARE = """async ([before, after]) => {
  const TILE = 16, COLOUR = 32, PART = 1 / 20;
  const read = async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = await Promise.all([read(before), read(after)]);
  if (a.width !== b.width || a.height !== b.height) return ["another size"];
  const tiles = new Map();
  for (let at = 0; at < a.data.length; at += 4) {
    const differs = (each) => Math.abs(a.data[at + each] - b.data[at + each]) > COLOUR;
    if (![0, 1, 2].some(differs)) continue;
    const x = (at / 4) % a.width, y = Math.floor(at / 4 / a.width);
    const tile = `${Math.floor(x / TILE) * TILE},${Math.floor(y / TILE) * TILE}`;
    tiles.set(tile, (tiles.get(tile) || 0) + 1);
  }
  return [...tiles].filter(([, many]) => many > TILE * TILE * PART).map(([tile]) => tile);
}"""


def prepared(page: Any, style: str = "") -> None:
    """Give the loaded page its font, and more style. Skips the test if mkdocs is not installed."""
    found = importlib.util.find_spec("mkdocs")
    if found is None or found.origin is None:
        pytest.skip("mkdocs, which has the font of the pictures, is not installed")
    fonts = Path(found.origin).parent / _FONTS
    texts = [
        base64.b64encode((fonts / f"lato-{name}.woff2").read_bytes()).decode()
        for name in ("normal", "bold")
    ]
    page.add_style_tag(content=_STYLE % tuple(texts) + style)
    page.evaluate("document.fonts.load('600 12px Pictured').then(() => document.fonts.ready)")


def sheet(page: Any) -> bytes:
    """Return the page at all sizes and in both schemes, as one PNG."""
    shots = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width, height in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(
                "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            shots.append(base64.b64encode(page.screenshot()).decode())
    text = page.evaluate(_COMPOSE, {"shots": shots, "columns": len(SIZES)})
    return base64.b64decode(text)


def differences(page: Any, before: bytes, after: bytes) -> list[str]:
    """Return the tiles in which two sheets differ, as `x,y` in pixels of the sheet."""
    pair = [base64.b64encode(each).decode() for each in (before, after)]
    found: list[str] = page.evaluate(_COMPARE, pair)
    return found


def violations(page: Any) -> list[str]:
    """Return what axe-core finds on the page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]
