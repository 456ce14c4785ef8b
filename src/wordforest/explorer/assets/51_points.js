/* The points of a map: by WebGL where there is a GPU, else pixel by pixel, which beats WebGL in software. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const VERTEX = `
    attribute vec2 place; attribute vec3 tint; uniform vec2 scale; uniform vec2 shift; uniform float size;
    varying vec3 color;
    void main() { color = tint; gl_Position = vec4(place * scale + shift, 0.0, 1.0); gl_PointSize = size; }`;
  const FRAGMENT = `
    precision mediump float; varying vec3 color; uniform float alpha;
    void main() {
      float r = length(gl_PointCoord - 0.5);
      if (r > 0.5) discard;
      gl_FragColor = vec4(color, alpha * smoothstep(0.5, 0.38, r));
    }`;
  const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

  function hasCard() {
    const gl = document.createElement("canvas").getContext("webgl");
    if (!gl) return false;
    const about = gl.getExtension("WEBGL_debug_renderer_info");
    const name = gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
    const lose = gl.getExtension("WEBGL_lose_context");
    if (lose) lose.loseContext();
    return !SOFTWARE.test(String(name));
  }

  /** Points in a canvas: `set` takes places (2 n) and colours (4 n bytes) in drawing order, `paint` a view. */
  wf.makePoints = (canvas) => {
    const wanted = wf.webgl === undefined ? hasCard() : wf.webgl;
    const gl = wanted && canvas.getContext("webgl", { preserveDrawingBuffer: true, premultipliedAlpha: false });
    return gl ? new CardPoints(canvas, gl) : new PixelPoints(canvas);
  };

  class CardPoints {
    constructor(canvas, gl) {
      this.canvas = canvas;
      this.gl = gl;
      const program = gl.createProgram();
      for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, source);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
      }
      gl.linkProgram(program);
      gl.useProgram(program);
      gl.enable(gl.BLEND);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      this.at = (name) => gl.getUniformLocation(program, name);
      this.buffers = ["place", "tint"].map((name, i) => {
        const buffer = gl.createBuffer(), where = gl.getAttribLocation(program, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(where);
        if (i) gl.vertexAttribPointer(where, 3, gl.UNSIGNED_BYTE, true, 4, 0);
        else gl.vertexAttribPointer(where, 2, gl.FLOAT, false, 0, 0);
        return buffer;
      });
    }

    set(places, tints) {
      [places, tints].forEach((data, i) => {
        this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[i]);
        this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW);
      });
    }

    paint({ kx, ky, x, y, alpha, parts }) {
      const { gl, canvas } = this, sx = (2 * kx) / canvas.width, sy = (2 * ky) / canvas.height;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(this.at("scale"), sx, sy);
      gl.uniform2f(this.at("shift"), -x * sx, -y * sy);
      gl.uniform1f(this.at("alpha"), alpha);
      for (const [from, to, size] of parts) {
        gl.uniform1f(this.at("size"), size);
        gl.drawArrays(gl.POINTS, from, to - from);
      }
    }
  }

  class PixelPoints {
    constructor(canvas) {
      this.canvas = canvas;
      this.pen = canvas.getContext("2d", { willReadFrequently: true });
    }

    set(places, tints) {
      this.places = places;
      this.tints = tints;
    }

    paint({ kx, ky, x, y, alpha, parts }) {
      const { width, height } = this.canvas, { places, tints } = this;
      const picture = this.pen.createImageData(width, height), bytes = picture.data, pixels = new Uint32Array(bytes.buffer);
      const colours = new Uint32Array(tints.buffer), opaque = Math.round(255 * alpha) << 24;
      for (const [from, to, size] of parts) {
        const { offsets, covers } = discOf(size, width), r = Math.ceil(size / 2);
        for (let i = from; i < to; i += 1) {
          const px = Math.round(width / 2 + (places[2 * i] - x) * kx), py = Math.round(height / 2 - (places[2 * i + 1] - y) * ky);
          if (px < r || py < r || px >= width - r || py >= height - r) continue;
          const middle = py * width + px;
          for (let k = 0; k < offsets.length; k += 1) {
            const at = middle + offsets[k];
            if (pixels[at] === 0 && covers[k] === 1) pixels[at] = (colours[i] & 0xffffff) | opaque; // most pixels: nothing below
            else blend(bytes, 4 * at, tints, 4 * i, alpha * covers[k]);
          }
        }
      }
      this.pen.putImageData(picture, 0, 0);
    }
  }

  /** Lay a colour with some opacity over a pixel. */
  function blend(bytes, at, tints, from, alpha) {
    const under = bytes[at + 3] / 255, whole = alpha + under * (1 - alpha), share = alpha / whole;
    bytes[at] += (tints[from] - bytes[at]) * share;
    bytes[at + 1] += (tints[from + 1] - bytes[at + 1]) * share;
    bytes[at + 2] += (tints[from + 2] - bytes[at + 2]) * share;
    bytes[at + 3] = 255 * whole;
  }

  /** The pixels of a disc, as distances in a picture of some width, and how much of each it covers. */
  function discOf(size, width) {
    const r = size / 2, reach = Math.ceil(r), offsets = [], covers = [];
    for (let dy = -reach; dy <= reach; dy += 1) {
      for (let dx = -reach; dx <= reach; dx += 1) {
        const cover = Math.min(1, Math.max(0, r - Math.hypot(dx, dy) + 0.35));
        if (cover > 0.15) {
          offsets.push(dy * width + dx);
          covers.push(cover > 0.85 ? 1 : cover);
        }
      }
    }
    return { offsets: Int32Array.from(offsets), covers: Float32Array.from(covers) };
  }
})();
