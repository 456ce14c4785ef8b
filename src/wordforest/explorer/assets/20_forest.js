/* The forest as nested cells: roots at the left, leaves at the right; on narrow screens an indented list. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;

  /** Cells of one tree down to a depth. `current` is marked, its ancestors and children a little. */
  wf.cells = (model, index, root, options) => {
    const deepest = options.depth;
    const last = (node) => model.depth[node] >= deepest || !model.children[node].length;
    const columns = Math.min(treeDepth(model, root), deepest) + 1;
    const tree = el("div", { class: "tree columns" + Math.min(columns, 4), role: "group",
      "aria-label": "Tree " + model.tree[root] });
    tree.style.gridTemplateColumns = Array.from({ length: columns }, (_, i) => "minmax(0, " + (1 + 0.22 * i) + "fr)").join(" ");
    let row = 1;
    const place = (node) => {
      const first = row;
      const cell = wf.cell(model, index, node, options);
      if (!last(node)) cell.classList.add("inner");
      if (last(node)) row += 1;
      tree.append(cell); // before its children: tab order is preorder
      if (!last(node)) model.children[node].forEach(place);
      cell.style.gridColumn = String(model.depth[node] + 1) + (last(node) ? " / -1" : "");
      cell.style.gridRow = first + " / " + row;
    };
    place(root);
    return tree;
  };

  const treeDepth = (model, root) => {
    let deepest = 0;
    for (let node = root; node < model.parent.length && (node === root || model.depth[node] > 0); node += 1) {
      deepest = Math.max(deepest, model.depth[node]);
    }
    return deepest;
  };

  wf.cell = (model, index, node, options) => {
    const share = model.used[node] / model.words;
    const current = options.current === node;
    const many = options.labelWords || (model.depth[node] === 0 ? 5 : 4);
    const bar = el("span", { class: "use", "aria-hidden": "true" });
    bar.style.width = (100 * share).toFixed(2) + "%";
    return el("a", {
      class: "cell" + (current ? " current" : "") + (model.used[node] ? "" : " idle"),
      href: wf.to.node(node, index), "data-depth": model.depth[node], "data-node": node,
      "aria-current": current ? "true" : null,
      title: wf.about(model, node),
    },
      wf.label(model, node, many),
      el("span", { class: "meta" }, el("span", { class: "id" }, String(node)), " " + wf.share(share)), bar);
  };

  /** How many nodes each depth has and which share of words uses a node there. */
  wf.depthTable = (model) => {
    const names = wf.levelNames(model);
    const rows = model.depths.map((level, depth) => {
      const bar = el("span", { class: "fillbar" });
      bar.style.width = (100 * level.share).toFixed(2) + "%";
      return el("tr", {}, el("th", { scope: "row" }, names[depth]),
        el("td", { class: "n" }, wf.count(level.nodes)),
        el("td", { class: "n" }, level.unused ? wf.count(level.unused) : "–"),
        el("td", { class: "n" }, wf.share(level.share)),
        el("td", { class: "barcell", "aria-hidden": "true" }, el("span", { class: "track" }, bar)));
    });
    return el("table", { class: "depths" },
      el("thead", {}, el("tr", {}, ["Depth", "Nodes", "Unused", "Words per node", ""].map((name, i) =>
        el(i === 4 ? "td" : "th", { scope: i === 4 ? null : "col", class: i ? "n" : null }, name)))),
      el("tbody", {}, rows));
  };

  wf.levelNames = (model) => model.depths.map((_, depth) => {
    if (depth === 0) return "Roots";
    if (depth === model.levels - 1) return "Leaves";
    return model.levels === 3 ? "Branches" : "Depth " + depth;
  });

  /** The depth that is shown at first: everything for a small forest, two levels for a large one. */
  wf.firstDepth = (model) => (model.parent.length <= 60 ? model.levels - 1 : Math.min(1, model.levels - 1));

  wf.zoom = (model, depth, to = wf.to.forest) => {
    const names = wf.levelNames(model);
    if (names.length < 2) return null;
    return el("div", { class: "zoom nopicture", role: "group", "aria-label": "Zoom from trees to leaves" },
      names.map((name, d) => wf.el("a", {
        href: to(d), class: d === depth ? "on" : null, "aria-current": d === depth ? "true" : null,
        title: "Show nodes down to depth " + d,
      }, name)));
  };

  wf.views = wf.views || {};
  wf.views.forest = (view) => {
    const asked = wf.option(view.address, "depth");
    const panels = wf.models.map((model, index) => {
      const wanted = asked === null ? wf.firstDepth(model) : Math.max(0, parseInt(asked, 10) || 0);
      const depth = Math.min(wanted, model.levels - 1);
      const columns = Math.min(model.levels, depth + 1);
      const about = wf.count(model.depths[0].nodes) + (model.drawn ? " trees, " : " dimensions, ") +
        (model.drawn ? wf.count(model.parent.length) + " nodes, " : "") + wf.count(model.words) + " words";
      return el("section", { class: "panel", "aria-label": model.name },
        el("div", { class: "panelhead" },
          el("div", {}, el("h2", {}, model.name), el("p", { class: "sub" }, about)),
          wf.zoom(model, depth)),
        model.drawn ? wf.depthTable(model)
          : el("p", { class: "note" }, "These vectors have no forest, so each dimension stands alone."),
        el("div", { class: "forest deep" + Math.min(columns, 4) },
          model.roots.map((root) => wf.cells(model, index, root, { depth }))),
        wf.hiddenNodes(model, index));
    });
    const rows = wf.models.flatMap((model) => model.parent.map((parent, node) => [
      model.name, node, parent < 0 ? "" : parent, model.depth[node], model.used[node], model.labels[node].join(" ")]));
    return {
      title: "The forest",
      name: "forest",
      lead: "Every cell is a dimension, named by its strongest words. The line under it tells which share of words uses it.",
      body: wf.sideBySide(panels),
      csv: () => [["model", "node", "parent", "depth", "words", "label"], ...rows],
    };
  };

  /** Panels of several models beside each other. */
  wf.sideBySide = (panels) => el("div", { class: "models n" + Math.min(panels.length, 4) }, panels);
})();
