/* Many points on a plane: pan, zoom, hover, labels that do not collide. Points are drawn by 51_points.js. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const GREY = [204, 204, 196], PLAIN = [92, 135, 117], SHADES = 256, MARK = "#c2410c";
  /** A letter by itself says nothing; a sign of a script without capitals may be a word. */
  const isLetter = (word) => word.length === 1 && word.toLowerCase() !== word.toUpperCase();
  /** A coefficient as a whole number from -SHADES to SHADES; only zero becomes zero. */
  const shade = (value, limit) => (value === 0 ? 0
    : Math.sign(value) * Math.max(1, Math.min(SHADES, Math.round((Math.abs(value) / limit) * SHADES))));
  const colourTable = () => Array.from({ length: 2 * SHADES + 1 },
    (_, i) => (i === SHADES ? GREY : wf.tint(i - SHADES, SHADES)));

  /** Rows from the first drawn to the last: weak values below strong ones, rare words below frequent ones. */
  function drawingOrder(values, limit, n) {
    const keys = new Float64Array(n); // numbers sort far quicker than a comparison by function
    for (let row = 0; row < n; row += 1) {
      const strength = values ? (values[row] === 0 ? 0 : 1 + Math.round((Math.abs(values[row]) / limit) * 32767)) : 0;
      keys[row] = strength * n + (n - 1 - row);
    }
    return Uint32Array.from(keys.sort(), (key) => n - 1 - (key % n));
  }

  wf.Plot = class {
    constructor() {
      this.canvas = el("canvas", { class: "points" });
      this.top = el("canvas", { class: "names", tabindex: "0", role: "application",
        "aria-label": "Map of words. Arrow keys move, plus and minus zoom, 0 shows all." });
      this.element = el("div", { class: "plot" }, this.canvas, this.top);
      this.view = { x: 0, y: 0, zoom: 1 };
      this.places = null;
      this.words = [];
      this.values = null;
      this.marked = -1;
      this.hovered = -1;
      this.onpick = () => {};
      this.onhover = () => {};
      this.points = wf.makePoints(this.canvas);
      this.listen();
    }

    /** Points (2 V numbers), words, and values (V numbers and their limit, or null). */
    set(places, words, values, limit) {
      Object.assign(this, { places, words, values, limit });
      const n = words.length;
      this.order = drawingOrder(values, limit, n);
      this.zeros = values ? values.reduce((count, value) => count + (value === 0), 0) : 0;
      const xy = new Float32Array(2 * n), tints = new Uint8Array(4 * n);
      const table = values ? colourTable() : null;
      for (let i = 0; i < n; i += 1) {
        const row = this.order[i];
        xy[2 * i] = places[2 * row];
        xy[2 * i + 1] = places[2 * row + 1];
        const tint = table ? table[SHADES + shade(values[row], limit)] : PLAIN;
        tints[4 * i] = tint[0];
        tints[4 * i + 1] = tint[1];
        tints[4 * i + 2] = tint[2];
      }
      this.points.set(xy, tints);
      this.draw();
    }

    resize() {
      const box = this.element.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
      for (const canvas of [this.canvas, this.top]) {
        if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      }
      this.ratio = ratio;
      this.width = width / ratio;
      this.height = height / ratio;
      const half = [this.width, this.height].map((side) => 0.45 * side), small = Math.min(...half);
      [this.ux, this.uy] = half.map((side) => Math.min(side, 1.9 * small)); // fill the frame: axes have no unit
    }

    screen(row) {
      const { x, y, zoom } = this.view;
      return [this.width / 2 + (this.places[2 * row] - x) * this.ux * zoom,
        this.height / 2 - (this.places[2 * row + 1] - y) * this.uy * zoom];
    }

    draw() {
      if (!this.places || this.pending) return;
      this.pending = requestAnimationFrame(() => {
        this.pending = null;
        this.paint();
      });
    }

    paint() {
      if (!this.element.isConnected) return;
      this.resize();
      const { x, y, zoom } = this.view, n = this.words.length, r = this.ratio;
      const size = Math.min(11, Math.max(2.2, (n > 20000 ? 2.2 : n > 6000 ? 3 : n > 800 ? 4.2 : 6) * Math.pow(zoom, 0.45)));
      const strong = this.values ? 1.7 : 1; // words that use the node stand out
      this.points.paint({
        kx: this.ux * zoom * r, ky: this.uy * zoom * r, x, y, alpha: this.values ? 0.9 : n > 20000 ? 0.45 : 0.7,
        parts: [[0, this.zeros, size * r], [this.zeros, n, size * strong * r]],
      });
      this.paintNames();
    }

    /** Names of frequent words, or of those that a node means most, wherever there is room. */
    paintNames() {
      const pen = this.top.getContext("2d"), style = getComputedStyle(this.element);
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.clearRect(0, 0, this.width, this.height);
      pen.font = "12px " + style.fontFamily;
      pen.textBaseline = "middle";
      pen.lineWidth = 3;
      pen.lineJoin = "round";
      pen.strokeStyle = style.backgroundColor;
      const taken = [];
      const free = (box) => taken.every((t) => box[2] < t[0] || box[0] > t[2] || box[3] < t[1] || box[1] > t[3]);
      const write = (row, strong) => {
        const [px, py] = this.screen(row);
        if (px < 4 || py < 8 || px > this.width - 4 || py > this.height - 8) return false;
        const word = this.words[row].length > 24 ? this.words[row].slice(0, 23) + "…" : this.words[row];
        const width = pen.measureText(word).width;
        const gap = row === this.marked ? 14 : 6, left = px + gap + width > this.width ? px - gap - width : px + gap;
        const box = [left - 3, py - 9, left + width + 3, py + 9];
        if (!strong && !free(box)) return false;
        taken.push(box);
        pen.strokeText(word, left, py);
        pen.fillStyle = style.color;
        pen.fillText(word, left, py);
        return true;
      };
      for (const row of [this.marked, this.hovered]) if (row >= 0) this.ring(pen, row, style), write(row, true);
      const { x, y, zoom } = this.view, kx = this.ux * zoom, ky = this.uy * zoom, places = this.places;
      const n = this.words.length, common = n > 5000 ? 100 : 0; // the most frequent words say little; they come last
      const across = Math.ceil(this.width / 64), tried = new Uint8Array(across * Math.ceil(this.height / 22));
      for (let i = 0; i < n; i += 1) {
        const row = this.values ? this.order[n - 1 - i] : (i + common) % n;
        if (this.values && (this.values[row] === 0 || (i > 60 && Math.abs(this.values[row]) < this.limit / 20))) break;
        const px = this.width / 2 + (places[2 * row] - x) * kx, py = this.height / 2 - (places[2 * row + 1] - y) * ky;
        if (px < 0 || py < 0 || px >= this.width || py >= this.height) continue;
        const cell = Math.floor(py / 22) * across + Math.floor(px / 64); // one try per patch of the plane
        if (tried[cell] || isLetter(this.words[row])) continue;
        tried[cell] = 1;
        write(row, false);
      }
    }

    ring(pen, row, style) {
      const [px, py] = this.screen(row);
      pen.beginPath();
      pen.arc(px, py, row === this.marked ? 10 : 6, 0, 2 * Math.PI);
      pen.stroke();
      pen.save();
      pen.lineWidth = row === this.marked ? 3 : 2;
      pen.strokeStyle = row === this.marked ? MARK : style.color;
      pen.stroke();
      pen.restore();
    }

    nearest(px, py) {
      let best = -1, closest = 14 * 14;
      if (!this.places) return best;
      const { x, y, zoom } = this.view, kx = this.ux * zoom, ky = this.uy * zoom, places = this.places;
      const tx = (px - this.width / 2) / kx + x, ty = (this.height / 2 - py) / ky + y;
      for (let row = 0; row < this.words.length; row += 1) {
        const dx = (places[2 * row] - tx) * kx, dy = (places[2 * row + 1] - ty) * ky, d = dx * dx + dy * dy;
        if (d < closest) [best, closest] = [row, d];
      }
      return best;
    }

    zoomAt(px, py, factor) {
      const from = [(px - this.width / 2) / this.ux, (this.height / 2 - py) / this.uy], before = this.view.zoom;
      this.view.zoom = Math.min(400, Math.max(0.8, before * factor));
      const kept = 1 / before - 1 / this.view.zoom; // the point under the pointer stays
      this.view.x += from[0] * kept;
      this.view.y += from[1] * kept;
      this.draw();
    }

    /** Show one word, in whatever case it came, in the middle, and the map in sight unless another one is. */
    find(word, inSight = true) {
      const folded = word.toLowerCase(), exact = this.words.indexOf(word);
      this.marked = exact >= 0 ? exact : this.words.findIndex((other) => other.toLowerCase() === folded);
      if (this.marked >= 0) {
        if (inSight) this.show();
        this.view = { x: this.places[2 * this.marked], y: this.places[2 * this.marked + 1], zoom: Math.max(6, this.view.zoom) };
      }
      this.draw();
      return this.marked >= 0;
    }

    show() {
      this.element.scrollIntoView({ block: "nearest" });
    }

    listen() {
      const pointers = new Map();
      let moved = 0;
      const top = this.top;
      const place = (event) => [event.offsetX, event.offsetY];
      top.addEventListener("pointerdown", (event) => {
        top.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, place(event));
        moved = 0;
      });
      top.addEventListener("pointermove", (event) => {
        const now = place(event), before = pointers.get(event.pointerId);
        if (!before) return void this.hover(this.nearest(...now));
        const others = [...pointers].filter(([id]) => id !== event.pointerId);
        if (others.length) {
          const other = others[0][1], gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
          this.zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, gap(now) / gap(before));
        } else this.pan(now[0] - before[0], now[1] - before[1]);
        moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
        pointers.set(event.pointerId, now);
      });
      const up = (event) => {
        if (pointers.delete(event.pointerId) && moved < 5 && event.type === "pointerup") {
          const row = this.nearest(...place(event));
          this.marked = row;
          this.draw();
          this.onpick(row);
        }
      };
      top.addEventListener("pointerup", up);
      top.addEventListener("pointercancel", up);
      top.addEventListener("pointerleave", () => this.hover(-1));
      top.addEventListener("wheel", (event) => {
        event.preventDefault();
        this.zoomAt(...place(event), Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)));
      }, { passive: false });
      top.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
        if (moves[event.key]) this.pan(...moves[event.key]);
        else if (event.key === "+" || event.key === "=") this.zoomAt(this.width / 2, this.height / 2, 1.5);
        else if (event.key === "-") this.zoomAt(this.width / 2, this.height / 2, 1 / 1.5);
        else if (event.key === "0") this.reset();
        else return;
        event.preventDefault();
      });
      new ResizeObserver(() => this.draw()).observe(this.element);
    }

    reset() {
      this.view = { x: 0, y: 0, zoom: 1 };
      this.draw();
    }

    pan(dx, dy) {
      this.view.x -= dx / (this.ux * this.view.zoom);
      this.view.y += dy / (this.uy * this.view.zoom);
      this.draw();
    }

    hover(row) {
      if (row === this.hovered) return;
      this.hovered = row;
      this.top.classList.toggle("over", row >= 0);
      this.draw();
      this.onhover(row);
    }
  };
})();
