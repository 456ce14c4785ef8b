/* Documents: those of a node with its words marked, and one with its path through the forest and its text in colours. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const COLOURS = 8, WINDOW = 42, PAGE = 20, SPECIAL = 1.1;

  /** What is known of all documents, where there are any; they belong to the first model. */
  wf.documents = () => wf.models[0] && wf.models[0].documents;
  const plural = (n) => wf.count(n) + (n === 1 ? " document" : " documents");
  const kept = () => (wf.offline ? " This file holds " + wf.count(wf.documents().kept) + " of " + plural(wf.documents().n) + "." : "");

  // ---- text
  /** A part of a text, from word to word; `mark` gets the nodes of each and tells how it is marked, if it is. */
  function textOf(document, mark, first = 0, last = document.tokens.length) {
    const parts = [], { pieces, tokens, words } = document;
    for (let i = first; i < last; i += 1) {
      const [word, nodes] = words[tokens[i]], how = mark(nodes);
      parts.push(pieces[2 * i], how ? el("mark", how, el("a", { href: wf.to.word(word), tabindex: "-1" }, pieces[2 * i + 1]))
        : pieces[2 * i + 1]);
    }
    return [...parts, pieces[2 * last]];
  }

  /** The part of a document where most words belong to a node; its beginning, where there is no node. */
  function snippet(document, node) {
    const hits = document.tokens.map((token) => (node !== null && document.words[token][1].includes(node) ? 1 : 0));
    let sum = 0, best = 0, first = 0;
    hits.forEach((hit, i) => {
      sum += hit - (i >= WINDOW ? hits[i - WINDOW] : 0);
      if (sum > best) [best, first] = [sum, Math.max(0, i - WINDOW + 1)];
    });
    if (hits.length - first < WINDOW) first = Math.max(0, hits.length - WINDOW);
    const last = Math.min(first + WINDOW, hits.length);
    const text = textOf(document, (nodes) => (nodes.includes(node) ? {} : null), first, last)
      .map((part) => (typeof part === "string" ? part.replace(/([^\s\w])\1{5,}/g, "$1$1$1") : part)); // lines of dashes
    if (first > 0) text[0] = "… ";
    if (last < hits.length) text[text.length - 1] = " …";
    return el("p", { class: "snippet", dir: "auto" }, text);
  }

  const fields = (document) => Object.entries(document.fields);
  const shareOf = (document, node) => document.values[document.nodes.indexOf(node)] || 0;

  /** Documents one below the other, with the share of a node and a part of the text. */
  function list(documents, node) {
    if (!documents.length) return el("p", { class: "none" }, "None.");
    return el("ol", { class: "documents" }, documents.map((document) => {
      const share = node === null ? null : shareOf(document, node), bar = el("span", { class: "fillbar" });
      if (share !== null) bar.style.width = (100 * share).toFixed(1) + "%";
      return el("li", {}, el("p", { class: "dochead" },
        el("a", { href: wf.to.document(document.row), class: "docname" }, wf.text(document.id || "without a name")),
        el("span", { class: "sub" }, fields(document).map(([name, value]) => el("span", { class: "field", title: name }, wf.text(value)))),
        share === null ? null : el("span", { class: "docshare" }, el("span", { class: "track", "aria-hidden": "true" }, bar),
          el("span", { class: "num", title: "Share of this node in the document" }, wf.share(share)))),
        document.length ? snippet(document, node) : el("p", { class: "none" }, "No text."));
    }));
  }

  const rows = (documents, node) => [["row", "document", "share", "fields"], ...documents.map((document) => [document.row,
    document.id, node === null ? "" : shareOf(document, node), fields(document).map((pair) => pair.join("=")).join("; ")])];

  /** The first documents of a node. */
  wf.nodeDocuments = (view, node) => (view.documents ? wf.section("Documents, typical ones first", list(view.documents, node),
    el("p", { class: "morelinks nopicture" },
      view.total > view.documents.length ? wf.link(wf.to.documents(node), "All " + wf.count(view.total) + " documents with this node") : null,
      wf.link(wf.to.context(node, "strength"), "Its words in context")),
    wf.offline ? el("p", { class: "none" }, kept().trim()) : null) : null);

  /** Below the words of a node: its shares over time and by group. */
  wf.nodeChanges = (view) => (view.documents && (view.times.length || view.groups.length)
    ? el("div", { class: "changing" }, wf.overTime(view.times), wf.byGroup(view.groups)) : null);

  wf.views.documents = (view) => {
    const model = wf.models[view.model || 0], node = view.node, last = view.start + view.documents.length;
    const step = (from, name, rel) => wf.el("a", { href: wf.to.documents(node, from), rel }, name);
    const shown = view.documents.length ? wf.count(view.start + 1) + " to " + wf.count(last) + " of " + plural(view.total) : plural(view.total);
    return {
      title: node === null ? "Documents" : wf.label(model, node, 5),
      kicker: node === null ? null : wf.link(wf.to.node(node), "Node " + node),
      name: "documents" + (node === null ? "" : " of node " + node),
      lead: shown + (node === null ? ", in their order." : " with this node, typical ones first.") + kept(),
      body: el("div", {}, node === null && view.start === 0 ? trees(model) : null, list(view.documents, node),
        el("p", { class: "morelinks nopicture" }, view.start > 0 ? step(Math.max(0, view.start - PAGE), "Previous", "prev") : null,
          last < view.total && view.documents.length ? step(last, "Next", "next") : null)),
      csv: () => rows(view.documents, node),
    };
  };

  /** What all documents are about: the share of every tree. */
  function trees(model) {
    const share = model.documents.share;
    if (!share) return null;
    const ranked = [...model.roots].sort((a, b) => share[b] - share[a] || a - b), limit = share[ranked[0]] || 1;
    const line = (root) => {
      const bar = el("span", { class: "fillbar" });
      bar.style.width = (100 * share[root] / limit).toFixed(1) + "%";
      return el("li", {}, el("a", { href: wf.to.node(root), class: "nodelink" }, wf.label(model, root, 4)),
        el("span", { class: "track", "aria-hidden": "true" }, bar), el("span", { class: "num" }, wf.share(share[root])));
    };
    return wf.section("What they are about", wf.withMore(el("ol", { class: "bars wide" }), ranked, 12, "trees", line));
  }

  // ---- one document
  wf.views.document = (view) => {
    const document = view.document, model = wf.models[view.model || 0];
    const shares = new Map(document.nodes.map((node, i) => [node, document.values[i]]));
    const usual = model.documents.share, over = (root) => (shares.get(root) || 0) / (usual ? usual[root] || 1 : 1); // than in most
    const strongest = model.roots.filter((root) => over(root) > (usual ? SPECIAL : 0)).sort((a, b) => shares.get(b) - shares.get(a) || a - b);
    const colour = new Map(strongest.slice(0, COLOURS).map((root, i) => [model.tree[root], i]));
    const mark = (nodes) => {
      const i = nodes.length ? colour.get(model.tree[nodes[0]]) : undefined;
      return i === undefined ? null : { class: "t" + i, title: wf.plainLabel(model, nodes[0], 3) };
    };
    const seen = document.pieces.reduce((sum, piece) => sum + piece.length, 0);
    const cut = document.length > seen ? "The first " + wf.count(seen) + " of " + wf.count(document.length) + " characters." : null;
    return {
      title: wf.text(document.id || "without a name"),
      kicker: "Document " + wf.count(document.row + 1) + " of " + wf.count(model.documents.n),
      name: "document " + document.id,
      lead: fields(document).length ? el("span", {}, fields(document).flatMap(([name, value], i) =>
        [i ? " · " : "", name + ": ", wf.text(value)])) : null,
      body: el("div", { class: "panel" }, el("div", { class: "split docpage" },
        wf.section("Its main path", wf.pathOf(model, 0, document.path.filter((node) => !model.hidden[node]), shares)),
        wf.section("Its text, coloured by trees that it has more of than most", legend(model, strongest, shares),
          document.length ? el("div", { class: "text", dir: "auto" }, textOf(document, mark)) : el("p", { class: "none" }, "No text."),
          cut ? el("p", { class: "none" }, cut) : null),
        wf.section("Its forest", wf.trees({ ...model, additive: true }, view.model || 0, document, "document", wf.share)))),
      csv: () => [["document", "node", "depth", "share", "label"], ...document.nodes.map((node, i) =>
        [document.id, node, model.depth[node], document.values[i], model.labels[node].join(" ")])],
    };
  };

  const legend = (model, strongest, shares) => el("ul", { class: "legend" }, strongest.slice(0, COLOURS).map((root, i) =>
    el("li", {}, el("span", { class: "swatch t" + i, "aria-hidden": "true" }),
      el("a", { href: wf.to.node(root) }, wf.plainLabel(model, root, 2)), " ", el("span", { class: "id" }, wf.share(shares.get(root))))));

  wf.pathOf = (model, index, path, shares) => {
    if (!path.length) return el("p", { class: "none" }, "None: it has no known word.");
    return el("ol", { class: "mainpath" }, path.map((node, depth) => {
      const bar = el("span", { class: "fillbar" });
      bar.style.width = (100 * (shares.get(node) || 0)).toFixed(1) + "%";
      const step = el("li", {}, el("a", { href: wf.to.node(node, index), class: "nodelink" }, wf.label(model, node, 4)),
        el("span", { class: "num" }, wf.share(shares.get(node) || 0)), el("span", { class: "track", "aria-hidden": "true" }, bar));
      step.style.marginLeft = 14 * depth + "px";
      return step;
    }));
  };
})();
