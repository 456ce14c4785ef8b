/* Slices of text on one forest: two of them side by side, a node over all of them. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const LISTED = 6, PALEST = 26, DARKEST = 88, PALE = 9; // per cent of a slice's colour

  /** The comparison of slices, where there is one; it belongs to the first model. */
  wf.slices = () => wf.models[0] && wf.models[0].slices;

  /** The pages about slices, one of which is open. */
  wf.slicePages = (open) => el("nav", { class: "zoom slicepages nopicture", "aria-label": "Slices" },
    [["slices", "Forest", wf.to.slices()], ["moved", "Changed company", wf.to.moved()],
      ["vocabulary", "Came and went", wf.to.vocabulary()]].map(([kind, name, href]) =>
      el("a", { href, class: kind === open ? "on" : null, "aria-current": kind === open ? "true" : null }, name)));

  // ---- how much of a node there is
  const rowOf = (found, node, i) => [found.names[i], found.share[node][i], found.low[node][i], found.high[node][i]];
  const rowsOf = (found, node) => found.names.map((_, i) => rowOf(found, node, i));

  /** How a node differs between two slices: logarithm (of base 2) of the ratio of shares, and whether intervals are apart. */
  function difference(found, node, a, b) {
    const [, x, lowX, highX] = rowOf(found, node, a), [, y, lowY, highY] = rowOf(found, node, b);
    if (x === null || y === null || x === y) return { log: 0, sure: false, ratio: "" };
    const log = Math.log2(y / x);
    const sure = [lowX, highX, lowY, highY].every((one) => one !== null) && (lowY > highX || lowX > highY);
    const times = 2 ** Math.abs(log), text = Number.isFinite(times) ? "×" + (times < 9.95 ? times.toFixed(1) : times.toFixed(0)) : "only";
    return { log, sure, ratio: text };
  }

  /** The widest gap of a node between any two slices: where colours end, whichever slices are chosen. */
  const widest = (found) => Math.max(1, ...found.share.map((shares) => {
    const known = shares.filter((share) => share > 0);
    return known.length ? Math.log2(Math.max(...known) / Math.min(...known)) : 0;
  }));

  /** Shares of a node over all slices: a curve with its changes, or bars. */
  function overSlices(found, node, { marks, widest } = {}) {
    const rows = rowsOf(found, node);
    if (!found.is_time) return wf.byGroup(rows, { name: "By slice", of: "Slice" });
    const changes = found.changes[node].map(([slice, before, after]) => [slice, Math.sign(after - before)]);
    const told = found.changes[node].map(([slice, before, after]) => el("li", {}, "from " + found.names[slice] + " on "
      + (after > before ? "more: " : "less: ") + wf.share(before) + " → " + wf.share(after)));
    return [wf.overTime(rows, { name: "Over slices of time, with 95 % intervals", changes, marks, widest }),
      el("ul", { class: "changelist" }, told.length ? told : el("li", { class: "none" }, "No change over time is sure."))];
  }

  /** On the page of a node: its shares by slice. */
  wf.nodeSlices = (node) => (wf.slices() ? el("div", { class: "changing" }, overSlices(wf.slices(), node)) : null);

  // ---- two slices side by side
  wf.views.slices = (view) => {
    const model = wf.models[0], found = model.slices, last = found.names.length - 1;
    const asked = (name, usual) => {
      const i = found.names.indexOf(wf.option(view.address, name));
      return i < 0 ? usual : i;
    };
    const deep = parseInt(wf.option(view.address, "depth"), 10), chosen = parseInt(wf.option(view.address, "node"), 10);
    const depth = Math.min(Number.isNaN(deep) ? wf.firstDepth(model) : Math.max(0, deep), model.levels - 1);
    const state = { a: asked("a", 0), b: asked("b", last), node: model.parent[chosen] === undefined ? null : chosen };
    const limit = widest(found), shown = model.parent.map((_, node) => node).filter((node) => !model.hidden[node]);
    const address = (more) => wf.to.slices({ a: found.names[state.a], b: found.names[state.b], node: state.node, depth: Number.isNaN(deep) ? null : depth, ...more });
    const differ = (node) => difference(found, node, state.a, state.b);

    const forest = el("div", { class: "forest deep" + Math.min(depth + 1, 4) }, model.roots.map((root) => wf.cells(model, 0, root, { depth })));
    const cells = [...forest.querySelectorAll(".cell")];
    cells.forEach((cell) => cell.querySelector(".meta").replaceWith(el("span", { class: "ratio" })));
    const side = el("aside", { class: "side", "aria-label": "The chosen node" }), detail = el("div", { class: "chosen", "aria-live": "polite" });
    const lists = el("div", { class: "pair sides" }), zoom = el("div", {}), controls = choices(found, state, () => change());

    /** Show what is chosen now: colours, lists, the chosen node. */
    function redraw() {
      const gaps = new Map(shown.map((node) => [node, differ(node)]));
      const sure = shown.filter((node) => gaps.get(node).sure).sort((i, j) => Math.abs(gaps.get(j).log) - Math.abs(gaps.get(i).log) || i - j);
      state.first ??= sure[0] ?? shown[0]; // it stays while slices change
      const node = state.node ?? state.first;
      cells.forEach((cell) => paint(cell, Number(cell.dataset.node), gaps.get(Number(cell.dataset.node)), node));
      lists.replaceChildren(...[[state.a, -1, "ina"], [state.b, 1, "inb"]].map(([slice, sign, kind]) => el("section", { class: "block " + kind },
        el("h3", {}, el("span", { class: "swatch", "aria-hidden": "true" }), "More in ", wf.text(found.names[slice])),
        listed(sure.filter((one) => Math.sign(gaps.get(one).log) === sign), gaps))));
      zoom.replaceChildren(wf.zoom(model, depth, (d) => address({ depth: d })) || "");
      detail.replaceChildren(...about(node, gaps.get(node)).flat(2).filter(Boolean));
    }
    /** Show what was chosen, and keep it in the address. */
    function change() {
      redraw();
      history.replaceState(history.state, "", address());
    }

    function paint(cell, node, gap, current) {
      const strength = Math.sqrt(Math.min(1, Math.abs(gap.log) / limit));
      const mix = !gap.log ? 0 : gap.sure ? PALEST + strength * (DARKEST - PALEST) : PALE;
      cell.classList.remove("ina", "inb");
      if (gap.log) cell.classList.add(gap.log > 0 ? "inb" : "ina");
      cell.classList.toggle("unsure", !gap.sure);
      cell.classList.toggle("current", node === current);
      cell.style.setProperty("--mix", mix.toFixed(0) + "%");
      cell.querySelector(".ratio").textContent = gap.sure ? gap.ratio : "";
      cell.title = [wf.about(model, node), ...[state.a, state.b].map((i) => found.names[i] + ": " + wf.told(rowOf(found, node, i))), verdict(gap)].join("\n");
      cell.href = address({ node });
    }

    const verdict = ({ log, sure, ratio }) => (!log ? "The same share." : (sure ? "" : "Not sure, intervals overlap: ")
      + (ratio === "only" ? "only in " : ratio.slice(1) + " times as much in ") + found.names[log > 0 ? state.b : state.a]);

    const listed = (nodes, gaps) => (nodes.length ? el("ol", { class: "noderows" }, nodes.slice(0, LISTED).map((node) => el("li", {},
      el("span", { class: "times" }, gaps.get(node).ratio),
      el("a", { href: address({ node }), class: "nodelink", "data-node": node }, wf.label(model, node, 4)))))
      : el("p", { class: "none" }, "No node: intervals overlap."));

    const about = (node, gap) => [
      el("h2", {}, el("a", { href: wf.to.node(node) }, wf.label(model, node, 5)), " ", el("span", { class: "id" }, "node " + node)),
      el("dl", { class: "facts" }, [state.a, state.b].map((i, k) => [
        el("dt", {}, el("span", { class: "swatch " + (k ? "inb" : "ina"), "aria-hidden": "true" }), wf.text(found.names[i])),
        el("dd", {}, wf.told(rowOf(found, node, i)))]), el("dt", {}, "Difference"), el("dd", {}, verdict(gap))),
      overSlices(found, node, { marks: [[state.a, "ina"], [state.b, "inb"]], widest: isNarrow() ? window.innerWidth - 60 : 400 }),
      el("p", { class: "morelinks nopicture" }, wf.link(wf.to.node(node), "Words of this node"))];

    /** A node that is pointed at is told beside the forest, or on a narrow screen below its tree. */
    function choose(event) {
      const link = event.target.closest("a[data-node]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      state.node = Number(link.dataset.node);
      change();
      const tree = link.closest(".tree");
      if (isNarrow() && tree) tree.after(detail);
      else side.append(detail);
      if (!tree) lists.querySelector('[data-node="' + state.node + '"]').focus({ preventScroll: true }); // it was drawn anew
      if (isNarrow()) detail.scrollIntoView({ block: "nearest" });
    }

    side.append(detail);
    redraw();
    return {
      title: "Slices",
      name: "slices",
      lead: wf.count(found.names.length) + (found.is_time ? " slices of time, " + found.names[0] + " to " + found.names[last] : " slices")
        + ". A node is orange or blue where that slice has more of it, pale where intervals overlap, so that it may be chance.",
      body: el("div", { class: "slices" }, wf.slicePages("slices"), controls,
        el("div", { class: "panel" }, el("div", { class: "split slicepage", onclick: choose },
          el("div", {}, lists, el("div", { class: "panelhead" }, legend(limit), zoom), forest), side))),
      csv: () => [["node", "depth", "slice", "share", "low", "high", "label"], ...shown.flatMap((node) => rowsOf(found, node).map(
        ([name, ...numbers]) => [node, model.depth[node], name, ...numbers.map((one) => one ?? ""), model.labels[node].join(" ")]))],
    };
  };

  const isNarrow = () => window.innerWidth <= 930; // as in the style

  /** Two slices to choose; in time the second moves along a line as well. */
  function choices(found, state, change) {
    const select = (key, name) => {
      const box = el("select", { name: key, "aria-label": name, onchange: () => set(key, box.selectedIndex) },
        found.names.map((one) => el("option", { value: one }, one)));
      return box;
    };
    const boxes = { a: select("a", "First slice"), b: select("b", "Second slice") };
    const line = el("input", { type: "range", name: "time", min: "0", max: String(found.names.length - 1), step: "1",
      "aria-label": "Second slice, over time", oninput: () => set("b", Number(line.value)) });
    function set(key, i) {
      state[key] = i;
      show();
      change();
    }
    function show() {
      [boxes.a.selectedIndex, boxes.b.selectedIndex, line.value] = [state.a, state.b, String(state.b)];
      line.setAttribute("aria-valuetext", found.names[state.b]);
    }
    show();
    return el("div", { class: "choices nopicture" },
      el("label", { class: "ina" }, el("span", { class: "swatch", "aria-hidden": "true" }), boxes.a), el("span", { class: "sub" }, "against"),
      el("label", { class: "inb" }, el("span", { class: "swatch", "aria-hidden": "true" }), boxes.b),
      found.is_time ? el("div", { class: "timeline" }, el("span", { class: "id" }, found.names[0]), line,
        el("span", { class: "id" }, found.names[found.names.length - 1])) : null);
  }

  /** The colours: more in the first slice at the left, in the second at the right. */
  const legend = (limit) => {
    const step = (kind, mix, title) => {
      const box = el("span", { class: "step " + kind, title });
      box.style.setProperty("--mix", mix + "%");
      return box;
    };
    const shares = [1, 0.5, 0.05], tints = shares.map((share) => PALEST + Math.sqrt(share) * (DARKEST - PALEST));
    const times = "×" + (2 ** limit).toFixed(0);
    return el("p", { class: "scale diverging" }, el("span", {}, "◂ " + times), el("span", { class: "steps", "aria-hidden": "true" },
      tints.map((mix) => step("ina", mix.toFixed(0))), step("ina", PALE), step("inb", PALE), tints.reverse().map((mix) => step("inb", mix.toFixed(0)))),
    el("span", {}, times + " ▸"), el("span", { class: "hint" }, "palest: not sure"));
  };
})();
