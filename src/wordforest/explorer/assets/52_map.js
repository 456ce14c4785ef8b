/* The page of the map: a plane of words for every model, coloured by a node. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const known = []; // by model: plot, words, points; kept while the page lives

  wf.hasMap = true;

  async function load(index) {
    const state = (known[index] = known[index] || { plot: new wf.Plot() });
    if (!state.words) state.words = await wf.source.words(index);
    if (!state.points) state.points = await wf.source.points(index);
    return state;
  }

  async function paint(index, node, word, card) {
    const state = await load(index);
    const values = node === null ? null : await wf.source.values(index, node);
    const plot = state.plot;
    plot.marked = -1;
    plot.set(state.points, state.words, values && values.values, values && values.limit);
    plot.onpick = () => tellOf(plot, card);
    plot.onhover = (row) => { if (plot.marked < 0) tellOf(plot, card, row); };
    if (word && !plot.find(word, false)) unknown(card, word);
    else tellOf(plot, card);
    plot.element.dataset.ready = node === null ? "plain" : String(node);
  }

  const unknown = (card, word) => card.replaceChildren("No vector for ", wf.text(word), ".");
  const tellOf = (plot, card, row = plot.marked) => card.replaceChildren(...about(plot, row));

  function about(plot, row) {
    if (row < 0) return [el("span", { class: "none" }, "Point at a word to see it, click to keep it.")];
    const value = plot.values ? [" ", wf.chip(plot.values[row], plot.limit)] : [];
    return [wf.wordLink(plot.words[row]), ...value];
  }

  const nodeOffers = (model) => async (typed) => wf.nodesLike(model, typed, 12).map((node) => ({ word: String(node),
    shown: el("span", {}, el("span", { class: "id" }, String(node)), " ", wf.label(model, node, 4)) }));

  wf.views.map = (view) => {
    const node = view.node ?? null, word = wf.option(view.address, "word");
    const chosen = node === null ? null : view.model || 0;
    const painted = [];
    const panels = wf.models.map((model, index) => {
      const shown = chosen === index ? node : null;
      const card = el("p", { class: "pointed", "aria-live": "polite" }, "The map is being drawn …");
      const state = (known[index] = known[index] || { plot: new wf.Plot() });
      const plot = state.plot;
      const nodeBox = el("div", { class: "search inline" }), wordBox = el("div", { class: "search inline" });
      wf.searchBox(nodeBox, { label: "Colour by node: number or word", offer: nodeOffers(model), keep: false,
        choose: (found) => wf.go(wf.to.map({ node: found, model: index || null })) });
      wf.searchBox(wordBox, { label: "Find a word on the map", choose: (found) => {
        ready.then(() => (plot.find(found) ? tellOf(plot, card) : unknown(card, found)));
      } });
      const zoom = (factor) => () => plot.zoomAt(plot.width / 2, plot.height / 2, factor);
      const buttons = [["+", "Zoom in", zoom(1.6)], ["−", "Zoom out", zoom(1 / 1.6)], ["◻", "Show all", () => plot.reset()]];
      const ready = paint(index, shown, word, card);
      painted.push(ready.then(() => plot.marked >= 0 && plot));
      ready.catch((error) => card.replaceChildren("The map could not be loaded: " + error.message));
      return el("section", { class: "panel", "aria-label": model.name },
        wf.models.length > 1 ? el("h2", {}, model.name) : null,
        el("div", { class: "mapbar nopicture" }, nodeBox, wordBox),
        shown !== null ? el("p", { class: "colouredby" }, "Coloured by ",
          el("a", { href: wf.to.node(shown, index), class: "nodelink" }, wf.label(model, shown, 5)), " ",
          el("span", { class: "id" }, String(shown)), " · red negative, blue positive, grey exactly zero · ",
          wf.link(wf.to.map(), "no colour")) : null,
        el("div", { class: "plotframe" }, plot.element,
          el("div", { class: "zoombuttons nopicture" }, buttons.map(([sign, name, act]) =>
            el("button", { type: "button", "aria-label": name, title: name, onclick: act }, sign)))),
        card);
    });
    // of several maps the first that knows the word comes in sight, whichever was loaded first
    if (word) Promise.allSettled(painted).then((all) => all.find((one) => one.value)?.value.show());
    return {
      title: "Map of words", name: node === null ? "map" : "map node " + node,
      lead: wf.mapLead || null,
      body: wf.sideBySide(panels),
      csv: () => mapRows(chosen),
    };
  };

  function mapRows(chosen) {
    const rows = [["model", "word", "x", "y", "coefficient"]];
    known.forEach((state, index) => {
      if (!state.points) return;
      const values = index === chosen ? state.plot.values : null;
      state.words.forEach((word, row) => rows.push([wf.models[index].name, word, +state.points[2 * row].toFixed(5),
        +state.points[2 * row + 1].toFixed(5), values ? +values[row].toPrecision(5) : ""]));
    });
    return rows;
  }
})();
