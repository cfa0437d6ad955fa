// "What would have to change": the nearest changes of one or two features that flip the decision.

const MAX_CHANGES = 5, SLICE_MS = 12, SEARCH_MS = 4000, LABEL_DISTANCE = 0.5;
const MAX_PAIRED = 12, MAX_TRIED = 24, MAX_TRIED_IN_PAIRS = 10;

let search = null;
const fixed = new Set(features.map((_, i) => i).filter((i) => features[i].is_fixed));

byId("may-change").parentElement.addEventListener("toggle", () => {
  byId("may-change").append(...features.map((feature, i) => {
    const box = make("input", { type: "checkbox", checked: !fixed.has(i) });
    box.onchange = () => (box.checked ? fixed.delete(i) : fixed.add(i));
    return make("label", {}, box, ` ${feature.name}`);
  }));
}, { once: true });

function distance(i, value) {
  const now = state.values[i], feature = features[i];
  if (feature.is_label || feature.is_text || value === null || now === null) return LABEL_DISTANCE;
  return Math.abs(findShare(feature, value) - findShare(feature, now));
}

function thin(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, k) => list[Math.round((k * (list.length - 1)) / (most - 1))]);
}

// Yields after each evaluation; collects changes that flip the decision.
function* seek(found) {
  const y = state.focus, threshold = thresholdOf(), yes = proba[y] >= threshold, sign = yes ? -1 : 1;
  const values = state.values.slice(), allowed = features.map((_, i) => i).filter((i) => !fixed.has(i));
  const tryOut = (changes) => {
    for (const [i, value] of changes) values[i] = value;
    const p = predict(values)[y];
    for (const [i] of changes) values[i] = state.values[i];
    const flips = p >= threshold !== yes;
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

function showFound(found, ranOut) {
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
  byId("search-note").textContent =
    ranOut ? `Stopped after ${SEARCH_MS / 1000} seconds: ${lines.length ? "these are the nearest changes until then." : "no change was found until then."}`
    : lines.length ? "" : "No change of one or two of these features flips the decision.";
}

// What was found for other values is no longer true.
function forgetChanges() {
  if (!search) return;
  search = null;
  byId("found").replaceChildren();
  byId("search-note").textContent = "";
}

byId("search").onclick = () => {
  forgetChanges();
  const found = new Map(), mine = seek(found), begin = performance.now();
  search = mine;
  byId("search-note").textContent = "Searching\u2026";
  const slice = () => {
    if (search !== mine) return;
    const start = performance.now();
    let done = false;
    while (!done && performance.now() - start < SLICE_MS) done = mine.next().done;
    const ranOut = !done && performance.now() - begin > SEARCH_MS;
    if (done || ranOut) showFound(found, ranOut);
    else setTimeout(slice, 0);
  };
  slice();
};
