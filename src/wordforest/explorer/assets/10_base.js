/* Small tools that all views share: elements from text alone, addresses, numbers, colours. No markup is ever parsed. */
(function () {
  "use strict";
  const wf = (window.wordforest = window.wordforest || {});
  const SVG = "http://www.w3.org/2000/svg";
  const STOPS = [0, 0.35, 0.7, 1];
  const RED = [[254, 217, 203], [244, 130, 100], [200, 35, 30], [95, 0, 16]];
  const BLUE = [[212, 228, 247], [107, 164, 222], [28, 92, 178], [6, 32, 92]];

  wf.models = [];
  wf.prefix = ""; // "#" in the page that is sent as one file

  function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") Object.assign(element.style, value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  /** An HTML element; strings among the children become text, never markup. */
  wf.el = (name, properties, ...children) => fill(document.createElement(name), properties, children);
  wf.svg = (name, properties, ...children) => fill(document.createElementNS(SVG, name), properties, children);

  /** A word as text of its own direction. */
  wf.text = (word) => wf.el("bdi", { class: "w" }, word);

  // ---- addresses
  const escape = (word) => encodeURIComponent(word.toWellFormed ? word.toWellFormed() : word);
  const list = (words) => words.map(escape).join(",");
  const isFolder = (word) => word === "." || word === "..";
  wf.to = {
    forest: (depth) => wf.prefix + "/" + (depth === undefined ? "" : "?depth=" + depth),
    word: (word) => wf.prefix + (isFolder(word) ? "/word?w=" + word : "/word/" + escape(word)),
    across: (word) => wf.prefix + (isFolder(word) ? "/across?w=" + word : "/across/" + escape(word)),
    node: (node, model) => wf.prefix + "/node/" + node + (model ? "?model=" + model : ""),
    compare: (words) => wf.prefix + "/compare" + (words.length ? "/" + list(words) : ""),
    analogy: (words) => wf.prefix + "/analogy" + (words.length ? "/" + list(words) : ""),
    map: (options) => wf.prefix + "/map" + query(options || {}),
    documents: (node, from) => wf.prefix + "/documents" + (node === null ? "" : "/" + node) + query({ from: from || null }),
    document: (row) => wf.prefix + "/document/" + row,
    slices: (options) => wf.prefix + "/slices" + query(options || {}),
    moved: (word) => wf.prefix + "/moved" + (word === undefined ? "" : isFolder(word) ? "?w=" + word : "/" + escape(word)),
    vocabulary: (kind) => wf.prefix + "/vocabulary" + query({ kind }),
    /** Lines of a word, or of the words of a node, which is a number. */
    context: (found, sort) => wf.prefix + "/context" + (typeof found === "number" ? query({ node: found, sort })
      : isFolder(found) ? query({ w: found, sort }) : "/" + escape(found) + query({ sort })),
  };
  function query(options) {
    const parts = Object.entries(options).filter((pair) => pair[1] !== null && pair[1] !== undefined && pair[1] !== "");
    return parts.length ? "?" + parts.map(([name, value]) => name + "=" + escape(String(value))).join("&") : "";
  }
  wf.link = (href, ...children) => wf.el("a", { href }, ...children);
  wf.knows = () => true; // the page that is sent as one file knows fewer words
  wf.wordLink = (word) => (wf.knows(word) ? wf.el("a", { href: wf.to.word(word), class: "word", title: word }, wf.text(word))
    : wf.el("span", { class: "word", title: word }, wf.text(word)));
  wf.option = (address, name) => new URLSearchParams((address || "").split("?")[1] || "").get(name);

  // ---- numbers
  wf.value = (number) => {
    if (number === 0) return "0";
    const size = Math.abs(number);
    const text = size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1) : size >= 0.0995 ? size.toFixed(2)
      : size >= 0.00095 ? size.toFixed(3) : size.toExponential(0);
    return (number < 0 ? "−" : "+") + text;
  };
  wf.score = (number) => (number < 0 ? "−" : "") + Math.abs(number).toFixed(2);
  wf.count = (number) => number.toLocaleString("en-US");
  wf.share = (share) => {
    const percent = 100 * share;
    if (percent === 0) return "0 %";
    if (percent < 0.1) return "< 0.1 %";
    return (percent >= 10 ? Math.round(percent) : percent.toFixed(1)) + " %";
  };

  // ---- colours: red below zero, blue above, white at exactly zero, as in the printed figures
  wf.rgb = (value, limit) => {
    if (value === 0) return [255, 255, 255];
    const strength = Math.min(Math.abs(value) / limit, 1);
    const ramp = value < 0 ? RED : BLUE;
    let i = 0;
    while (i < STOPS.length - 2 && strength > STOPS[i + 1]) i += 1;
    const t = (strength - STOPS[i]) / (STOPS[i + 1] - STOPS[i]);
    return ramp[i].map((low, channel) => Math.round(low + t * (ramp[i + 1][channel] - low)));
  };
  // Coefficients have long tails: on a root scale the small ones can be told apart as well.
  wf.tint = (value, limit) => wf.rgb(Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / limit)), 1);
  wf.colour = (value, limit) => "rgb(" + wf.tint(value, limit).join(",") + ")";
  wf.ink = (value, limit) => {
    const [r, g, b] = wf.tint(value, limit);
    return 0.299 * r + 0.587 * g + 0.114 * b < 140 ? "#fff" : "#222";
  };
  wf.limit = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;

  // ---- forests
  /** Depth, children, tree and end of every node, from the parents; what is hidden is no root and no child. */
  wf.grow = (model) => {
    const n = model.parent.length;
    model.depth = new Array(n).fill(0);
    model.children = Array.from({ length: n }, () => []);
    model.tree = new Array(n).fill(0);
    model.roots = [];
    model.hidden = new Array(n).fill(false);
    model.end = model.parent.map((_, node) => node + 1);
    model.noted = (node) => {
      const [name, hidden, remark, words] = model.notes[node] || ["", false, "", []];
      return { name, hidden, remark, words };
    };
    let trees = 0;
    model.parent.forEach((parent, node) => {
      if (parent < 0) trees += 1;
      else model.depth[node] = model.depth[parent] + 1;
      model.tree[node] = trees - 1;
      model.hidden[node] = model.noted(node).hidden || (parent >= 0 && model.hidden[parent]);
      if (!model.hidden[node]) (parent < 0 ? model.roots : model.children[parent]).push(node);
    });
    for (let node = n - 1; node >= 0; node -= 1) {
      if (model.parent[node] >= 0) model.end[model.parent[node]] = Math.max(model.end[model.parent[node]], model.end[node]);
    }
    model.levels = Math.max(...model.depth) + 1;
    return model;
  };
  /** The words of a node's label, as text nodes in one span; the first one weighs most. All is told where one points. */
  wf.label = (model, node, most) => {
    const words = model.labels[node].slice(0, most || 5), title = wf.about(model, node);
    if (!words.length) return wf.el("span", { class: "label unused", title }, model.used[node] ? "node " + node : "not used");
    const parts = words.flatMap((word, i) => [i ? ", " : "", i ? wf.text(word) : wf.el("b", {}, wf.text(word))]);
    return wf.el("span", { class: "label", title }, parts);
  };
  wf.about = (model, node) => "Node " + node + ": " + wf.plainLabel(model, node, 5) + ". " + wf.count(model.used[node])
    + " words use it." + (model.stability ? " Stability " + model.stability[node].toFixed(2) + "." : "")
    + (model.noted(node).remark ? "\n" + model.noted(node).remark : "");
  wf.plainLabel = (model, node, most) => model.labels[node].slice(0, most || 3).join(", ") || "no label";
  wf.path = (model, node) => {
    const path = [];
    for (let i = node; i >= 0; i = model.parent[i]) path.unshift(i);
    return path;
  };
  /** A vector of length M from its non-zero entries. */
  wf.dense = (model, forest) => {
    const vector = new Float64Array(model.parent.length);
    (forest.nodes || []).forEach((node, i) => (vector[node] = forest.values[i]));
    return vector;
  };
})();
