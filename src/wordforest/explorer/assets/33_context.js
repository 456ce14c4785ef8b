/* Words in context: a line for every place, with the word amid what stands beside it. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const SORTS = { strength: "Strongest documents", document: "By document", left: "By the left", right: "By the right" };

  wf.views.context = (view) => {
    const model = wf.models[view.model || 0], isNode = typeof view.query === "number";
    if (view.query === "") return { title: "In context", name: "context", lead: "Search a word first.", body: el("div", {}), csv: () => [] };
    const sorts = Object.keys(SORTS).filter((sort) => isNode || sort !== "strength");
    const some = view.searched < view.total, all = view.lines.length === view.found;
    return {
      title: isNode ? wf.label(model, view.query, 5) : wf.text(view.query),
      kicker: isNode ? wf.link(wf.to.node(view.query), "Node " + view.query) : wf.link(wf.to.word(view.query), "In context"),
      name: "context " + view.query,
      lead: (all ? "" : wf.count(view.lines.length) + " of ") + wf.count(view.found) + " places in " + wf.count(view.with) + " of "
        + wf.count(view.searched) + " documents" + (some ? (view.sort === "strength" ? ", those with most of this node, of " : ", a sample of ") + wf.count(view.total) : "") + "."
        + (isNode ? " Words of this node: " + (view.words.join(", ") || "none") + "." : ""),
      body: el("div", {},
        el("div", { class: "zoom nopicture", role: "group", "aria-label": "Order of the lines" }, sorts.map((sort) => el("a", {
          href: wf.to.context(view.query, sort), class: sort === view.sort ? "on" : null,
          "aria-current": sort === view.sort ? "true" : null }, SORTS[sort]))),
        view.lines.length ? lines(view.lines) : el("p", { class: "none" }, "None.")),
      csv: () => [["document", "left", "keyword", "right"], ...view.lines.map((line) => line.slice(1))],
    };
  };

  const lines = (found) => el("table", { class: "lines" },
    el("thead", {}, el("tr", {}, ["Left", "Word", "Right", "Document"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, found.map(([row, id, left, keyword, right]) => el("tr", {},
      el("td", { class: "left" }, el("bdi", {}, left)),
      el("td", { class: "key" }, el("mark", {}, el("bdi", {}, keyword))),
      el("td", { class: "right" }, el("bdi", {}, right)),
      el("td", { class: "doc" }, wf.link(wf.to.document(row), wf.text(id || "without a name")))))));
})();
