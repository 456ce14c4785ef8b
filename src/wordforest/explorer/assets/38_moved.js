/* Words in slices: those whose company changed, with what stood beside them before and after, and those that came and went. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const FIRST_WORDS = 30, FIRST_NEW = 14;
  const SIDES = ["before", "after"];

  const known = () => (wf.slices() ? wf.slices().moved : []);
  wf.hasMoved = (word) => known().some((row) => row.word === word);
  const wordLink = (word, title) => (wf.hasMoved(word) ? el("a", { href: wf.to.moved(word), class: "word", title }, wf.text(word))
    : wf.knows(word) ? el("a", { href: wf.to.word(word), class: "word", title }, wf.text(word)) : el("span", { class: "word", title }, wf.text(word)));
  const perMillion = (count) => (count === 0 ? "0" : count < 0.95 ? "< 1" : wf.count(Math.round(count)));
  const list = (parts) => parts.flatMap((part, i) => [i ? ", " : "", part]);

  // ---- words whose company changed
  wf.views.moved = (view) => (view.words.length ? one(known().find((row) => row.word === view.words[0])) : all());

  /** The nodes from a root down to where most of a word lies. */
  const path = (node, most) => (node === null ? null : el("p", { class: "way" }, wf.path(wf.models[0], node).flatMap((step, i) =>
    [i ? el("span", { class: "sub", "aria-hidden": "true" }, " › ") : null, el("a", { href: wf.to.node(step) }, wf.label(wf.models[0], step, most))])));
  const contexts = (words) => el("p", { class: "sub" }, words.length ? ["with ", list(words.map((word) => wordLink(word)))] : "with nothing of its own");

  function all() {
    const rows = known(), found = wf.slices();
    const line = (row) => el("li", {}, el("p", { class: "head" }, wordLink(row.word), row.moved ? el("span", { class: "badge" }, "moved") : null),
      SIDES.map((side, i) => el("div", { class: side }, el("p", { class: "id" }, row.slices[i]), path(row.nodes[i], 2), contexts(row.contexts[i]))));
    return {
      title: "Words that changed their company",
      name: "words that changed",
      lead: wf.count(rows.length) + (found.tested === null ? "" : " of " + wf.count(found.tested) + " words tested")
        + ", those first that moved to another branch, then by the size of the change. A word leads to its contexts, examples and frequency.",
      body: el("div", {}, wf.slicePages("moved"), rows.length ? wf.withMore(el("ol", { class: "movedwords" }), rows, FIRST_WORDS, "words", line)
        : el("p", { class: "none" }, "None: no word is surely among other words than before.")),
      csv: () => csv(rows),
    };
  }

  function one(row) {
    const found = wf.slices(), model = wf.models[0];
    const side = (i) => wf.section(row.slices[i] + " · " + wf.count(row.counts[i]) + " times", path(row.nodes[i], 4), contexts(row.contexts[i]),
      el("ul", { class: "examples" }, row.examples[i].map((line) => example(line, row.word))));
    const nodes = (name, numbers) => (numbers.length ? wf.section(name, el("ul", {}, numbers.map((node) =>
      el("li", {}, wf.nodeLink(model, 0, node))))) : null);
    const rows = found.names.map((name, i) => [name, row.frequency[i], null, null]);
    const often = { name: "Times in a million words", what: "Times in a million words", of: "Slice", show: perMillion };
    return {
      title: wf.text(row.word),
      kicker: wf.link(wf.to.moved(), "Words that changed their company"),
      name: row.word + " by slice",
      lead: (row.moved ? "It moved to another branch of the forest. " : "") + "Effect " + wf.score(row.effect) + ", p "
        + (row.p < 0.001 ? "< 0.001" : "= " + row.p.toFixed(3)) + " (permutations of documents).",
      actions: [wf.knows(row.word) ? wf.link(wf.to.word(row.word), "Its forest") : null],
      body: el("div", { class: "panel" }, wf.slicePages("moved"), el("div", { class: "pair" }, side(0), side(1)), el("div", { class: "pair" },
        found.is_time ? wf.overTime(rows, often) : wf.byGroup(rows, often),
        el("div", {}, nodes("Nodes around it more in " + row.slices[1], row.gained), nodes("Nodes around it less in " + row.slices[1], row.lost)))),
      csv: () => csv([row]),
    };
  }

  /** A line of text with its word marked, after the name of its document. */
  function example(line, word) {
    const at = line.indexOf(": "), [name, text] = at < 0 ? ["", line] : [line.slice(0, at), line.slice(at + 2)];
    const parts = text.split("[" + word + "]");
    return el("li", { dir: "auto" }, parts.flatMap((part, i) => [i ? el("mark", {}, word) : null, part]), " ", el("span", { class: "id" }, wf.text(name)));
  }

  const csv = (rows) => [["word", "moved", "effect", "p", "before", "after", "node before", "node after", "contexts before", "contexts after"],
    ...rows.map((row) => [row.word, row.moved ?? "", row.effect, row.p, ...row.slices, ...row.nodes.map((node) => node ?? ""),
      ...row.contexts.map((words) => words.join(" "))])];

  // ---- words that came and went
  const KINDS = { came: [["came", "went"], "Came and went"], more: [["more", "less"], "More and less"] };
  const names = (is_time) => (is_time ? { came: "Came", went: "Went", more: "More from then on", less: "Less from then on" }
    : { came: "Here, hardly elsewhere", went: "Elsewhere, hardly here", more: "More than elsewhere", less: "Less than elsewhere" });

  wf.views.vocabulary = (view) => {
    const found = wf.slices(), asked = wf.option(view.address, "kind") === "more" ? "more" : "came", [kinds] = KINDS[asked];
    const told = names(found.is_time), rows = found.vocabulary.filter((row) => kinds.includes(row[2]));
    const word = ([name, , kind, before, after]) => el("li", {}, wordLink(name, perMillion(before) + " → " + perMillion(after) + " in a million words"),
      el("span", { class: "id" }, perMillion(kind === "went" || kind === "less" ? before : after)));
    const cell = (kind, i) => {
      const some = rows.filter((row) => row[1] === i && row[2] === kind);
      return el("div", {}, el("h3", {}, told[kind] + (some.length ? "" : ": none")),
        some.length ? wf.withMore(el("ul", { class: "newwords" }), some, FIRST_NEW, "words", word) : null);
    };
    const used = found.names.map((_, i) => i).filter((i) => rows.some((row) => row[1] === i));
    return {
      title: "Words that came and went",
      name: "words that " + kinds.join(" and "),
      lead: found.is_time ? "Under each slice the words that are used far more, or far less, from it on, and how often in a million words while they are."
        : "Under each slice the words that it uses far more, or far less, than all others, and how often in a million words.",
      body: el("div", {}, wf.slicePages("vocabulary"), el("div", { class: "zoom nopicture kinds", role: "group", "aria-label": "Which words" },
        Object.entries(KINDS).map(([kind, [, name]]) => el("a", { href: wf.to.vocabulary(kind === "more" ? kind : null),
          class: kind === asked ? "on" : null, "aria-current": kind === asked ? "true" : null }, name))),
      el("ol", { class: "vocabulary" }, used.map((i) => el("li", {}, el("h2", {}, wf.text(found.names[i])), kinds.map((kind) => cell(kind, i))))),
      used.length ? null : el("p", { class: "none" }, "None.")),
      csv: () => [["word", "slice", "kind", "before", "after"], ...rows.map(([name, i, ...rest]) => [name, found.names[i], ...rest])],
    };
  };
})();
