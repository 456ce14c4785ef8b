/* Shares of a node over time, a curve in a band, and by group, bars with intervals; numbers of words likewise. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const { el, svg } = wf;
  const HEIGHT = 190, LEFT = 46, BOTTOM = 24, TOP = 10, RIGHT = 14, FIRST_GROUPS = 12, LETTER = 6.8, LINE = 14;

  /** Where times stand on a line, from 0 to 1: by number, by date, else one step apart. */
  function places(names) {
    for (const read of [Number, Date.parse]) {
      const values = names.map(read), low = Math.min(...values), high = Math.max(...values);
      if (values.every(Number.isFinite) && high > low) return values.map((value) => (value - low) / (high - low));
    }
    return names.map((_, i) => (names.length > 1 ? i / (names.length - 1) : 0.5));
  }

  /** Runs of rows that are known, as [first, last + 1]: bins without documents are gaps. */
  function runs(rows) {
    const found = [];
    rows.forEach((row, i) => {
      if (row[1] === null) return;
      if (i && rows[i - 1][1] !== null) found[found.length - 1][1] = i + 1;
      else found.push([i, i + 1]);
    });
    return found;
  }

  const isToldExactly = (share) => Math.abs(parseFloat(wf.share(share)) / 100 - share) < 1e-9;

  /** The end of an axis: not far above a value, and half of it is told exactly, too. */
  function ceiling(value, show) {
    const unit = 10 ** Math.floor(Math.log10(value || 0.01));
    const tops = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((step) => step * unit).filter((top) => top >= value);
    return tops.find((top) => show !== wf.share || isToldExactly(top / 2)) ?? tops[0];
  }

  /** Room for a curve: the page, or the left column of a node's where it has two. */
  const room = () => (window.innerWidth > 930 ? 0.54 * (window.innerWidth - 72) - 44 : window.innerWidth - 48);

  /** A curve of rows [time, value, low, high]. `changes` are [row, sign]: from where on there is more or less; `marks` are [row, class]. */
  wf.overTime = (rows, { name = "Over time", what = "Share over time", show = wf.share, changes = [], marks = [], widest = room() } = {}) => {
    if (!rows.length) return null;
    const width = Math.max(280, Math.min(620, widest));
    const top = ceiling(Math.max(...rows.map((row) => row[3] ?? row[1] ?? 0)), show);
    const at = places(rows.map((row) => row[0]));
    const x = (i) => LEFT + at[i] * (width - LEFT - RIGHT);
    const named = changeNames(changes, rows, x, width), first = TOP + LINE * named.lines, height = HEIGHT + LINE * named.lines;
    const y = (share) => first + (1 - share / top) * (height - first - BOTTOM);
    const point = (i, share) => x(i).toFixed(1) + "," + y(share).toFixed(1);
    const band = runs(rows).map(([first, last]) => {
      const some = Array.from({ length: last - first }, (_, i) => first + i);
      return svg("polygon", { class: "band", points: [...some.map((i) => point(i, rows[i][3] ?? rows[i][1])),
        ...some.reverse().map((i) => point(i, rows[i][2] ?? rows[i][1]))].join(" ") });
    });
    const curve = runs(rows).map(([first, last]) => svg("polyline", { class: "curve",
      points: Array.from({ length: last - first }, (_, i) => point(first + i, rows[first + i][1])).join(" ") }));
    const dot = (i, kind, r) => (rows[i][1] === null ? null : svg("circle", { class: "when" + kind, cx: x(i), cy: y(rows[i][1]), r },
      svg("title", {}, rows[i][0] + ": " + told(rows[i], show))));
    const dots = [...rows.map((_, i) => dot(i, "", rows.length > 60 ? 1.5 : 2.5)), ...marks.map(([i, kind]) => dot(i, " " + kind, 5))];
    const known = rows.filter((row) => row[1] !== null), [start, end] = [known[0], known[known.length - 1]];
    const about = known.length ? what + ": " + told(start, show) + " in " + start[0] + ", " + told(end, show) + " in " + end[0] : what;
    return wf.section(name, el("div", { class: "drawing" },
      svg("svg", { class: "changes", viewBox: "0 0 " + width + " " + height, width, height, role: "img", "aria-label": about },
        [0, top / 2, top].map((share) => [
          svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(share), y2: y(share) }),
          svg("text", { class: "tick", x: LEFT - 7, y: y(share) + 4, "text-anchor": "end" }, show(share))]),
        ticks(rows, x, width).map((i) => svg("text", { class: "tick", x: x(i), y: height - 6,
          "text-anchor": x(i) > width - 60 ? "end" : x(i) < LEFT + 20 ? "start" : "middle" }, String(rows[i][0]).slice(0, 10))),
        named.places.map(({ x, line, text }) => [
          svg("line", { class: "change", x1: x, x2: x, y1: LINE * (line + 1) + 2, y2: height - BOTTOM }),
          svg("text", { class: "tick changed", x, y: LINE * (line + 1) - 2, "text-anchor": "middle" }, text)]),
        band, curve, dots)), table("Time", rows, show));
  };

  /** Where changes and their names stand: between the times around them, names in as many lines as keep them apart. */
  function changeNames(changes, rows, x, width) {
    const ends = [];
    const places = changes.map(([i, sign]) => {
      const text = (sign > 0 ? "▲" : "▼") + String(rows[i][0]).slice(0, 10), half = LETTER * (text.length + 1) / 2;
      const middle = Math.min((x(Math.max(0, i - 1)) + x(i)) / 2, width - half);
      let line = ends.findIndex((end) => end < middle - half);
      if (line < 0) line = ends.length;
      ends[line] = middle + half;
      return { x: middle, line, text };
    });
    return { places, lines: ends.length };
  }

  /** Times to name: as many as have room, the first and the last among them. */
  function ticks(rows, x, width) {
    const found = [];
    rows.forEach((_, i) => {
      const clear = !found.length || x(i) - x(found[found.length - 1]) > 84;
      if (clear && (i === rows.length - 1 || x(rows.length - 1) - x(i) > 84 || i === 0)) found.push(i);
    });
    return found;
  }

  const told = (wf.told = (row, show = wf.share) => (row[1] === null ? "no documents"
    : show(row[1]) + (row[2] === null ? "" : " (" + show(row[2]) + " to " + show(row[3]) + ")")));

  wf.byGroup = (rows, { name = "By group", of = "Group", show = wf.share } = {}) => {
    if (!rows.length) return null;
    const sorted = [...rows].sort((a, b) => (b[1] ?? -1) - (a[1] ?? -1));
    const top = Math.max(...rows.map((row) => row[3] ?? row[1] ?? 0)) || 1, percent = (share) => (100 * share / top).toFixed(1) + "%";
    const line = (row) => {
      const bar = el("span", { class: "fillbar" }), range = row[2] === null ? null : el("span", { class: "range" });
      bar.style.width = percent(row[1] ?? 0);
      if (range) [range.style.left, range.style.width] = [percent(row[2]), percent(row[3] - row[2])];
      return el("li", { title: row[0] + ": " + told(row, show) }, el("span", { class: "word" }, wf.text(row[0])),
        el("span", { class: "track", "aria-hidden": "true" }, bar, range), el("span", { class: "num" }, row[1] === null ? "–" : show(row[1])));
    };
    return wf.section(name, wf.withMore(el("ol", { class: "bars wide" }), sorted, FIRST_GROUPS, of.toLowerCase() + "s", line), table(of, rows, show));
  };

  const table = (name, rows, show) => {
    const columns = ["Share", "Low", "High"].slice(0, rows.some((row) => row[2] !== null) ? 3 : 1);
    if (columns.length === 1) columns[0] = "Value";
    return el("details", { class: "numbers nopicture" }, el("summary", {}, "As a table"),
      el("table", {}, el("thead", {}, el("tr", {}, [name, ...columns].map((one) => el("th", { scope: "col" }, one)))),
        el("tbody", {}, rows.map((row) => el("tr", {}, el("th", { scope: "row" }, wf.text(row[0])),
          row.slice(1, 1 + columns.length).map((share) => el("td", {}, share === null ? "–" : show(share))))))));
  };
})();
