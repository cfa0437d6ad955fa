// A slider or a menu for each feature. Of many features, only those in view are drawn.

const MAX_DRAWN_AT_ONCE = 24;

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
  // Fields of dates count thousandths of a second.
  const unit = feature.is_date ? 1000 : 1, type = feature.is_date ? "datetime-local" : "number";
  const field = make("input", { type, step: "any", "aria-label": `${feature.name}, exact value` });
  const missing = make("input", { type: "checkbox" });
  slider.oninput = () => set(i, values[Number(slider.value)]);
  field.onchange = () => {
    const number = field.valueAsNumber / unit;
    set(i, Number.isFinite(number) ? number : null);
  };
  missing.onchange = () => set(i, missing.checked ? null : values[Number(slider.value)]);
  const range = make("div", { className: "range" }, make("span", { textContent: showValue(feature, values[0]) }));
  if (feature.may_be_missing)
    range.append(make("label", { className: "missing" }, missing, "missing"));
  range.append(make("span", { textContent: showValue(feature, values[last]) }));
  function show(value) {
    missing.checked = value === null;
    if (value === null) field.value = "";
    else if (document.activeElement !== field || field.valueAsNumber !== unit * value)
      field.value = feature.is_date ? new Date(unit * value).toISOString().slice(0, 19) : value;
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
  const name = make("label", { className: "name", htmlFor: `feature-${i}`, textContent: feature.name });
  return { whole: make("div", { className: "feature" }, name), show: null };
});

function drawFeature(i) {
  if (controls[i].show) return;
  const { show, parts } = (features[i].is_label ? makeMenu : makeNumber)(features[i], i, `feature-${i}`);
  controls[i].whole.append(...parts);
  controls[i].whole.classList.remove("undrawn");
  controls[i].show = show;
  show(state.values[i]);
}

function showFeature(i) {
  if (controls[i].show) controls[i].show(state.values[i]);
  controls[i].whole.classList.toggle("changed", state.values[i] !== state.start[i]);
}

function set(i, value) {
  state.values[i] = value;
  showFeature(i);
  answer();
}

byId("features").append(...controls.map(({ whole }) => whole));
if (features.length <= MAX_DRAWN_AT_ONCE || !window.IntersectionObserver) features.forEach((_, i) => drawFeature(i));
else {
  const place = new Map(controls.map(({ whole }, i) => [whole, i]));
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting) {
        watcher.unobserve(target);
        drawFeature(place.get(target));
      }
  }, { rootMargin: "600px" });
  for (const { whole } of controls) {
    whole.classList.add("undrawn");
    watcher.observe(whole);
  }
}

byId("find").oninput = () => {
  const part = byId("find").value.trim().toLowerCase();
  let n = 0;
  features.forEach((feature, i) => {
    const fits = feature.name.toLowerCase().includes(part);
    controls[i].whole.style.display = fits ? "" : "none";
    n += fits;
  });
  byId("find-note").textContent = !part ? "" : n === 0 ? `No feature has \u201c${part}\u201d in its name.`
    : `${n} of ${features.length} features`;
};
