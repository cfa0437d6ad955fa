// The probabilities as bars, and what each feature adds to the log-odds as a waterfall.

const MAX_STEPS = 10, MAX_BARS = 8, FAST_MS = 8, IDLE_MS = 150;

// ---- Probabilities -----------------------------------------------------------------------------

// The page comes with the bars of the first answer.
const bars = Array.from(byId("bars").children, (whole) => ({
  whole, value: whole.querySelector(".value"), mark: whole.querySelector(".mark"),
  text: whole.querySelector(".number"),
}));
let showsAll = classes.length <= MAX_BARS;
const more = make("button", { type: "button", onclick() { showsAll = !showsAll; showBars(); } });
if (classes.length > MAX_BARS) byId("bars").after(more);

function showBars() {
  const best = proba.indexOf(Math.max(...proba));
  const order = proba.map((_, y) => y);
  if (classes.length > MAX_BARS) order.sort((a, b) => proba[b] - proba[a]);
  order.forEach((y, place) => {
    const bar = bars[y];
    bar.whole.classList.toggle("top", y === best);
    bar.whole.style.display = showsAll || place < MAX_BARS ? "" : "none";
    bar.whole.style.order = place;
    if (bar.shown !== proba[y]) {
      bar.shown = proba[y];
      bar.whole.dataset.probability = proba[y];
      bar.value.style.width = `${100 * proba[y]}%`;
      bar.text.textContent = percent(proba[y]);
    }
    bar.mark.hidden = y !== state.focus;
    if (y === state.focus) bar.mark.style.left = `${100 * state.threshold}%`;
  });
  more.textContent = showsAll ? "Show fewer classes" : `Show all ${classes.length} classes`;
  return best;
}

function showDecision() {
  const p = proba[state.focus], name = classes[state.focus];
  byId("decision").textContent = p >= state.threshold
    ? `Now decided for ${name}: ${percent(p)} is at least ${percent(state.threshold)}.`
    : `Now decided against ${name}: ${percent(p)} is below ${percent(state.threshold)}.`;
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
}

let stepsMs = Infinity, stepsWait = false;

const whenIdle = window.requestIdleCallback
  ? (run) => requestIdleCallback(run, { timeout: IDLE_MS }) : (run) => setTimeout(run, IDLE_MS / 5);

// Contributions that take long are drawn when the browser is idle, once for several moves.
function showStepsInTime() {
  const draw = () => {
    const start = performance.now(), isFirst = stepsMs === Infinity;
    stepsWait = false;
    showSteps();
    const ms = performance.now() - start;
    // The first time includes the compilation of the functions.
    stepsMs = isFirst ? 0.5 * ms : 0.7 * stepsMs + 0.3 * ms;
    byId("steps").removeAttribute("aria-busy");
  };
  if (stepsWait) return;
  if (stepsMs < FAST_MS) return draw();
  stepsWait = true;
  byId("steps").setAttribute("aria-busy", "true");
  whenIdle(draw);
}
