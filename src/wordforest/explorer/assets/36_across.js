/* One word across models: its main paths and its nearest words in each, side by side. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const PATHS = 3;

  /** The strongest trees of a word, from the root down where most of it lies, with the share of the word in each node. */
  function paths(model, vector) {
    const sizes = wf.strengths(model, vector), total = model.roots.reduce((sum, root) => sum + sizes[root], 0) || 1;
    const most = (nodes) => nodes.reduce((best, node) => (sizes[node] > sizes[best] ? node : best), nodes[0]);
    const down = (node) => (node === undefined || !sizes[node] ? [] : [node, ...down(most(model.children[node]))]);
    return [...model.roots].filter((root) => sizes[root]).sort((a, b) => sizes[b] - sizes[a] || a - b).slice(0, PATHS)
      .map((root) => down(root)).map((path) => ({ path, shares: new Map(path.map((node) => [node, sizes[node] / total])) }));
  }

  wf.views.across = (view) => {
    const word = view.words[0], box = el("div", { class: "search inline nopicture" });
    wf.searchBox(box, { label: "Another word", choose: (found) => wf.go(wf.to.across(found)) });
    if (word === undefined) return { title: "One word across models", name: "across", body: el("div", { class: "picker" }, box), csv: () => [] };
    const lists = view.panels.filter((panel) => panel.found).map((panel) => panel.neighbors.map((pair) => pair[0]));
    const common = lists.length > 1 ? lists[0].filter((one) => lists.every((list) => list.includes(one))) : [];
    const panels = view.panels.map((panel, index) => {
      const model = wf.models[index], head = el("h2", {}, model.name);
      if (!panel.found) return el("section", { class: "panel" }, head, wf.unknown(panel));
      const found = paths(model, wf.dense(model, panel));
      return el("section", { class: "panel", "aria-label": model.name }, head, el("p", { class: "sub" }, wf.wordFacts(panel, model)),
        wf.section("Its strongest paths", found.length ? found.map(({ path, shares }) => wf.pathOf(model, index, path, shares))
          : el("p", { class: "none" }, "None: its vector is zero.")),
        wf.nearest(panel.neighbors, common));
    });
    const all = lists.length === wf.models.length ? "all of them" : "all that know it";
    const told = common.length ? ["Near it in " + all + ": ", common.flatMap((one, i) => [i ? ", " : "", wf.wordLink(one)]), "."]
      : lists.length > 1 ? "No word is among its nearest in " + all + "." : null;
    return {
      title: el("span", {}, wf.text(word), el("span", { class: "label" }, " across " + (wf.models.length === 1 ? "one model" : wf.models.length + " models"))),
      name: word + " across models",
      lead: told && el("span", {}, told),
      actions: [wf.link(wf.to.word(word), "Its forests")],
      body: el("div", {}, el("div", { class: "picker" }, box), wf.sideBySide(panels)),
      csv: () => wf.wordRows(view),
    };
  };
})();
