/* Trees of a word: nodes coloured by coefficient, edges from parents to children. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el, svg } = wf;
  const LEAF = 21, LEVEL = 34, RADIUS = 8, EDGE = 11, WIDEST = 60;

  /** Places of a tree's nodes: leaves a step apart, parents amid their children. */
  wf.placeTree = (model, root) => {
    const places = new Map();
    let leaves = 0, deepest = 0;
    const place = (node) => {
      const children = model.children[node];
      let x;
      if (!children.length) x = leaves++;
      else {
        children.forEach(place);
        x = (places.get(children[0]).x + places.get(children[children.length - 1]).x) / 2;
      }
      deepest = Math.max(deepest, model.depth[node]);
      places.set(node, { x, y: model.depth[node] });
    };
    place(root);
    return { places, leaves, deepest };
  };

  /** One tree as a drawing; `vector` has a coefficient for every node, `limit` is the darkest. */
  wf.drawTree = (model, index, root, vector, limit, word) => {
    const { places, leaves, deepest } = wf.placeTree(model, root);
    const step = leaves > WIDEST ? Math.max(4, (LEAF * WIDEST) / leaves) : LEAF;
    const radius = Math.min(RADIUS, step * 0.42);
    const width = (leaves - 1) * step + 2 * EDGE, height = deepest * LEVEL + 2 * EDGE;
    const at = (node) => ({ x: EDGE + places.get(node).x * step, y: EDGE + places.get(node).y * LEVEL });
    const edges = [], nodes = [];
    const strength = wf.strengths(model, vector);
    for (const node of [...places.keys()].sort((a, b) => a - b)) {
      const { x, y } = at(node);
      if (node !== root) {
        const up = at(model.parent[node]);
        edges.push(svg("line", { x1: up.x, y1: up.y, x2: x, y2: y, class: strength[node] ? "edge live" : "edge" }));
      }
      nodes.push(dot(model, index, node, vector[node], limit, x, y, radius));
    }
    const name = "Tree " + model.tree[root] + (word ? " of " + word : "");
    return svg("svg", { class: "treesvg", viewBox: "0 0 " + width + " " + height, width, height, role: "group",
      "aria-label": name }, edges, nodes);
  };

  function dot(model, index, node, value, limit, x, y, radius) {
    const about = "Node " + node + ", " + wf.plainLabel(model, node, 5) + ": " + wf.value(value);
    const link = svg("a", { href: wf.to.node(node, index), class: "dot", "aria-label": about, "data-node": node,
      "data-value": value, tabindex: value === 0 ? "-1" : null },
      svg("circle", { cx: x, cy: y, r: radius, fill: wf.colour(value, limit), class: value === 0 ? "zero" : "set" }),
      svg("title", {}, about));
    return link;
  }

  /** Trees of one node each stand in one grid of dots. */
  wf.drawSingles = (model, index, roots, vector, limit) => {
    const across = Math.min(26, roots.length), rows = Math.ceil(roots.length / across);
    const at = (i) => [EDGE + (i % across) * LEAF, EDGE + Math.floor(i / across) * LEAF];
    const width = (across - 1) * LEAF + 2 * EDGE, height = (rows - 1) * LEAF + 2 * EDGE;
    return svg("svg", { class: "treesvg", viewBox: "0 0 " + width + " " + height, width, height, role: "group",
      "aria-label": "Trees of one node" },
      roots.map((root, i) => dot(model, index, root, vector[root], limit, ...at(i), RADIUS)));
  };

  /** How much a word has in each node and below it, by size; in an additive forest a value holds that already. */
  wf.strengths = (model, vector) => {
    const sums = Float64Array.from(vector, Math.abs);
    if (model.additive) return sums;
    for (let node = sums.length - 1; node >= 0; node -= 1) if (model.parent[node] >= 0) sums[model.parent[node]] += sums[node];
    return sums;
  };

  /** The strength of each tree in some vectors, the largest of theirs; strongest first. */
  wf.rankTrees = (model, vectors) => {
    const single = model.roots.filter((root) => !model.children[root].length);
    const roots = model.roots.filter((root) => model.children[root].length);
    const strengths = vectors.map((vector) => wf.strengths(model, vector));
    const ranked = roots.map((root) => ({ root, size: Math.max(0, ...strengths.map((sums) => sums[root])) }));
    ranked.sort((a, b) => b.size - a.size || a.root - b.root);
    return { ranked, single };
  };

  /** The strongest nodes of a tree in a vector. */
  wf.strongest = (model, vector, from, to, most) => {
    const nodes = [];
    for (let node = from; node < to; node += 1) if (vector[node] !== 0 && !model.hidden[node]) nodes.push(node);
    nodes.sort((a, b) => Math.abs(vector[b]) - Math.abs(vector[a]) || a - b);
    return nodes.slice(0, most);
  };

  wf.nodeRow = (model, index, node, values, limit, show) => el("li", {},
    el("span", { class: "chips" }, values.map((value) => wf.chip(value, limit, show))),
    el("a", { href: wf.to.node(node, index), class: "nodelink" }, wf.label(model, node, 4)),
    el("span", { class: "id" }, String(node)));

  wf.chip = (value, limit, show = wf.value) => {
    const chip = el("span", { class: "chip" }, show(value));
    chip.style.backgroundColor = wf.colour(value, limit);
    chip.style.color = wf.ink(value, limit);
    return chip;
  };

  /** The colours of coefficients, without the negative half where there is none. */
  wf.scale = (limit, values, show = wf.value) => {
    const signed = values.some((value) => value < 0);
    const shares = [0, 0.04, 0.16, 0.36, 0.64, 1]; // even steps of the root scale
    const steps = [...(signed ? shares.slice(1).reverse().map((share) => -share) : []), ...shares].map((share) => {
      const box = el("span", { class: "step" });
      box.style.backgroundColor = wf.colour(share * limit, limit);
      return box;
    });
    return el("p", { class: "scale" }, el("span", {}, signed ? show(-limit) : "0"),
      el("span", { class: "steps", "aria-hidden": "true" }, steps), el("span", {}, show(limit)),
      el("span", { class: "hint" }, "white: exactly zero"));
  };

  /** Draw items into a box: the first ones now, the rest when asked for. */
  wf.withMore = (box, items, first, name, draw) => {
    const fill = (some) => box.append(...some.map(draw));
    fill(items.slice(0, first));
    const rest = items.slice(first);
    if (!rest.length) return box;
    const button = el("button", { class: "more nopicture", type: "button", onclick: () => {
      const last = button.previousElementSibling;
      button.remove();
      fill(rest);
      const target = last.nextElementSibling.querySelector("a");
      if (target) target.focus({ preventScroll: true });
    } }, "Show " + rest.length + " more " + name);
    box.append(button);
    return box;
  };
})();
