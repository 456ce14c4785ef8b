/* Browser and server: addresses and questions go there, pages and words come back; numbers come as bytes. */
(function () {
  "use strict";
  const wf = window.wordforest;

  async function get(path, seconds = 30) {
    const response = await fetch(path, { signal: AbortSignal.timeout(1000 * seconds) });
    if (!response.ok) throw new Error("status " + response.status);
    return response;
  }
  /** Keep what was written about a node; the token is the page's own. */
  async function write(model, node, note) {
    const response = await fetch("/data/" + model + "/node/" + node, { method: "POST", body: JSON.stringify(note),
      headers: { "Content-Type": "application/json", "X-Token": token.content } });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  const token = document.querySelector('meta[name="token"]');
  const json = (path, seconds) => get(path, seconds).then((response) => response.json());

  wf.source = {
    write: token && write,
    nodes: (word) => json("/data/nodes?word=" + encodeURIComponent(word), 5).catch(() => wf.models.map(() => [])),
    view: (address) => json("/data/view?address=" + encodeURIComponent(address)),
    documents: (text) => json("/data/documents?text=" + encodeURIComponent(text), 5).catch(() => []),
    words: (model) => json("/data/" + model + "/words"),
    points: async (model) => new Float32Array(await (await get("/data/" + model + "/points", 300)).arrayBuffer()),
    values: async (model, node) => {
      const response = await get("/data/" + model + "/node/" + node);
      const limit = Number(response.headers.get("X-Limit"));
      const values = Float32Array.from(new Int16Array(await response.arrayBuffer()), (value) => (value * limit) / 32767);
      return { values, limit };
    },
  };
  wf.complete = (prefix) => json("/data/complete?prefix=" + encodeURIComponent(prefix), 5).catch(() => []);
  json("/data/models").then(wf.begin);
})();
