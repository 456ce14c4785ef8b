/* A field that offers words while one types: arrows choose, Enter takes the chosen or the first, Escape closes. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const WORDS = 6, NODES = 5;
  let fields = 0;

  /** Fill `box` with a combobox. `choose` gets the word; `offer` (prefix -> promise of items) may replace the words.
   * Where nothing is offered, what was typed is taken as it stands if it is `free`. */
  wf.searchBox = (box, { label, text, choose, offer, keep, free = !offer }) => {
    const id = "offers-" + (fields += 1);
    const ask = offer || ((prefix) => wf.complete(prefix).then((words) => words.map((word) => ({ word }))));
    const list = el("ul", { class: "offers", role: "listbox", id, "aria-label": label, hidden: true });
    const input = el("input", { type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": id,
      "aria-autocomplete": "list", "aria-label": label, placeholder: label, autocomplete: "off", autocapitalize: "none",
      spellcheck: "false", maxlength: "200", dir: "auto" });
    input.value = text || "";
    let items = [], at = -1, asked = 0;

    const close = () => {
      list.hidden = true;
      at = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const mark = (next) => {
      at = next;
      [...list.children].forEach((option, i) => option.setAttribute("aria-selected", i === at ? "true" : "false"));
      if (at >= 0) {
        input.setAttribute("aria-activedescendant", list.children[at].id);
        list.children[at].scrollIntoView({ block: "nearest" });
      } else input.removeAttribute("aria-activedescendant");
    };
    const take = (item) => {
      asked += 1; // answers under way are late now
      close();
      input.value = keep === false ? "" : item.word;
      choose(item.word, item);
    };
    const show = (found) => {
      items = found;
      list.replaceChildren(...found.map((item, i) => el("li", { role: "option", id: id + "-" + i, "aria-selected": "false",
        "data-kind": item.kind,
        onmousedown: (event) => { event.preventDefault(); take(item); } }, item.shown || wf.text(item.word))));
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", found.length ? "true" : "false");
      at = -1;
      const status = document.getElementById("status");
      if (status) status.textContent = found.length ? found.length + " offered" : "";
    };
    const update = async () => {
      const number = (asked += 1);
      const prefix = input.value.trim();
      const found = prefix ? await ask(prefix) : [];
      if (number === asked) show(found);
    };

    /** Enter may come before the offers do: they are asked for again then. */
    const takeFirst = async () => {
      const typed = input.value.trim(), number = (asked += 1);
      if (!typed) return;
      const [first] = await ask(typed);
      if (number === asked && (first || free)) take(first || { word: typed });
    };

    input.addEventListener("input", update);
    input.addEventListener("blur", close);
    input.addEventListener("focus", () => input.select());
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) update();
        else mark((at + (event.key === "ArrowDown" ? 1 : items.length + (at < 0 ? 0 : -1))) % items.length);
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (at >= 0) take(items[at]);
        else takeFirst();
      } else if (event.key === "Escape") {
        if (list.hidden) input.value = "";
        close();
      }
    });
    box.replaceChildren(input, list);
    return input;
  };

  /** Words, nodes by their labels, and documents, all for the one field at the top. */
  wf.offers = async (typed) => {
    const [words, strong, documents] = await Promise.all([wf.complete(typed), wf.source.nodes(typed), wf.documents() ? wf.source.documents(typed) : []]);
    const nodes = (model, index) => [...new Set([...wf.nodesLike(model, typed, NODES), ...strong[index]])].slice(0, NODES);
    const kind = (name) => el("span", { class: "kind" }, name);
    return [
      ...words.slice(0, WORDS).map((word) => ({ kind: "word", word, href: wf.to.word(word) })),
      ...wf.models.flatMap((model, index) => nodes(model, index).map((node) => ({ kind: "node", word: typed,
        href: wf.to.node(node, index), shown: el("span", {}, kind((wf.models.length > 1 ? model.name + " " : "") + (model.hidden[node] ? "hidden " : "") + "node " + node), wf.label(model, node, 4)) }))),
      ...documents.map(({ row, id, head }) => ({ kind: "document", word: typed, href: wf.to.document(row),
        shown: el("span", {}, kind("document"), wf.text(id), " ", el("span", { class: "begin" }, head)) })),
    ];
  };

  /** Nodes with a number; those with a word in name or label that begins so, or with it in their remark. */
  wf.nodesLike = (model, typed, most) => {
    const wanted = typed.toLowerCase().replace(/^node\s+/, ""), begins = (text) => (" " + text.toLowerCase()).includes(" " + wanted);
    const nodes = model.parent.map((_, node) => node);
    const rank = (node) => (String(node) === wanted ? 0 : model.labels[node].some(begins) ? 1 : begins(model.noted(node).remark) ? 2 : 3);
    return nodes.filter((node) => rank(node) < 3).sort((a, b) => rank(a) - rank(b) || a - b).slice(0, most);
  };

  document.addEventListener("keydown", (event) => {
    const field = document.querySelector("#search input");
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (event.key === "/" && field && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
})();
