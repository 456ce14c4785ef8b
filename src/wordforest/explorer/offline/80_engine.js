/* The questions that a server would answer, answered from the data inside this file. */
(async function () {
  "use strict";
  const wf = window.wordforest;
  wf.offline = true;
  const PAGE = 20, LINES = 100, FEW = 5, MOST_COMPARED = 5, NEIGHBORS = 15, LISTED = 8;

  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer;

  /** What this file holds: JSON, compressed. */
  async function unzip(text) {
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  /** Codes of all kept words, row after row; what cosines see of them, and the lengths of that. */
  function unpack(data) {
    const n = data.kept.length, m = data.summary.parent.length;
    const codes = new Float32Array(n * m);
    if (data.codes.dense) codes.set(new Int16Array(bytes(data.codes.dense)));
    else {
      const values = new Int16Array(bytes(data.codes.values)), nodes = new Uint32Array(bytes(data.codes.nodes));
      const ends = new Uint32Array(bytes(data.codes.ends));
      for (let row = 0, i = 0; row < n; row += 1) for (; i < ends[row]; i += 1) codes[row * m + nodes[i]] = values[i];
    }
    const weights = data.summary.weights, seen = weights ? new Float32Array(n * m) : codes, norms = new Float32Array(n);
    for (let row = 0; row < n; row += 1) {
      let sum = 0;
      for (let i = row * m; i < (row + 1) * m; i += 1) {
        codes[i] *= data.limit[row] / 32767;
        if (weights) seen[i] = Math.sqrt(Math.max(codes[i], 0)) * weights[i - row * m];
        sum += seen[i] * seen[i];
      }
      norms[row] = Math.sqrt(sum);
    }
    return { codes, seen, norms, n, m };
  }

  class Model {
    constructor(data) {
      Object.assign(this, unpack(data));
      this.data = data;
      this.rows = new Map(data.kept.map((word, row) => [word, row]));
      this.spelling = new Map([...data.kept].reverse().map((word) => [word.toLowerCase(), word])); // of equal ones the first
    }

    /** A word as this model spells it. */
    spelled(word) {
      return this.rows.has(word) ? word : this.spelling.get(word.toLowerCase().trim()) ?? word;
    }

    /** The nodes that a word has most of; of equal ones the deepest. */
    strong(word) {
      const vector = this.vector(this.spelled(word)) || [], { depth } = this.data.summary;
      return [...vector.keys()].filter((node) => vector[node]).sort((a, b) => Math.abs(vector[b]) - Math.abs(vector[a]) || depth[b] - depth[a] || a - b).slice(0, LISTED);
    }

    vector(word) {
      const row = this.rows.get(word);
      return row === undefined ? null : this.codes.subarray(row * this.m, (row + 1) * this.m);
    }

    comparable(word) {
      const row = this.rows.get(word);
      return this.seen.subarray(row * this.m, (row + 1) * this.m);
    }

    near(word) {
      for (let length = Math.min(word.length, 20); length > 0; length -= 1) {
        const found = this.complete(word.slice(0, length), 3);
        if (found.length) return found;
      }
      return [];
    }

    complete(prefix, most) {
      const wanted = prefix.toLowerCase().trim(), found = [];
      if (!wanted) return found;
      const exact = this.spelled(prefix);
      if (this.rows.has(exact)) found.push(exact);
      for (const word of this.data.kept) {
        if (found.length >= most) break;
        if (word !== exact && word.toLowerCase().startsWith(wanted)) found.push(word);
      }
      return found;
    }

    nearest(query, without, most) {
      const norm = Math.sqrt(query.reduce((sum, v) => sum + v * v, 0)) || 1;
      const scores = [];
      for (let row = 0; row < this.n; row += 1) {
        if (without.includes(row)) continue;
        let dot = 0;
        for (let i = 0, at = row * this.m; i < this.m; i += 1) dot += this.seen[at + i] * query[i];
        scores.push([row, this.norms[row] ? dot / (this.norms[row] * norm) : 0]);
      }
      scores.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      return scores.slice(0, most).map(([row, score]) => [this.data.kept[row], score]);
    }

    forest(word) {
      const vector = this.vector(word);
      if (!vector) return { word, found: false, near: this.near(word) };
      const row = this.rows.get(word), nodes = [], values = [];
      vector.forEach((value, node) => {
        if (value !== 0) [nodes.push(node), values.push(value)];
      });
      return { word, found: true, rank: this.data.rank[row], count: this.data.counts ? this.data.counts[row] : null, nodes, values };
    }

    word(word) {
      const view = this.forest(word);
      if (view.found) {
        view.neighbors = view.nodes.length ? this.nearest(this.comparable(word), [this.rows.get(word)], NEIGHBORS) : [];
      }
      return view;
    }

    compare(words) {
      const found = words.filter((word) => this.rows.has(word));
      const vectors = found.map((word) => this.vector(word));
      const parent = this.data.summary.parent, shared = [], parting = [], together = [];
      const branch = vectors.map((vector) => wf.strengths(this.data.summary, vector));
      for (let node = 0; node < this.m && found.length > 1; node += 1) {
        const values = vectors.map((vector) => vector[node]), sizes = branch.map((sizes) => sizes[node]);
        const clash = values.some((value) => value > 0) && values.some((value) => value < 0);
        together[node] = !clash && sizes.every((size) => size > 0);
        if (!clash && values.every((value) => value !== 0)) {
          shared.push({ node, values, size: Math.min(...values.map(Math.abs)) });
        }
        if (!together[node] && (parent[node] < 0 || together[parent[node]]) && sizes.some((size) => size > 0)) {
          const told = clash ? values : sizes;
          parting.push({ node, values: told, size: Math.max(...told) - Math.min(...told) });
        }
      }
      [shared, parting].forEach((list) => list.sort((a, b) => b.size - a.size || a.node - b.node));
      return {
        forests: words.map((word) => this.forest(word)), compared: found,
        cosines: found.map((a) => found.map((b) => this.cosine(a, b))),
        shared: shared.slice(0, LISTED), parting: parting.slice(0, LISTED), n_shared: shared.length, n_parting: parting.length,
      };
    }

    cosine(a, b) {
      const u = this.comparable(a), v = this.comparable(b), size = this.norms[this.rows.get(a)] * this.norms[this.rows.get(b)];
      return size ? u.reduce((sum, value, i) => sum + value * v[i], 0) / size : 0;
    }

    analogy(words) {
      const unknown = [...new Set(words)].filter((word) => !this.rows.has(word));
      if (unknown.length) return { unknown, neighbors: [] };
      const rows = words.map((word) => this.rows.get(word));
      const [a, b, c] = words.map((word, i) => this.comparable(word).map((value) => value / (this.norms[rows[i]] || 1)));
      return { unknown, neighbors: this.nearest(b.map((value, i) => value - a[i] + c[i]), rows, 10) };
    }
  }

  /** The documents that this file keeps. */
  class Documents {
    constructor({ documents, words, says, changes, typical }) {
      documents.forEach((document) => (document.words = document.words.map((i) => words[i])));
      Object.assign(this, { documents, says, changes, typical });
    }

    ofNode(node, start, most) {
      if (node === null) return { node, start, total: this.documents.length, documents: this.documents.slice(start, start + most) };
      const share = (document) => document.values[document.nodes.indexOf(node)] || 0;
      const rank = (document) => (this.typical[node].indexOf(document.row) + 1 || Infinity);
      const found = this.documents.filter((document) => share(document) > 0 || rank(document) < Infinity);
      found.sort((a, b) => (rank(a) === rank(b) ? share(b) - share(a) : rank(a) - rank(b)) || a.row - b.row);
      return { node, start, total: found.length, documents: found.slice(start, start + most) };
    }

    node(node) {
      return { ...this.changes[node], ...this.ofNode(node, 0, 5) };
    }

    /** Lines of a word, or of the words that say most of a node. */
    context(query, sort) {
      const sought = typeof query === "number" ? this.says[query] : [query];
      const searched = sort === "strength" ? this.ofNode(query, 0, this.documents.length).documents : this.documents;
      const lines = [], flat = (text) => text.replace(/\s+/g, " ");
      let found = 0;
      const within = searched.filter(({ row, id, pieces, tokens, words }) => {
        const before = found, wanted = words.map(([word]) => sought.includes(word));
        tokens.forEach((token, i) => {
          if (!wanted[token]) return;
          found += 1;
          const left = pieces.slice(Math.max(0, 2 * i - 60), 2 * i + 1).join(""), right = pieces.slice(2 * i + 2, 2 * i + 62).join("");
          if (sort === "strength" && found - before > FEW) return;
          if (lines.length < LINES) lines.push([row, id, flat(left).slice(-90), pieces[2 * i + 1], flat(right).slice(0, 90)]);
        });
        return found > before;
      });
      const key = { left: (line) => line[2].toLowerCase().trim().split(" ").reverse().join(" "), right: (line) => line[4].toLowerCase().trim() }[sort];
      if (key) lines.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
      return { query, sort, words: sought, lines, found, with: within.length, searched: searched.length };
    }

    offers(text) {
      const wanted = text.toLowerCase().trim(), head = (document) => flatHead(document.pieces);
      return this.documents.filter((document) => (document.id + " " + head(document)).toLowerCase().includes(wanted))
        .slice(0, 5).map((document) => ({ row: document.row, id: document.id, head: head(document) }));
    }
  }
  const flatHead = (pieces) => pieces.slice(0, 40).join("").slice(0, 90).replace(/\s+/g, " ").trim();

  if (!window.DecompressionStream) {
    document.getElementById("stage").textContent = "This page needs a browser that can decompress: any of 2023 or newer.";
    return;
  }
  const data = await unzip(document.getElementById("data").textContent);
  const models = data.map((one) => new Model(one));
  const documents = data[0].collection ? new Documents(data[0].collection) : null;
  if (documents) data[0].summary.documents.kept = documents.documents.length;
  const missing = (message) => ({ kind: "missing", message });

  function decode(part) {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  }

  const spelled = (word) => models.map((model) => model.spelled(word)).find((one, i) => models[i].rows.has(one)) ?? word;

  function view(address) {
    const [path, query] = address.split("?");
    const [, kind, ...more] = path.split("/");
    const options = new URLSearchParams(query || "");
    const rest = more.join("/"), index = Number(options.get("model") || 0);
    let words = rest.split(",").filter(Boolean).map(decode).map(spelled);
    const example = !words.length && !options.get("w") && (kind === "compare" || kind === "analogy" || kind === "across");
    if (example) words = kind === "across" ? data[0].examples.compare.slice(0, 1) : data[0].examples[kind];
    if (!models[index]) return missing("There is no such model.");
    const cards = models[index].data.cards;
    if (!kind && !rest) return { kind: "forest", words: [], panels: [] };
    if (kind === "node" && cards[Number(rest)]) {
      return { kind, model: index, panels: [cards[Number(rest)]], ...(documents && !index ? documents.node(Number(rest)) : {}) };
    }
    if (["documents", "document", "context"].includes(kind)) return documents ? ofDocuments(kind, rest, options) : missing("There are no documents.");
    if (kind === "slices" || kind === "moved" || kind === "vocabulary") {
      const asked = spelled(rest ? decode(rest) : options.get("w") || "");
      if (!wf.slices()) return missing("There are no slices.");
      return asked && !wf.hasMoved(asked) ? missing("That word is not among those that changed their company.")
        : { kind, words: asked ? [asked] : [], panels: [] };
    }
    if (kind === "word" || kind === "across") {
      const word = example ? words[0] : spelled(rest ? decode(rest) : options.get("w") || "");
      return { kind, example, words: word ? [word] : [], panels: word ? models.map((model) => model.word(word)) : [] };
    }
    if (kind === "compare" && words.length <= MOST_COMPARED) {
      const distinct = [...new Set(words)];
      return { kind, example, words: distinct, panels: models.map((model) => model.compare(distinct)) };
    }
    if (kind === "analogy" && words.length <= 3) {
      return { kind, example, words, panels: words.length === 3 ? models.map((model) => model.analogy(words)) : [] };
    }
    if (kind === "map") {
      const node = options.get("node") === null ? null : Number(options.get("node"));
      if (node === null || cards[node]) return { kind, words: [], node, model: index, panels: [] };
    }
    return missing("There is no such page or node.");
  }

  function ofDocuments(kind, rest, options) {
    const n = data[0].summary.documents.n, view = { kind, model: 0, words: [], panels: [] };
    if (kind === "documents") return { ...view, ...documents.ofNode(rest ? Number(rest) : null, Number(options.get("from") || 0), PAGE) };
    if (kind === "document") {
      const document = documents.documents.find((one) => one.row === Number(rest));
      return document ? { ...view, document } : missing("This file does not keep that document.");
    }
    const query = options.get("node") !== null ? Number(options.get("node")) : rest ? spelled(decode(rest)) : options.get("w") || "";
    return { ...view, ...documents.context(query, options.get("sort") || "document"), total: n };
  }

  wf.prefix = "#";
  wf.knows = (word) => models.some((model) => model.rows.has(word));
  wf.complete = (prefix) => Promise.resolve(
    [...new Set(models.flatMap((model) => model.complete(prefix, 10)))].slice(0, 10));
  wf.source = {
    view: (address) => Promise.resolve({ ...view(address), address }),
    documents: (text) => Promise.resolve(documents.offers(text)),
    nodes: (word) => Promise.resolve(models.map((model) => model.strong(word))),
    words: (index) => Promise.resolve(models[index].data.kept),
    points: (index) => Promise.resolve(
      Float32Array.from(new Int16Array(bytes(models[index].data.points)), (value) => (1.25 * value) / 32767)),
    values: (index, node) => {
      const { codes, n, m } = models[index];
      const values = Float32Array.from({ length: n }, (_, row) => codes[row * m + node]);
      return Promise.resolve({ values, limit: wf.limit(Array.from(values)) });
    },
  };
  wf.begin(data.map((one) => one.summary));
})();
