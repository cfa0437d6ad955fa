// The page that explores a model. Its data are in the elements "model" (export_json) and "page".
(function () {
  "use strict";
  const MAX_STEPS = 10, MAX_BARS = 8, MAX_CHANGES = 5, SLICE_MS = 12, SEARCH_MS = 4000;
  const MAX_PAIRED = 12, MAX_TRIED = 24, MAX_TRIED_IN_PAIRS = 10, LABEL_DISTANCE = 0.5;
  const UNSEEN = "\u0000another value";

  const byId = (id) => document.getElementById(id);
  // Browsers read the text of a template faster than that of a script.
  const readJson = (id) => JSON.parse(byId(id).content.textContent);
  const page = readJson("page"), model = priorwise.load(readJson("model"));
  const { features, rows } = page, classes = model.classes.map(String);
  const typical = features.map((feature) => feature.typical);
  const state = { row: -1, values: typical.slice(), start: typical.slice(), focus: 0, threshold: 0.5 };
  let proba = [];

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // ---- Texts -----------------------------------------------------------------------------------

  function showValue(feature, value) {
    if (value === null) return "missing";
    if (value === UNSEEN) return "another value";
    if (feature.is_date) {
      const text = new Date(value * 1000).toISOString();
      return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
    }
    if (typeof value !== "number") return String(value);
    return String(Number(value.toPrecision(6)));
  }

  const percent = (p) => `${(100 * p).toFixed(1)}%`;
  const signed = (x) => (x < 0 ? "\u2212" : "+") + Math.abs(x).toFixed(2);

  // ---- The model -------------------------------------------------------------------------------

  function asRow(values) {
    const row = Object.create(null);
    features.forEach((feature, i) => { row[feature.name] = values[i]; });
    return row;
  }

  const predict = (values) => model.predictProba(asRow(values));

  // ---- Probabilities ---------------------------------------------------------------------------

  const bars = classes.map((name) => {
    const value = make("div", { className: "value" }), mark = make("div", { className: "mark" });
    const text = make("span", { className: "number" });
    const whole = make("div", { className: "bar" }, make("span", { textContent: name }),
      make("div", { className: "track" }, value, mark), text);
    mark.hidden = true;
    return { whole, value, mark, text };
  });
  let showAll = classes.length <= MAX_BARS;
  const more = make("button", { type: "button", onclick() { showAll = !showAll; showBars(); } });

  function showBars() {
    const best = proba.indexOf(Math.max(...proba));
    const order = proba.map((_, y) => y);
    if (classes.length > MAX_BARS) order.sort((a, b) => proba[b] - proba[a]);
    order.forEach((y, place) => {
      const bar = bars[y];
      bar.whole.classList.toggle("top", y === best);
      bar.whole.dataset.probability = proba[y];
      bar.whole.hidden = !showAll && place >= MAX_BARS;
      bar.whole.style.display = bar.whole.hidden ? "none" : "";
      bar.whole.style.order = place;
      bar.value.style.width = `${100 * proba[y]}%`;
      bar.text.textContent = percent(proba[y]);
      bar.mark.hidden = y !== state.focus;
      bar.mark.style.left = `${100 * state.threshold}%`;
    });
    more.textContent = showAll ? "Show fewer classes" : `Show all ${classes.length} classes`;
    return best;
  }

  // ---- Contributions ---------------------------------------------------------------------------

  const steps = Array.from({ length: MAX_STEPS + 3 }, () => {
    const what = make("span", { className: "what" }), part = make("div", { className: "part" });
    const zero = make("div", { className: "zero" }), text = make("span", { className: "number" });
    const whole = make("div", { className: "step" }, what,
      make("div", { className: "track" }, zero, part), text);
    byId("steps").append(whole);
    return { whole, what, part, zero, text };
  });

  function listSteps() {
    const { bias, terms } = priorwise.explain(model, asRow(state.values));
    const width = classes.length, y = state.focus;
    // Of two classes, the log-odds against the other one.
    const own = (lines, at) => lines[at + y] - (width === 2 ? lines[at + 1 - y] : 0);
    const parts = features.map(({ place }) => own(terms, place * width));
    const order = parts.map((_, i) => i).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]));
    const shown = order.slice(0, order.length > MAX_STEPS + 1 ? MAX_STEPS : MAX_STEPS + 1);
    const rest = order.slice(shown.length);
    const lines = [["before any feature", own(bias, 0), "sum"]];
    for (const i of shown)
      lines.push([`${features[i].name} = ${showValue(features[i], state.values[i])}`, parts[i], ""]);
    if (rest.length)
      lines.push([`${rest.length} other features`, rest.reduce((sum, i) => sum + parts[i], 0), ""]);
    lines.push(["log-odds", lines.reduce((sum, line) => sum + line[1], 0), "sum"]);
    return lines;
  }

  function showSteps() {
    const lines = listSteps();
    let at = 0, low = 0, high = 0;
    const ends = lines.map(([, size, kind], n) => {
      const from = kind ? 0 : at, to = kind ? size : at + size;
      if (n < lines.length - 1) at += size;
      low = Math.min(low, from, to);
      high = Math.max(high, from, to);
      return [from, to];
    });
    const scale = 100 / (high - low || 1);
    steps.forEach((step, n) => {
      step.whole.style.display = n < lines.length ? "" : "none";
      if (n >= lines.length) return;
      const [text, size, kind] = lines[n], [from, to] = ends[n];
      if (step.what.textContent !== text) step.what.textContent = step.what.title = text;
      step.text.textContent = signed(size);
      step.whole.dataset.size = size;
      step.part.className = `part ${kind || (size < 0 ? "against" : "for")}`;
      step.part.style.left = `${scale * (Math.min(from, to) - low)}%`;
      step.part.style.width = `${scale * Math.abs(to - from)}%`;
      step.zero.style.left = `${-scale * low}%`;
    });
  }

  function showDecision() {
    const p = proba[state.focus], name = classes[state.focus];
    byId("decision").textContent = p >= state.threshold
      ? `Now decided for ${name}: ${percent(p)} is at least ${percent(state.threshold)}.`
      : `Now decided against ${name}: ${percent(p)} is below ${percent(state.threshold)}.`;
  }

  // ---- Features --------------------------------------------------------------------------------

  // Where a number lies among those of the data, from 0 to 1.
  function findShare(feature, value) {
    const { values, share } = feature;
    let i = values.findIndex((one) => one >= value);
    if (i < 0) return 1;
    if (i === 0 || values[i] === value) return share[i];
    const part = (value - values[i - 1]) / (values[i] - values[i - 1]);
    return share[i - 1] + part * (share[i] - share[i - 1]);
  }

  function findNearest(values, value) {
    let best = 0;
    values.forEach((one, i) => { if (Math.abs(one - value) < Math.abs(values[best] - value)) best = i; });
    return best;
  }

  function makeNumber(feature, i, id) {
    const { values } = feature, last = values.length - 1;
    const slider = make("input", { type: "range", id, min: 0, max: last, step: 1 });
    const field = make("input", { type: "number", step: "any", "aria-label": `${feature.name}, exact value` });
    const missing = make("input", { type: "checkbox" });
    slider.oninput = () => set(i, values[Number(slider.value)]);
    field.onchange = () => {
      const number = field.valueAsNumber;
      set(i, Number.isFinite(number) ? number : null);
    };
    missing.onchange = () => set(i, missing.checked ? null : values[Number(slider.value)]);
    const range = make("div", { className: "range" }, make("span", { textContent: showValue(feature, values[0]) }));
    if (feature.may_be_missing)
      range.append(make("label", { className: "missing" }, missing, "missing"));
    range.append(make("span", { textContent: showValue(feature, values[last]) }));
    function show(value) {
      missing.checked = value === null;
      if (document.activeElement !== field || field.valueAsNumber !== value)
        field.value = value === null ? "" : value;
      if (value !== null && values[Number(slider.value)] !== value) slider.value = findNearest(values, value);
      slider.setAttribute("aria-valuetext", showValue(feature, value));
    }
    return { show, parts: [make("div", { className: "controls" }, slider, field), range] };
  }

  function makeMenu(feature, i, id) {
    const choices = [...feature.values, null, UNSEEN];
    const menu = make("select", { id });
    choices.forEach((value, place) => {
      const note = feature.share && value !== null && value !== UNSEEN
        ? ` (${percent(feature.share[place])} of rows)` : "";
      menu.append(make("option", { value: place, textContent: showValue(feature, value) + note }));
    });
    menu.onchange = () => set(i, choices[Number(menu.value)]);
    const show = (value) => { menu.value = choices.indexOf(value); };
    return { show, parts: [make("div", { className: "controls menu" }, menu)] };
  }

  const controls = features.map((feature, i) => {
    const id = `feature-${i}`, control = (feature.is_label ? makeMenu : makeNumber)(feature, i, id);
    const whole = make("div", { className: "feature" },
      make("label", { className: "name", htmlFor: id, textContent: feature.name }), ...control.parts);
    byId("features").append(whole);
    return { whole, show: control.show };
  });

  function showFeature(i) {
    controls[i].show(state.values[i]);
    controls[i].whole.classList.toggle("changed", state.values[i] !== state.start[i]);
  }

  function set(i, value) {
    state.values[i] = value;
    showFeature(i);
    answer();
  }

  // ---- Answer ----------------------------------------------------------------------------------

  let later = 0, drawing = 0, stepsMs = 0;

  // Where contributions take long, they are drawn after the probabilities, and once for several moves.
  function showStepsInTime() {
    cancelAnimationFrame(drawing);
    const draw = () => {
      const start = performance.now();
      showSteps();
      stepsMs += 0.3 * (performance.now() - start - stepsMs);
      byId("steps").removeAttribute("aria-busy");
    };
    if (stepsMs < SLICE_MS) return draw();
    byId("steps").setAttribute("aria-busy", "true");
    drawing = requestAnimationFrame(() => setTimeout(draw, 0));
  }

  function answer() {
    search = null;
    byId("found").replaceChildren();
    byId("search-note").textContent = "";
    try {
      proba = predict(state.values);
      byId("problem").textContent = "";
    } catch (error) {
      byId("problem").textContent = error.message;
      return;
    }
    const best = showBars();
    showStepsInTime();
    showDecision();
    clearTimeout(later);
    later = setTimeout(() => {
      byId("spoken").textContent = `${classes[best]}: ${percent(proba[best])}`;
      writeLink();
    }, 400);
  }

  // ---- Rows ------------------------------------------------------------------------------------

  const rowNumber = make("input", { type: "number", min: 1, max: rows.numbers.length, "aria-label": "Place among the rows of this page" });
  rowNumber.onchange = () => {
    const place = Math.round(rowNumber.valueAsNumber);
    if (place >= 1) startFrom(Math.min(place, rows.numbers.length) - 1);
  };

  function valuesOf(row) {
    return row < 0 ? typical.slice() : features.map((_, i) => readCell(rows.columns[i][row], i));
  }

  // Labels are places among the values of the feature; -1 is a label that training did not have.
  function readCell(cell, i) {
    if (cell === null || !features[i].is_label) return cell;
    return cell < 0 ? UNSEEN : features[i].values[cell];
  }

  function startFrom(row) {
    state.row = row;
    state.start = valuesOf(row);
    state.values = state.start.slice();
    showRow();
    features.forEach((_, i) => showFeature(i));
    answer();
  }

  function showRow() {
    rowNumber.value = state.row < 0 ? "" : state.row + 1;
    const truth = state.row >= 0 && rows.classes ? ` Its true class is ${classes[rows.classes[state.row]]}.` : "";
    byId("row-note").textContent = state.row < 0
      ? (rows.numbers.length ? "A typical row: the median of each number and the commonest label." : "The middle of each range and the first label.")
      : `Row ${rows.numbers[state.row]} of the data, counted from 0.${truth}`;
  }

  let ranked = {};

  // Goes through the rows in the order of a score, which is computed when first asked for.
  function stepThrough(name, score) {
    if (!ranked[name]) {
      const scores = rows.numbers.map((_, row) => score(predict(valuesOf(row)), row));
      ranked[name] = { order: scores.map((_, row) => row).sort((a, b) => scores[a] - scores[b]), at: -1 };
    }
    const { order } = ranked[name];
    ranked[name].at = (ranked[name].at + 1) % order.length;
    startFrom(order[ranked[name].at]);
  }

  if (rows.numbers.length) {
    const button = (text, onclick) => make("button", { type: "button", textContent: text, onclick });
    const move = (by) => startFrom((Math.max(state.row, by > 0 ? -1 : 0) + by + rows.numbers.length) % rows.numbers.length);
    byId("row-tools").append(
      button("Typical row", () => startFrom(-1)), button("Previous", () => move(-1)), rowNumber,
      make("span", { textContent: `of ${rows.numbers.length} rows` }), button("Next", () => move(1)),
      button("Next unsure row", () => stepThrough("unsure", (p) => Math.max(...p))));
    if (rows.classes)
      byId("row-tools").append(button("Next wrong row", () => stepThrough("wrong", (p, row) => p[rows.classes[row]])));
  }

  // ---- What would have to change ---------------------------------------------------------------

  let search = null;
  const mayChange = features.map((feature) => {
    const box = make("input", { type: "checkbox", checked: true });
    byId("may-change").append(make("label", {}, box, ` ${feature.name}`));
    return box;
  });

  function distance(i, value) {
    const now = state.values[i], feature = features[i];
    if (feature.is_label || value === null || now === null) return LABEL_DISTANCE;
    return Math.abs(findShare(feature, value) - findShare(feature, now));
  }

  function thin(list, most) {
    if (list.length <= most) return list;
    return Array.from({ length: most }, (_, k) => list[Math.round((k * (list.length - 1)) / (most - 1))]);
  }

  // Yields after each evaluation; collects changes that flip the decision.
  function* seek(found) {
    const y = state.focus, yes = proba[y] >= state.threshold, sign = yes ? -1 : 1;
    const values = state.values.slice(), allowed = features.map((_, i) => i).filter((i) => mayChange[i].checked);
    const tryOut = (changes) => {
      for (const [i, value] of changes) values[i] = value;
      const p = predict(values)[y];
      for (const [i] of changes) values[i] = state.values[i];
      const flips = p >= state.threshold !== yes;
      if (flips) {
        const key = changes.map(([i]) => i).join("-");
        const size = changes.reduce((sum, [i, value]) => sum + distance(i, value), 0);
        if (!found.has(key) || found.get(key).size > size) found.set(key, { changes, size, p });
      }
      return [flips, sign * p];
    };
    const useful = [];
    for (const i of allowed) {
      const tried = [];
      for (const value of thin(features[i].values, MAX_TRIED).filter((one) => one !== state.values[i])) {
        const [flips, effect] = tryOut([[i, value]]);
        if (!flips) tried.push([value, effect]);
        yield;
      }
      tried.sort((a, b) => b[1] - a[1]);
      if (tried.length) useful.push([i, tried.slice(0, MAX_TRIED_IN_PAIRS), tried[0][1]]);
    }
    useful.sort((a, b) => b[2] - a[2]);
    const paired = useful.slice(0, MAX_PAIRED), pairs = [];
    paired.forEach((a, k) => paired.slice(0, k).forEach((b) => pairs.push([a, b])));
    pairs.sort((one, other) => other[0][2] + other[1][2] - one[0][2] - one[1][2]);
    for (const [[i, ownValues], [j, otherValues]] of pairs)
      for (const [value] of ownValues)
        for (const [other] of otherValues) {
          tryOut([[i, value], [j, other]]);
          yield;
        }
  }

  function showFound(found, isDone, ranOut) {
    const nearest = (n) => [...found.values()].filter((one) => one.changes.length === n)
      .sort((a, b) => a.size - b.size).slice(0, MAX_CHANGES);
    const lines = [...nearest(1), ...nearest(2)].map(({ changes, p }) => {
      const text = changes.map(([i, value]) =>
        `${features[i].name}: ${showValue(features[i], state.values[i])} \u2192 ${showValue(features[i], value)}`).join(" and ");
      const apply = () => {
        for (const [i, value] of changes) { state.values[i] = value; showFeature(i); }
        answer();
      };
      const line = make("li", {}, make("span", {}, make("strong", { textContent: text }), ` gives ${percent(p)}`),
        make("button", { type: "button", textContent: "Apply", "aria-label": `Apply: ${text}`, onclick: apply }));
      line.dataset.probability = p;
      return line;
    });
    byId("found").replaceChildren(...lines);
    byId("search-note").textContent = !isDone ? "Searching\u2026"
      : ranOut ? "Stopped after four seconds: these are the nearest changes until then."
      : lines.length ? "" : "No change of one or two of these features flips the decision.";
  }

  byId("search").onclick = () => {
    const found = new Map(), mine = seek(found), begin = performance.now();
    search = mine;
    byId("found").replaceChildren();
    byId("search-note").textContent = "Searching\u2026";
    const slice = () => {
      if (search !== mine) return;
      const start = performance.now();
      let done = false;
      while (!done && performance.now() - start < SLICE_MS) done = mine.next().done;
      const ranOut = !done && performance.now() - begin > SEARCH_MS;
      if (done || ranOut) showFound(found, true, ranOut);
      else setTimeout(slice, 0);
    };
    slice();
  };

  // ---- Link ------------------------------------------------------------------------------------

  function writeLink() {
    const changed = {};
    state.values.forEach((value, i) => { if (value !== state.start[i]) changed[i] = value; });
    const parts = { row: state.row, class: state.focus, threshold: state.threshold, changed };
    history.replaceState(null, "", `#state=${encodeURIComponent(JSON.stringify(parts))}`);
  }

  // Returns whether the address had a state, and takes it.
  function readLink() {
    const match = /^#state=(.*)$/.exec(location.hash);
    if (!match) return false;
    try {
      const parts = JSON.parse(decodeURIComponent(match[1]));
      state.row = parts.row >= 0 && parts.row < rows.numbers.length ? parts.row : -1;
      state.start = valuesOf(state.row);
      state.values = state.start.slice();
      for (const [i, value] of Object.entries(parts.changed)) if (i in features) state.values[i] = value;
      if (parts.class in classes) state.focus = Number(parts.class);
      if (parts.threshold >= 0 && parts.threshold <= 1) state.threshold = Number(parts.threshold);
    } catch (error) {
      return false;
    }
    return true;
  }

  byId("link").onclick = async () => {
    writeLink();
    let note = "Copied.";
    try {
      await navigator.clipboard.writeText(location.href);
    } catch (error) {
      note = "The address of this page now keeps the state: copy it from the address bar.";
    }
    byId("link-note").textContent = note;
  };

  // ---- Start -----------------------------------------------------------------------------------

  function showState() {
    byId("class").value = state.focus;
    byId("threshold").value = Number((100 * state.threshold).toFixed(3));
    showRow();
    features.forEach((_, i) => showFeature(i));
    answer();
  }

  byId("bars").style.display = "grid";
  byId("bars").append(...bars.map((bar) => bar.whole));
  if (classes.length > MAX_BARS) byId("bars").after(more);
  classes.forEach((name, y) => byId("class").append(make("option", { value: y, textContent: name })));
  byId("class").onchange = () => { state.focus = Number(byId("class").value); answer(); };
  byId("threshold").onchange = () => {
    const number = byId("threshold").valueAsNumber;
    if (number >= 0 && number <= 100) state.threshold = number / 100;
    showState();
  };
  byId("undo").onclick = () => startFrom(state.row);
  byId("find").oninput = () => {
    const part = byId("find").value.trim().toLowerCase();
    features.forEach((feature, i) => {
      controls[i].whole.style.display = feature.name.toLowerCase().includes(part) ? "" : "none";
    });
  };
  window.addEventListener("hashchange", () => { if (readLink()) showState(); });
  if (!readLink()) {
    try {
      const first = predict(state.values);
      state.focus = classes.length === 2 ? 1 : first.indexOf(Math.max(...first));
    } catch (error) { /* shown by answer */ }
  }
  showState();
  performance.mark("first-answer");
})();
