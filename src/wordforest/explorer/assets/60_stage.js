/* The stage: which page is open, how one comes to another, and what is drawn. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el } = wf;
  let shown = null, lastKind = null, wasPicking = false, busy = null;

  wf.address = () => (wf.prefix ? location.hash.slice(1) || "/" : location.pathname + location.search);

  /** Open a page of ours and remember it in the history. */
  wf.go = (href) => {
    history.replaceState({ y: window.scrollY }, "");
    wasPicking = Boolean(document.activeElement && document.activeElement.closest(".picker"));
    history.pushState({ y: 0 }, "", href);
    open();
  };

  function open() {
    const address = wf.address();
    clearTimeout(busy);
    busy = setTimeout(() => document.getElementById("stage").classList.add("busy"), 200);
    wf.source.view(address).then((view) => {
      if (view.address === wf.address()) show(view);
    }, (error) => show({ kind: "missing", message: "The server did not answer. Is it still running? (" + error.message + ")" }));
  }
  wf.open = open;

  function show(view) {
    const stage = document.getElementById("stage");
    clearTimeout(busy);
    stage.classList.remove("busy");
    shown = wf.views[view.kind](view);
    stage.replaceChildren(...head(shown), shown.body);
    stage.dataset.kind = view.kind;
    stage.dataset.address = view.address || "";
    document.title = (stage.querySelector("h1").textContent || "").slice(0, 80) + " · wordforest";
    markNavigation(view.kind);
    if (lastKind !== null) settle(stage, view.kind);
    else requestAnimationFrame(() => performance.mark("wordforest-shown")); // what benchmarks call the first paint
    lastKind = view.kind;
  }

  function head(view) {
    const files = ["csv", "svg", "png"].map((kind) => el("button", { type: "button", "data-file": kind,
      "aria-label": "Download this view as " + kind.toUpperCase(), onclick: () => wf.download(kind, shown) }, kind.toUpperCase()));
    const actions = (view.actions || []).filter(Boolean);
    return [el("div", { class: "head" },
      el("div", { class: "headtext" },
        view.kicker ? el("p", { class: "kicker" }, view.kicker) : null,
        view.crumbs && view.crumbs.length ? el("nav", { class: "crumbs", "aria-label": "Path from the root" },
          view.crumbs.flatMap((crumb) => [crumb, el("span", { "aria-hidden": "true" }, " › ")])) : null,
        el("h1", { tabindex: "-1" }, view.title),
        view.lead ? el("p", { class: "lead" }, view.lead) : null),
      el("div", { class: "tools nopicture" }, actions.map((link) => (link.classList.add("action"), link)),
        el("div", { class: "files", role: "group", "aria-label": "Download" }, files)))];
  }

  /** Focus and place after a change of page, so that a keyboard and a reader are where the news is. */
  function settle(stage, kind) {
    const state = history.state || {};
    const field = wasPicking && kind === "compare" ? stage.querySelector(".picker input") : null;
    (field || stage.querySelector("h1")).focus({ preventScroll: true });
    wasPicking = false;
    window.scrollTo(0, state.y || 0);
  }

  function markNavigation(kind) {
    const page = { forest: "/", node: "/", across: "/across", compare: "/compare", analogy: "/analogy", map: "/map",
      documents: "/documents", document: "/documents", context: "/documents",
      slices: "/slices", moved: "/slices", vocabulary: "/slices" }[kind];
    document.querySelectorAll("header.top nav a").forEach((link) => {
      if (link.getAttribute("href") === wf.prefix + page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }

  // ---- start
  wf.begin = (models) => {
    wf.models = models.map(wf.grow);
    history.scrollRestoration = "manual";
    if (models.length > 1) document.querySelector("header.top nav").append(wf.el("a", { href: wf.prefix + "/across", title: "One word across models" }, "Across"));
    if (wf.documents()) document.querySelector("header.top nav").append(wf.link(wf.to.documents(null), "Documents"));
    if (wf.slices()) document.querySelector("header.top nav").append(wf.link(wf.to.slices(), "Slices"));
    wf.searchBox(document.getElementById("search"), { keep: false, free: true, offer: wf.offers,
      label: wf.documents() ? "Search words, nodes, documents" : "Search words and nodes",
      choose: (word, item) => wf.go(item.href || wf.to.word(word)) });
    window.addEventListener("popstate", open); // of hashes as well
    document.addEventListener("click", follow);
    open();
  };

  function follow(event) {
    const link = event.target.closest && event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const href = link.getAttribute("href");
    if (href.startsWith(wf.prefix + "/") && !href.startsWith("//")) {
      event.preventDefault();
      wf.go(href);
    }
  }
})();
