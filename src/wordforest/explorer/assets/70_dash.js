/* Browser and server: Dash carries addresses and questions there, pages and words back; numbers come as bytes. */
(function () {
  "use strict";
  const wf = window.wordforest;
  const dash = (window.dash_clientside = window.dash_clientside || {});
  const questions = new Map();
  let number = 0, waiting = null;

  const late = (promise, ms) => Promise.race([promise,
    new Promise((_, fail) => setTimeout(() => fail(new Error("no answer within " + ms / 1000 + " s")), ms))]);

  async function get(path) {
    const response = await fetch(path);
    if (!response.ok) throw new Error("status " + response.status);
    return response;
  }

  wf.source = {
    view: (address) => late(new Promise((done) => {
      waiting = { address, done };
      dash.set_props("route", { data: address });
      if (wf.lastView && wf.lastView.address === address) done(wf.lastView); // the store does not tell of equal data
    }), 30000),
    words: (model) => get("/data/" + model + "/words").then((response) => response.json()),
    places: async (model) => {
      const response = await get("/data/" + model + "/places");
      if (response.status === 202) return null;
      return { places: new Float32Array(await response.arrayBuffer()), final: response.headers.get("X-Final") === "1" };
    },
    values: async (model, node) => {
      const response = await get("/data/" + model + "/node/" + node);
      const limit = Number(response.headers.get("X-Limit"));
      const values = Float32Array.from(new Int16Array(await response.arrayBuffer()), (value) => (value * limit) / 32767);
      return { values, limit };
    },
  };

  wf.complete = (prefix) => late(new Promise((done) => {
    number += 1;
    questions.set(number, done);
    dash.set_props("question", { data: { prefix, number } });
  }), 5000).catch(() => []);

  const quiet = (act) => (data) => {
    if (data) act(data);
    return dash.no_update;
  };
  dash.wordforest = {
    models: quiet((models) => setTimeout(() => wf.begin(models), 0)),
    view: quiet((view) => {
      wf.lastView = view;
      if (waiting && waiting.address === view.address) waiting.done(view);
    }),
    answer: quiet((answer) => {
      for (const [asked, done] of questions) {
        if (asked === answer.number) done(answer.words);
        if (asked <= answer.number) questions.delete(asked); // older ones were overtaken
      }
    }),
  };
})();
