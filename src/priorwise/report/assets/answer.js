// The probabilities and their intervals as bars, and what each feature adds to the log-odds as a waterfall.

const MAX_STEPS = 10, FAST_MS = 4, IDLE_MS = 150;

// ---- Probabilities -----------------------------------------------------------------------------

// The page comes with the bars of the first answer.
const bars = Array.from(byId("bars").children, (whole) => ({
  whole, value: whole.querySelector(".value"), mark: whole.querySelector(".mark"),
  text: whole.querySelector(".number"), reach: whole.querySelector(".reach"),
  ends: whole.querySelector(".ends"),
}));
let showsAll = classes.length <= nBars;
const more = make("button", { type: "button", onclick() { showsAll = !showsAll; showBars(); } });
if (classes.length > nBars) byId("bars").after(more);

function showBars() {
  const best = proba.indexOf(Math.max(...proba));
  const order = proba.map((_, y) => y);
  if (classes.length > nBars) order.sort((a, b) => proba[b] - proba[a]);
  order.forEach((y, place) => {
    const bar = bars[y];
    bar.whole.classList.toggle("top", y === best);
    bar.whole.style.display = showsAll || place < nBars ? "" : "none";
    bar.whole.style.order = place;
    if (bar.shown !== proba[y]) {
      bar.shown = proba[y];
      bar.whole.dataset.probability = proba[y];
      bar.value.style.width = `${100 * proba[y]}%`;
      bar.text.textContent = percent(proba[y]);
    }
    bar.mark.hidden = y !== state.focus;
    if (y === state.focus) bar.mark.style.left = `${100 * thresholdOf()}%`;
  });
  more.textContent = showsAll ? "Show fewer classes" : `Show all ${classes.length} classes`;
  return best;
}

// ---- Intervals ---------------------------------------------------------------------------------

function* showIntervals() {
  if (!intervals) return;
  const { lower, upper } = priorwise.findIntervals(
    proba, intervals.calibration, intervals.levels[state.level].deviations);
  bars.forEach(({ whole, reach, ends }, y) => {
    whole.dataset.lower = lower[y];
    whole.dataset.upper = upper[y];
    reach.style.left = `${100 * lower[y]}%`;
    reach.style.width = `${100 * (upper[y] - lower[y])}%`;
    ends.textContent = percents(lower[y], upper[y]);
  });
}

// Called when the browser has read what contributions and intervals need, which stands behind the
// model so that the first answer does not wait for it.
let isComplete = false;
function startLater() {
  const { inner, spread } = readJson("later");
  [...priorwise.listTrees(model.model)].forEach((trees, t) => {
    if (inner[t]) trees.addInner(priorwise.unpack(inner[t]));
  });
  isComplete = true;
  if (spread) startIntervals(spread);
  showInTime();
}

function startIntervals(spread) {
  intervals = spread;
  byId("level").append(...spread.levels.map(({ level }, place) =>
    make("option", { value: place, textContent: percent(level).replace(".0", "") })));
  byId("level").value = state.level;
  byId("level").onchange = () => { state.level = Number(byId("level").value); answer(); };
  byId("level-tools").hidden = false;
}

// ---- Decision ----------------------------------------------------------------------------------

function showDecision() {
  const p = proba[state.focus], t = thresholdOf(), name = `\u201c${classes[state.focus]}\u201d`;
  byId("decision").textContent = p >= t
    ? `Now it says ${name}: ${percent(p)} is at least ${percent(t)}.`
    : `Now it does not say ${name}: ${percent(p)} is less than ${percent(t)}.`;
}

// ---- Contributions -----------------------------------------------------------------------------

const steps = [];

function makeStep() {
  const what = make("span", { className: "what" }), part = make("div", { className: "part" });
  const zero = make("div", { className: "zero" }), text = make("span", { className: "number" });
  const whole = make("div", { className: "step" }, what,
    make("div", { className: "track" }, zero, part), text);
  byId("steps").append(whole);
  return { whole, what, part, zero, text };
}

function* listSteps() {
  const { bias, terms } = yield* priorwise.explainInSteps(model, asRow(state.values));
  const width = classes.length, y = state.focus;
  const own = (lines, at) => lines[at + y];
  // Parts of a column add up to what it adds, but for the words that a text has.
  const all = [], [read] = model.read(asRow(state.values));
  features.forEach((feature, i) => {
    let sum = 0;
    feature.places.forEach((place, k) => {
      const part = own(terms, place * width), word = k > 0 && read[place] ? feature.words[k - 1] : undefined;
      if (word === undefined) sum += part;
      else all.push([`${feature.name}: ${word}`, part, ""]);
    });
    all.push([`${feature.name} = ${showValue(feature, state.values[i])}`, sum, ""]);
  });
  all.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const shown = all.slice(0, all.length > MAX_STEPS + 1 ? MAX_STEPS : MAX_STEPS + 1);
  const rest = all.slice(shown.length);
  const lines = [["before any feature", own(bias, 0), "sum"], ...shown];
  if (rest.length)
    lines.push([`${rest.length} others`, rest.reduce((sum, line) => sum + line[1], 0), ""]);
  lines.push(["log-odds", lines.reduce((sum, line) => sum + line[1], 0), "sum"]);
  return lines;
}

