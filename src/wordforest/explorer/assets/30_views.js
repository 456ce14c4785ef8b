/* Pages of a word, a node, and of what does not exist. Each view returns title, lead, body, and rows for a CSV file. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const views = (wf.views = wf.views || {});
  const FIRST_TREES = 12, FIRST_OF_SEVERAL = 4;

  /** Words with bars: blue to the right of zero, red for negative values, all from the left edge. */
  wf.bars = (items, options) => {
    if (!items.length) return el("p", { class: "none" }, (options && options.none) || "None.");
    const limit = (options && options.limit) || wf.limit(items.map((item) => item[1]));
    const show = (options && options.show) || wf.value;
    return el("ol", { class: "bars" }, items.map(([word, value]) => {
      const bar = el("span", { class: value < 0 ? "bar neg" : "bar" });
      bar.style.width = (100 * Math.min(1, Math.abs(value) / limit)).toFixed(1) + "%";
      return el("li", {}, wf.wordLink(word), el("span", { class: "track", "aria-hidden": "true" }, bar),
        el("span", { class: "num" }, show(value)));
    }));
  };
  const section = (wf.section = (name, ...content) => el("section", { class: "block" }, el("h3", {}, name), content));
  /** Nearest words; those among the common ones are marked. */
  const nearest = (wf.nearest = (items, common = []) => {
    const block = section("Nearest words", wf.bars(items, { show: wf.score, limit: 1, none: "None: its vector is zero." }));
    block.classList.add("nearest");
    block.querySelectorAll(".word").forEach((word) => word.classList.toggle("common", common.includes(word.textContent)));
    return block;
  });
  const modelHead = (model) => (wf.models.length > 1 ? el("h2", {}, model.name) : null);

  wf.unknown = (panel) => el("div", { class: "block" },
    el("p", { class: "none" }, "No vector for ", wf.text(panel.word), ".",
      wf.offline ? " This file keeps the most frequent words only." : ""),
    panel.near && panel.near.length ? el("p", {}, "Close to it: ",
      panel.near.flatMap((word, i) => [i ? ", " : "", wf.wordLink(word)])) : null);

  // ---- a word
  views.word = (view) => {
    const word = view.words[0];
    if (word === undefined) return asking();
    const one = view.panels.length === 1;
    const panels = view.panels.map((panel, index) => {
      const model = wf.models[index];
      if (!panel.found) return el("section", { class: "panel" }, modelHead(model), wf.unknown(panel));
      return el("section", { class: "panel", "aria-label": model.name }, modelHead(model),
        one ? null : el("p", { class: "sub" }, wf.wordFacts(panel, model)),
        el("div", { class: one ? "split nearfirst" : "split" },
          section("Its forest", wf.trees(model, index, panel, "word")),
          nearest(panel.neighbors)));
    });
    return {
      title: wf.text(word),
      name: word,
      lead: one && view.panels[0].found ? wf.wordFacts(view.panels[0], wf.models[0]) : null,
      actions: [one ? null : wf.link(wf.to.across(word), "Across models"), wf.link(wf.to.compare([word]), "Compare"), wf.documents() && view.panels[0].found
        ? wf.link(wf.to.context(word), "In the documents") : null, wf.hasMoved(word) ? wf.link(wf.to.moved(word), "By slice") : null, wf.hasMap ? wf.link(wf.to.map({ word }), "On the map") : null],
      body: wf.sideBySide(panels),
      csv: () => wf.wordRows(view),
    };
  };

  wf.wordFacts = (panel, model) => {
    const parts = ["uses " + wf.count(panel.nodes.length) + " of " + wf.count(model.parent.length) + " nodes"];
    if (panel.count !== null) parts.unshift("seen " + wf.count(panel.count) + " times");
    parts.unshift("word " + wf.count(panel.rank) + " of " + wf.count(model.words));
    return parts.join(" · ");
  };

  /** The trees of a word, or of a document by its shares, strongest first. */
  wf.trees = (model, index, panel, what, show) => {
    const vector = wf.dense(model, panel);
    if (!panel.nodes.length) return el("p", { class: "none" }, "All of its trees are exactly zero.");
    const limit = wf.limit(panel.values);
    const { ranked, single } = wf.rankTrees(model, [vector]);
    const live = ranked.filter((tree) => tree.size > 0);
    const leaves = (root) => wf.placeTree(model, root).leaves;
    const card = ({ root }) => el("div", { class: leaves(root) > 20 ? "treecard across" : "treecard" },
      el("p", { class: "treename" }, wf.link(wf.to.node(root, index), wf.label(model, root, 3))),
      el("div", { class: "drawing" }, wf.drawTree(model, index, root, vector, limit, panel.word)),
      el("ul", { class: "noderows" }, wf.strongest(model, vector, root, model.end[root], 3).map((node) =>
        wf.nodeRow(model, index, node, [vector[node]], limit, show))));
    const unused = ranked.length - live.length;
    return [
      wf.scale(limit, panel.values, show),
      single.length ? el("div", { class: "treecard wide" },
        el("div", { class: "drawing" }, wf.drawSingles(model, index, single, vector, limit)),
        el("ul", { class: "noderows" }, wf.strongest(model, vector, 0, vector.length, 8)
          .filter((node) => !model.children[node].length && model.parent[node] < 0)
          .map((node) => wf.nodeRow(model, index, node, [vector[node]], limit, show)))) : null,
      wf.withMore(el("div", { class: "trees" }), live, wf.models.length > 1 ? FIRST_OF_SEVERAL : FIRST_TREES, "trees", card),
      unused ? el("p", { class: "none" }, unused === 1 ? "One more tree is exactly zero for this " + what + "."
        : wf.count(unused) + " more trees are exactly zero for this " + what + ".") : null,
    ];
  };

  wf.wordRows = (view) => {
    const rows = [["model", "word", "kind", "name", "value", "label"]];
    view.panels.forEach((panel, index) => {
      if (!panel.found) return;
      const model = wf.models[index];
      panel.neighbors.forEach(([name, value]) => rows.push([model.name, panel.word, "nearest word", name, value, ""]));
      panel.nodes.forEach((node, i) => rows.push(
        [model.name, panel.word, "node", node, panel.values[i], model.labels[node].join(" ")]));
    });
    return rows;
  };

  const asking = () => ({ title: "A word", name: "word", lead: "Type a word into the search field above.",
    body: el("div", {}), csv: () => [] });

  // ---- a node
  views.node = (view) => {
    const panel = view.panels[0], index = view.model, model = wf.models[index], node = panel.node;
    const path = wf.path(model, node);
    const root = path[0];
    const limit = wf.limit([...panel.positive, ...panel.negative].map((item) => item[1]));
    const names = wf.levelNames(model);
    const facts = [
      ["Depth", panel.depth + (model.levels > 1 ? " (" + names[panel.depth].toLowerCase() + ")" : "")],
      ["Used by", wf.count(panel.used) + " words, " + wf.share(panel.used / panel.words)],
      ...(model.stability ? [["Stability", model.stability[node].toFixed(2)
        + ": its likeness to itself when learned again from half of the words"]] : []),
      ["Parent", panel.parent < 0 ? "none, it is a root" : nodeLink(model, index, panel.parent)],
      ["Children", panel.children.length ? el("ul", { class: "inline" },
        panel.children.map((child) => el("li", {}, nodeLink(model, index, child)))) : "none, it is a leaf"],
    ];
    const body = el("div", { class: "split nodepage" },
      el("div", {},
        wf.noteOf(model, node), el("dl", { class: "facts" }, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
        wf.noteForm(model, index, node),
        el("div", { class: "pair" },
          section(panel.negative.length ? "Strongest positive words" : "Strongest words", wf.bars(panel.positive,
            { limit, none: "None: no coefficient is above zero." })),
          panel.negative.length ? section("Strongest negative words", wf.bars(panel.negative, { limit })) : null,
          panel.contexts ? contexts(panel.contexts) : null),
        wf.nodeChanges(view), index === 0 ? wf.nodeSlices(node) : null),
      el("div", {}, model.drawn ? section("Its tree", wf.cells(model, index, root,
        { depth: model.levels - 1, current: node, labelWords: 3 })) : null, wf.nodeDocuments(view, node)));
    return {
      title: wf.label(model, node, 5),
      crumbs: path.length > 1 ? path.slice(0, -1).map((i) => wf.link(wf.to.node(i, index), wf.label(model, i, 1))) : [],
      kicker: (wf.models.length > 1 ? model.name + " · " : "") + "Node " + node,
      name: "node " + node,
      actions: [wf.hasMap ? wf.link(wf.to.map({ node, model: index || null }), "On the map") : null],
      body: el("div", { class: "nodeframe" }, body),
      csv: () => nodeRows(model, panel),
    };
  };

  const nodeLink = (wf.nodeLink = (model, index, node) =>
    el("a", { href: wf.to.node(node, index), class: "nodelink" }, wf.label(model, node, 4), " ",
      el("span", { class: "id" }, String(node))));

  function contexts(found) {
    const limit = wf.limit([...found.positive, ...found.negative].map((item) => item[1]));
    return [section("Strongest contexts", wf.bars(found.positive, { limit, none: "None." })),
      found.negative.length ? section("Contexts it avoids", wf.bars(found.negative, { limit })) : null];
  }

  function nodeRows(model, panel) {
    const rows = [["model", "node", "kind", "word", "value"]];
    const add = (kind, items) => items.forEach(([word, value]) => rows.push([model.name, panel.node, kind, word, value]));
    add("positive word", panel.positive);
    add("negative word", panel.negative);
    if (panel.contexts) {
      add("positive context", panel.contexts.positive);
      add("negative context", panel.contexts.negative);
    }
    return rows;
  }

  views.missing = (view) => ({
    title: "Nothing here", name: "missing", lead: view.message,
    body: el("p", {}, wf.link(wf.to.forest(), "Back to the forest")), csv: () => [],
  });
})();
