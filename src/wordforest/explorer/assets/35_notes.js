/* What a person writes about a node: a name, a remark, and whether it is hidden. The server keeps it in the run folder. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const NAMES = { name: "Name", remark: "Remark" };

  /** Above a node: that it is hidden, its remark, and the words of a node that has a name. */
  wf.noteOf = (model, node) => {
    const { name, hidden, remark, words } = model.noted(node);
    return hidden || remark || name ? el("div", { class: "noted" },
      hidden ? el("p", { class: "none" }, "Hidden in the forest, with all below it.") : null,
      remark ? el("p", { class: "remark", dir: "auto" }, remark) : null,
      name && words.length ? el("p", { class: "none" }, "Its words: ", words.flatMap((word, i) => [i ? ", " : "", wf.wordLink(word)])) : null) : null;
  };

  /** The fields that change it, or why there are none. */
  wf.noteForm = (model, index, node) => {
    if (wf.offline) return null;
    const why = wf.source.write ? model.fixed : "Others can reach this page, so it takes no notes.";
    const about = (...content) => el("details", { class: "edit nopicture" }, el("summary", {}, "Rename, hide or annotate"), content);
    if (why) return about(el("p", { class: "none" }, why));
    const note = model.noted(node), told = el("p", { class: "told", role: "status" });
    const field = (kind, part, most) => el("label", {}, NAMES[part], el(kind, { name: part, maxlength: most, dir: "auto",
      placeholder: part === "name" ? model.labels[node].join(", ") : null }));
    const name = field("input", "name", "200"), remark = field("textarea", "remark", "2000"), box = el("input", { type: "checkbox", name: "hidden" });
    [name, remark].forEach((one) => { const input = one.querySelector("[name]"); input.value = note[input.name]; });
    box.checked = note.hidden;
    const value = (one) => one.querySelector("[name]").value.trim();
    const save = (event) => {
      event.preventDefault();
      wf.source.write(index, node, { name: value(name), hidden: box.checked, remark: value(remark) }).then((summary) => {
        wf.models[index] = wf.grow(summary);
        wf.open();
      }, (error) => (told.textContent = error.message));
    };
    return about(el("form", { onsubmit: save }, name, remark, el("label", { class: "check" }, box, "Hide it, and all below it"),
      el("button", { class: "more", type: "submit" }, "Save"), told));
  };

  /** Below a forest: the nodes that are not shown. */
  wf.hiddenNodes = (model, index) => {
    const nodes = model.parent.map((_, node) => node).filter((node) => model.noted(node).hidden);
    return nodes.length ? el("details", { class: "edit" }, el("summary", {}, nodes.length === 1 ? "One hidden node" : wf.count(nodes.length) + " hidden nodes"),
      el("ul", {}, nodes.map((node) => el("li", {}, wf.nodeLink(model, index, node))))) : null;
  };
})();
