// Answers, rows to start from, the link to a state, and the start of the page.

// ---- Answer ------------------------------------------------------------------------------------

let later = 0;

function answer() {
  forgetChanges();
  try {
    proba = predict(state.values);
  } catch (error) {
    byId("problem").textContent = error.message;
    return;
  }
  if (byId("problem").textContent) byId("problem").textContent = "";
  const best = showBars();
  showDecision();
  showInTime();
  clearTimeout(later);
  later = setTimeout(() => {
    const { lower, upper } = bars[best].whole.dataset;
    byId("spoken").textContent = `${classes[best]}: ${percent(proba[best])}`
      + (intervals ? `, from ${percents(Number(lower), Number(upper))}` : "");
    writeLink();
  }, 400);
}

// ---- Rows --------------------------------------------------------------------------------------

const rowNumber = make("input", { type: "number", min: 1, max: rows.names.length, "aria-label": "Place among the rows of this page" });
rowNumber.onchange = () => {
  const place = Math.round(rowNumber.valueAsNumber);
  if (place >= 1) startFrom(Math.min(place, rows.names.length) - 1);
};

function startFrom(row) {
  state.row = row;
  state.start = valuesOf(row);
  state.values = state.start.slice();
  showRow();
  features.forEach((_, i) => showFeature(i));
  answer();
}

function showRow() {
  if (state.row < 0) {
    byId("row-note").textContent = `The middle of each range and the first label${features.some((one) => one.is_text) ? ", texts are missing" : ""}.`;
    return;
  }
  rowNumber.value = state.row + 1;
  const typical = state.row === rows.typical ? ": its values are common and, of such rows, its probabilities are nearest to the shares of the classes" : "";
  const truth = rows.classes ? ` Its true class is ${classes[rows.classes[state.row]]}.` : "";
  byId("row-note").textContent = `Row ${rows.names[state.row]} of the data${typical}.${truth} ${rows.note}`;
}

if (rows.names.length) {
  const n = rows.names.length, button = (text, onclick) => make("button", { type: "button", textContent: text, onclick });
  const move = (by) => startFrom((state.row + by + n) % n);
  // Goes through the rows in an order.
  const goThrough = (order, text) => {
    let at = -1;
    return button(text, () => startFrom(order[at = (at + 1) % order.length]));
  };
  byId("row-tools").append(
    button("Typical row", () => startFrom(rows.typical)), button("Previous", () => move(-1)), rowNumber,
    make("span", { textContent: n === 1 ? "of 1 row" : `of ${n} rows` }), button("Next", () => move(1)),
    goThrough(rows.unsure, "Next unsure row"));
  if (rows.wrong && rows.wrong.length) byId("row-tools").append(goThrough(rows.wrong, "Next wrong row"));
}

// ---- Link --------------------------------------------------------------------------------------

function writeLink() {
  const changed = {};
  state.values.forEach((value, i) => { if (value !== state.start[i]) changed[i] = value; });
  const parts = { row: state.row, class: state.focus, threshold: state.threshold, level: state.level, changed };
  if (location.protocol === "about:") return;  // within another page, which has the address
  history.replaceState(null, "", `#state=${encodeURIComponent(JSON.stringify(parts))}`);
}

// Returns whether the address had a state, and takes it.
function readLink() {
  const match = /^#state=(.*)$/.exec(location.hash);
  if (!match) return false;
  try {
    const parts = JSON.parse(decodeURIComponent(match[1]));
    state.row = parts.row >= 0 && parts.row < rows.names.length ? parts.row : rows.typical;
    state.start = valuesOf(state.row);
    state.values = state.start.slice();
    for (const [i, value] of Object.entries(parts.changed)) if (i in features) state.values[i] = value;
    if (parts.class in classes) state.focus = Number(parts.class);
    if (parts.level >= 0 && parts.level < N_LEVELS) state.level = Math.floor(parts.level);
    if (parts.threshold !== null && parts.threshold >= 0 && parts.threshold <= 1) state.threshold = Number(parts.threshold);
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

// ---- Start -------------------------------------------------------------------------------------

function showState() {
  byId("class").value = state.focus;
  byId("level").value = state.level;
  showThreshold();
  showRow();
  features.forEach((_, i) => showFeature(i));
  answer();
}

byId("class").append(...classes.map((name, y) => make("option", { value: y, textContent: name })));
const showThreshold = () => { byId("threshold").value = Number((100 * thresholdOf()).toFixed(1)); };
byId("class").onchange = () => { state.focus = Number(byId("class").value); showThreshold(); answer(); };
byId("threshold").onchange = () => {
  let problem = "";
  try {
    const number = parseNumber(byId("threshold").value);
    if (number < 0 || number > 100) throw new Error("A threshold is at least 0 and at most 100.");
    state.threshold = number === null ? null : number / 100;
  } catch (error) {
    problem = error.message;
  }
  byId("threshold-note").textContent = problem;
  showState();
};
byId("undo").onclick = () => startFrom(state.row);
window.addEventListener("hashchange", () => { if (readLink()) showState(); });
window.addEventListener("beforeprint", () => {
  features.forEach((_, i) => drawFeature(i));
  if (isComplete) slowParts.forEach(showPart);
});
showState();
page.startLater = startLater;
performance.mark("ready");
