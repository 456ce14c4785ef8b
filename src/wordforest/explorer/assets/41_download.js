/* Any view as a file: what stands on the screen becomes SVG (and PNG), its numbers become CSV. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { svg } = wf;
  const XLINK = ["href", "tabindex", "aria-label", "class", "data-node", "data-value", "role"];

  const SHAPES = "circle, line, polygon, polyline, text";
  const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size"];

  /** CSV with quotes where needed. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
  wf.toCsv = (rows) => rows.map((row) => row.map((cell) => {
    let text = String(cell);
    if (typeof cell !== "number" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }).join(",")).join("\r\n") + "\r\n";

  /** Mixed colours as other programs read them. */
  const plain = (color) => (color || "").replace(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)\)$/,
    (_, ...parts) => "rgb(" + parts.slice(0, 3).map((part) => Math.round(255 * part)).join(",") + ")");
  const visible = (color) => color && color !== "transparent" && !/, 0\)$/.test(color);

  function boxOf(element, style, at) {
    const r = element.getBoundingClientRect();
    if (!r.width || !r.height) return null;
    const line = ["Top", "Right", "Bottom", "Left"].filter((side) => parseFloat(style["border" + side + "Width"]) > 0);
    const framed = line.length === 4 && visible(style.borderTopColor);
    if (!visible(style.backgroundColor) && !framed) {
      if (line.length === 1 && line[0] === "Bottom") {
        return svg("line", { x1: at.x(r.left), x2: at.x(r.right), y1: at.y(r.bottom), y2: at.y(r.bottom),
          stroke: style.borderBottomColor });
      }
      return null;
    }
    return svg("rect", { x: at.x(r.left), y: at.y(r.top), width: r.width, height: r.height,
      rx: Math.min(parseFloat(style.borderTopLeftRadius) || 0, r.height / 2),
      fill: visible(style.backgroundColor) ? plain(style.backgroundColor) : "none",
      stroke: framed ? style.borderTopColor : null });
  }

  /** The lines of a text node, each where the browser put it, cut where its box hides the rest. */
  function linesOf(node, style, at) {
    const range = document.createRange();
    const text = node.textContent;
    const lines = [];
    for (let i = 0; i < text.length; i += 1) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const r = range.getClientRects()[0];
      if (!r || !r.height) continue;
      const line = lines[lines.length - 1];
      if (!line && !text[i].trim()) continue;
      if (line && Math.abs(line.top - r.top) < r.height / 2) {
        line.text += text[i];
        line.left = Math.min(line.left, r.left);
        line.right = Math.max(line.right, r.right);
      } else lines.push({ text: text[i], top: r.top, bottom: r.bottom, left: r.left, right: r.right });
    }
    const clip = clipOf(node.parentElement);
    return lines.filter((line) => line.text.trim() && line.left < clip.right - 2 && line.top < clip.bottom - 4 && line.bottom > clip.top)
      .map((line) => {
        const over = line.right - clip.right;
        const shown = over > 1 ? line.text.slice(0, Math.max(1, Math.floor(line.text.length * (clip.right - line.left - 16) / (line.right - line.left)))) + "…" : line.text;
        return svg("text", { x: at.x(line.left), y: at.y(line.bottom - (line.bottom - line.top) * 0.23),
          fill: style.color, "font-size": style.fontSize, "font-weight": style.fontWeight,
          "font-family": style.fontFamily, "xml:space": "preserve" }, shown);
      });
  }

  function clipOf(element) {
    for (let e = element; e && e.id !== "stage"; e = e.parentElement) {
      if (getComputedStyle(e).overflowX === "hidden") return e.getBoundingClientRect();
    }
    return { right: Infinity, bottom: Infinity, top: -Infinity };
  }

  /** A drawing of the page, with the colours that it has now. */
  function copyDrawing(drawing, at) {
    const r = drawing.getBoundingClientRect();
    const copy = drawing.cloneNode(true);
    const from = drawing.querySelectorAll(SHAPES), to = copy.querySelectorAll(SHAPES);
    from.forEach((shape, i) => {
      const style = getComputedStyle(shape);
      STYLED.forEach((name) => to[i].setAttribute(name, style.getPropertyValue(name)));
      to[i].removeAttribute("class");
    });
    copy.querySelectorAll("a").forEach((link) => {
      const group = svg("g", {}, ...link.childNodes);
      link.replaceWith(group);
    });
    XLINK.forEach((name) => copy.removeAttribute(name));
    for (const [name, value] of Object.entries({ x: at.x(r.left), y: at.y(r.top), width: r.width, height: r.height })) {
      copy.setAttribute(name, value);
    }
    return copy;
  }

  /** The stage as one SVG element. */
  wf.toSvg = (stage) => {
    const frame = stage.getBoundingClientRect();
    const at = { x: (x) => +(x - frame.left + 16).toFixed(2), y: (y) => +(y - frame.top + 16).toFixed(2) };
    const width = Math.ceil(frame.width + 32), height = Math.ceil(stage.scrollHeight + 32);
    const parts = [svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor })];
    const walk = (node) => {
      if (node.nodeType === Node.TEXT_NODE) {
        if (node.textContent.trim()) parts.push(...linesOf(node, getComputedStyle(node.parentElement), at));
        return;
      }
      if (node.nodeType !== Node.ELEMENT_NODE || node.hidden || node.classList.contains("nopicture")) return;
      if (node.localName === "svg") return void parts.push(copyDrawing(node, at));
      if (node.localName === "canvas") {
        const r = node.getBoundingClientRect();
        parts.push(svg("image", { x: at.x(r.left), y: at.y(r.top), width: r.width, height: r.height,
          href: node.toDataURL("image/png") }));
        return;
      }
      const style = getComputedStyle(node);
      if (style.display === "none" || style.visibility === "hidden") return;
      const box = boxOf(node, style, at);
      if (box) parts.push(box);
      node.childNodes.forEach(walk);
    };
    if (wf.beforePicture) wf.beforePicture();
    stage.childNodes.forEach(walk);
    return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` }, parts);
  };

  wf.save = (name, kind, blob) => {
    const url = URL.createObjectURL(blob);
    const safe = name.replace(/[^\p{L}\p{N}#-]+/gu, "-").slice(0, 60) || "view";
    const link = wf.el("a", { href: url, download: "wordforest-" + safe + "." + kind });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };

  /** Save what the stage shows as csv, svg or png. */
  wf.download = async (kind, shown) => {
    if (kind === "csv") return wf.save(shown.name, kind, new Blob(["\ufeff" + wf.toCsv(shown.csv())], { type: "text/csv" }));
    const drawing = wf.toSvg(document.getElementById("stage"));
    const blob = new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
    if (kind === "svg") return wf.save(shown.name, kind, blob);
    const url = URL.createObjectURL(blob);
    try {
      const image = new Image();
      image.src = url;
      await image.decode();
      const scale = Math.min(2, 16000 / image.height, 16000 / image.width);
      const canvas = wf.el("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      const png = await new Promise((done) => canvas.toBlob(done, "image/png"));
      wf.save(shown.name, kind, png);
    } finally {
      URL.revokeObjectURL(url);
    }
    return undefined;
  };
})();
