/* A field that offers words while one types: arrows choose, Enter takes, Escape closes. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  const NODES = 5;
  let fields = 0;

  /** Fill `box` with a combobox. `choose` gets the word; `offer` (prefix -> promise of items) may replace the words.
   * What is typed has to be one of the offers then, unless it is `free`. */
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
        else if (!free && items.length) take(items[0]);
        else if (free && input.value.trim()) take({ word: input.value.trim() });
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
    const [words, documents] = await Promise.all([wf.complete(typed), wf.documents() ? wf.source.documents(typed) : []]);
    const kind = (name) => el("span", { class: "kind" }, name);
    return [
      ...words.map((word) => ({ kind: "word", word, href: wf.to.word(word) })),
      ...wf.models.flatMap((model, index) => wf.nodesLike(model, typed, NODES).map((node) => ({ kind: "node", word: typed,
        href: wf.to.node(node, index), shown: el("span", {}, kind("node " + node), wf.label(model, node, 4)) }))),
      ...documents.map(({ row, id, head }) => ({ kind: "document", word: typed, href: wf.to.document(row),
        shown: el("span", {}, kind("document"), wf.text(id), " ", el("span", { class: "begin" }, head)) })),
    ];
  };

  /** Nodes with a number, or with a word in their label that begins so. */
  wf.nodesLike = (model, typed, most) => {
    const wanted = typed.toLowerCase(), found = [];
    for (let node = 0; node < model.parent.length && found.length < most; node += 1) {
      const isOne = model.labels[node].some((word) => word.toLowerCase().startsWith(wanted));
      if (isOne || String(node) === wanted) found.push(node);
    }
    return found;
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
