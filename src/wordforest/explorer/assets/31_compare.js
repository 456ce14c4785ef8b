/* Pages that take several words: comparison on one forest, and analogies. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const MOST = 5, FIRST_TREES = 8;

  wf.views.compare = (view) => {
    const words = view.words;
    const body = el("div", {}, picker(view.example ? [] : words),
      view.example && words.length ? el("p", { class: "note" }, "For example ", wf.link(wf.to.compare(words),
        words.flatMap((word, i) => [i ? " and " : "", wf.text(word)])), ":") : null,
      words.length ? wf.sideBySide(view.panels.map((panel, index) => compared(panel, wf.models[index], index, words))) : null);
    return {
      title: "Compare words",
      name: words.join(" ") || "compare",
      lead: words.length < 2 || view.example ? "Choose two to five words to see, on one forest, what they share and where they part." : null,
      body,
      csv: () => compareRows(view),
    };
  };

  function picker(words) {
    const chips = words.map((word) => el("li", { class: "picked" }, wf.wordLink(word),
      el("a", { href: wf.to.compare(words.filter((other) => other !== word)), class: "drop nopicture",
        "aria-label": "Leave out " + word, title: "Leave out" }, "×")));
    const box = el("div", { class: "search inline nopicture" });
    if (words.length < MOST) {
      wf.searchBox(box, { label: "Add a word", choose: (word) =>
        wf.go(wf.to.compare([...words.filter((other) => other !== word), word])) });
    }
    return el("div", { class: "picker" }, chips.length ? el("ul", {}, chips) : null, box);
  }

  function compared(panel, model, index, words) {
    const unknown = panel.forests.filter((forest) => !forest.found);
    const forests = panel.forests.filter((forest) => forest.found);
    const vectors = forests.map((forest) => wf.dense(model, forest));
    const limit = wf.limit(forests.flatMap((forest) => forest.values));
    const many = forests.length > 1;
    return el("section", { class: "panel", "aria-label": model.name },
      wf.models.length > 1 ? el("h2", {}, model.name) : null,
      unknown.map(wf.unknown),
      many ? el("div", { class: "trio" },
        el("section", { class: "block" }, el("h3", {}, "Cosine"), cosines(panel)),
        el("section", { class: "block" }, el("h3", {}, "Where they part"),
          nodeTable(panel, panel.parting, panel.n_parting, model, index, limit, "They part nowhere."),
          el("p", { class: "none" }, "Numbers: the size of each word's branch, or coefficients where signs clash.")),
        el("section", { class: "block" }, el("h3", {}, "What they share"),
          nodeTable(panel, panel.shared, panel.n_shared, model, index, limit, "No node with one sign for all."))) : null,
      forests.length ? el("section", { class: "block" }, el("h3", {}, "On the same forest"),
        wf.scale(limit, forests.flatMap((forest) => forest.values)),
        treeMatrix(model, index, forests, vectors, limit)) : null);
  }

  function cosines(panel) {
    return el("table", { class: "cosines" },
      el("thead", {}, el("tr", {}, el("td", {}), panel.compared.map((word) => el("th", { scope: "col" }, wf.text(word))))),
      el("tbody", {}, panel.compared.map((word, i) => el("tr", {}, el("th", { scope: "row" }, wf.text(word)),
        panel.cosines[i].map((value, j) => {
          const cell = el("td", { class: i === j ? "self" : null }, i === j ? "" : wf.score(value));
          if (i !== j) {
            cell.style.backgroundColor = wf.colour(value, 2);
            cell.style.color = wf.ink(value, 2);
          }
          return cell;
        })))));
  }

  /** Nodes with one coefficient per word. */
  function nodeTable(panel, rows, total, model, index, limit, none) {
    rows = rows.filter(({ node }) => !model.hidden[node]);
    if (!rows.length) return el("p", { class: "none" }, none);
    return [el("table", { class: panel.compared.length > 3 ? "nodetable many" : "nodetable" },
      el("thead", {}, el("tr", {}, panel.compared.map((word) => el("th", { scope: "col" }, wf.text(word))), el("td", {}))),
      el("tbody", {}, rows.map(({ node, values }) => el("tr", {},
        values.map((value) => el("td", { class: "v" }, wf.chip(value, limit))),
        el("th", { scope: "row" }, el("a", { href: wf.to.node(node, index), class: "nodelink" },
          wf.label(model, node, 4))))))),
    total > rows.length ? el("p", { class: "none" }, "and " + wf.count(total - rows.length) + " more nodes") : null];
  }

  /** A row for every tree, a column for every word. */
  function treeMatrix(model, index, forests, vectors, limit) {
    const { ranked, single } = wf.rankTrees(model, vectors);
    const live = ranked.filter((tree) => tree.size > 0);
    const columns = "repeat(" + forests.length + ", minmax(0, 1fr))";
    const row = (title, draw) => {
      const cells = el("div", { class: "matrixrow" }, forests.map((forest, i) => el("figure", {},
        el("div", { class: "drawing" }, draw(vectors[i], forest.word)), el("figcaption", {}, wf.text(forest.word)))));
      cells.style.gridTemplateColumns = columns;
      return el("div", { class: "matrixtree" }, title, cells);
    };
    const tree = ({ root }) => row(
      el("p", { class: "treename" }, wf.link(wf.to.node(root, index), wf.label(model, root, 4))),
      (vector, word) => wf.drawTree(model, index, root, vector, limit, word));
    const box = el("div", { class: "matrix" }, single.length ? row(el("p", { class: "treename" }, "Trees of one node"),
      (vector) => wf.drawSingles(model, index, single, vector, limit)) : null);
    const zero = ranked.length - live.length;
    return [wf.withMore(box, live, FIRST_TREES, "trees", tree),
      zero ? el("p", { class: "none" }, wf.count(zero) + " more trees are exactly zero for all of them.") : null];
  }

  function compareRows(view) {
    const rows = [["model", "node", "depth", ...view.words, "label"]];
    view.panels.forEach((panel, index) => {
      const model = wf.models[index];
      const vectors = panel.forests.map((forest) => wf.dense(model, forest));
      model.parent.forEach((_, node) => {
        if (vectors.some((vector) => vector[node] !== 0)) {
          rows.push([model.name, node, model.depth[node],
            ...panel.forests.map((forest, i) => (forest.found ? vectors[i][node] : "")), model.labels[node].join(" ")]);
        }
      });
    });
    return rows;
  }

  // ---- analogies
  wf.views.analogy = (view) => {
    const chosen = [0, 1, 2].map((i) => view.words[i] || "");
    const ask = () => {
      if (chosen.every(Boolean)) wf.go(wf.to.analogy(chosen));
    };
    const names = ["this", "is to this", "as this"];
    const boxes = chosen.map((word, i) => {
      const box = el("div", { class: "search inline" });
      wf.searchBox(box, { label: names[i], text: word, choose: (found) => {
        chosen[i] = found;
        const next = chosen.findIndex((other) => !other);
        if (next >= 0) boxes[next].querySelector("input").focus();
        else ask();
      } });
      return box;
    });
    const results = view.words.length === 3 ? wf.sideBySide(view.panels.map((panel, index) => el("section", { class: "panel" },
      wf.models.length > 1 ? el("h2", {}, wf.models[index].name) : null,
      panel.unknown.length ? el("p", { class: "none" }, "No vector for ",
        panel.unknown.flatMap((word, i) => [i ? ", " : "", wf.text(word)]), ".")
        : el("section", { class: "block narrow" }, el("h3", {}, "is to"), wf.bars(panel.neighbors, { show: wf.score, limit: 1 })))))
      : null;
    const [a, b, c] = chosen;
    return {
      title: view.words.length === 3 ? el("span", {}, wf.text(a), " is to ", wf.text(b), " as ", wf.text(c), " is to …") : "Analogy",
      name: view.words.join(" ") || "analogy",
      lead: view.words.length === 3 ? (view.example ? "An example: put words of your own into the fields." : null) : "Three words ask for a fourth: man is to king as woman is to …",
      body: el("div", {}, el("div", { class: "equation" }, boxes), results),
      csv: () => [["model", "a", "b", "c", "word", "cosine"], ...view.panels.flatMap((panel, index) =>
        panel.neighbors.map(([word, value]) => [wf.models[index].name, ...view.words, word, value]))],
    };
  };
})();