function* showSteps() {
  const lines = yield* listSteps();
  let at = 0, low = 0, high = 0;
  const ends = lines.map(([, size, kind], n) => {
    const from = kind ? 0 : at, to = kind ? size : at + size;
    if (n < lines.length - 1) at += size;
    low = Math.min(low, from, to);
    high = Math.max(high, from, to);
    return [from, to];
  });
  const scale = 100 / (high - low || 1);
  lines.forEach(([text, size, kind], n) => {
    const step = steps[n] || (steps[n] = makeStep()), [from, to] = ends[n];
    if (step.what.textContent !== text) step.what.textContent = step.what.title = text;
    step.text.textContent = signed(size);
    step.whole.dataset.size = size;
    step.part.className = `part ${kind || (size < 0 ? "against" : "for")}`;
    step.part.style.left = `${scale * (Math.min(from, to) - low)}%`;
    step.part.style.width = `${scale * Math.abs(to - from)}%`;
    step.zero.style.left = `${-scale * low}%`;
  });
  showAxis(low, high);
}

// Round log-odds below the bars and, of two classes, their probabilities.
function showAxis(low, high) {
  const size = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].find((one) => (high - low) / one <= 5) || 1000;
  const ticks = [];
  for (let k = Math.ceil(low / size); k * size <= high + 1e-9; ++k) ticks.push(k * size);
  byId("axis").replaceChildren(...ticks.map((x) => {
    const text = make("span", { className: "tick" }, make("span", { textContent: x ? signed(x).replace(/\.?0+$/, "") : "0" }));
    if (classes.length === 2)
      text.append(make("span", { className: "soft", textContent: percent(1 / (1 + Math.exp(-x)), Math.abs(x) > 4 ? 1 : 0) }));
    text.style.left = `calc(1.3rem + (100% - 2.6rem) * ${(x - low) / (high - low || 1)})`;
    return text;
  }));
}

// ---- Time --------------------------------------------------------------------------------------

// What follows from the probabilities, in steps, and about how many milliseconds it takes.
const slowParts = [
  { show: showIntervals, busy: byId("bars"), ms: Infinity },
  { show: showSteps, busy: byId("steps"), ms: Infinity },
];
let running = null, isWaiting = false;

const whenIdle = window.requestIdleCallback
  ? (run) => requestIdleCallback(run, { timeout: IDLE_MS }) : (run) => setTimeout(run, IDLE_MS / 5);

// Returns a function that takes a step and returns whether it was the last one.
function begin(part) {
  const steps = part.show();
  let ms = 0;
  return () => {
    const before = performance.now(), { done } = steps.next();
    ms += performance.now() - before;
    if (!done) return false;
    // The first time includes the compilation of the functions.
    part.ms = part.ms === Infinity ? 0.5 * ms : 0.7 * part.ms + 0.3 * ms;
    part.busy.removeAttribute("aria-busy");
    return true;
  };
}

function showPart(part) {
  const step = begin(part);
  while (!step());
}

// Parts that take long are shown when the browser is idle, step by step; the next move ends them
// and begins them anew, so that it never waits for more than a step.
function showInTime() {
  running = null;
  for (const part of slowParts) {
    if (part.ms < FAST_MS) showPart(part);
    else part.busy.setAttribute("aria-busy", "true");
  }
  if (isWaiting || !isComplete) return;
  const next = () => {
    const part = slowParts.find(({ busy }) => busy.hasAttribute("aria-busy"));
    isWaiting = Boolean(part);
    if (!part) return;
    if (!running) running = begin(part);
    if (running()) running = null;
    whenIdle(next);
  };
  isWaiting = true;
  whenIdle(next);
}

// ---- First answer ------------------------------------------------------------------------------

// Of the state in the address or of the first row, before the features are drawn. An error is shown
// when `answer` meets it again.
const isLinked = readLink();
try {
  proba = predict(state.values);
  if (!isLinked) state.focus = classes.length === 2 ? Number(shares[0] >= shares[1]) : proba.indexOf(Math.max(...proba));
  showBars();
  performance.mark("first-answer");
} catch (error) {
  proba = classes.map(() => NaN);
}
