// A slider or a menu for each feature. Of many features, only those in view are drawn.

const MAX_DRAWN_AT_ONCE = 24, MAX_MENU = 15, DAY = 86400;

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
  // Fields of numbers would leave out a comma where the language of the browser has a point.
  const kind = !feature.is_date ? { type: "text", inputmode: "decimal", autocomplete: "off" }
    : { type: values.some((one) => one % DAY) ? "datetime-local" : "date", step: "any" };
  const field = make("input", { ...kind, "aria-label": `${feature.name}, exact value` });
  const note = make("div", { className: "soft", role: "status" });
  const missing = make("input", { type: "checkbox" });
  slider.oninput = () => set(i, values[Number(slider.value)]);
  field.onchange = () => {
    const seconds = field.valueAsNumber / 1000;  // NaN for a text and for no date
    try {
      set(i, feature.is_date ? (Number.isFinite(seconds) ? seconds : null) : parseNumber(field.value));
    } catch (error) {
      show(state.values[i]);
      note.textContent = error.message;
    }
  };
  // The whole number is seen by who is in the field, others see it rounded.
  field.onfocus = () => {
    note.textContent = "";
    if (!feature.is_date) field.value = state.values[i] ?? "";
  };
  field.onblur = () => { if (!note.textContent) show(state.values[i]); };
  missing.onchange = () => set(i, missing.checked ? null : values[Number(slider.value)]);
  const range = make("div", { className: "range" }, make("span", { textContent: showValue(feature, values[0]) }));
  if (feature.may_be_missing)
    range.append(make("label", { className: "missing" }, missing, "missing"));
  range.append(make("span", { textContent: showValue(feature, values[last]) }));
  function show(value) {
    missing.checked = value === null;
    note.textContent = "";
    if (value === null) field.value = "";
    else if (feature.is_date) field.valueAsNumber = 1000 * value;  // fields have milliseconds
    else if (document.activeElement !== field) field.value = Number(value.toPrecision(6));
    else if (Number(field.value) !== value) field.value = value;
    if (value !== null && values[Number(slider.value)] !== value) slider.value = findNearest(values, value);
    slider.setAttribute("aria-valuetext", showValue(feature, value));
  }
  return { show, parts: [make("div", { className: "controls" }, slider, field), range, note] };
}

// Of many values, a field that searches among them.
function makeSearch(feature, i, id) {
  const choices = [...feature.values, null, UNSEEN], texts = choices.map((value) => showValue(feature, value));
  const list = make("datalist", { id: `${id}-values` }, ...texts.map((text) => make("option", { value: text })));
  const field = make("input", { type: "text", id, list: list.id, autocomplete: "off" });
  const note = make("div", { className: "soft", role: "status" });
  const find = (text) => {
    const part = text.trim().toLowerCase(), lower = texts.map((one) => one.toLowerCase());
    if (texts.includes(text)) return texts.indexOf(text);
    if (lower.includes(part)) return lower.indexOf(part);
    const near = part ? texts.map((_, k) => k).filter((k) => lower[k].includes(part)) : [];
    return near.length === 1 ? near[0] : -1;
  };
  const show = (value) => {
    field.value = showValue(feature, value);
    note.textContent = "";
  };
  field.onfocus = () => field.select();
  field.onchange = () => {
    const place = find(field.value);
    if (place >= 0) return set(i, choices[place]);
    const text = field.value;
    show(state.values[i]);
    note.textContent = `No value is \u201c${text}\u201d, or several have it in them.`;
  };
  return { show, parts: [make("div", { className: "controls menu" }, field, list), note] };
}

// A text that is typed; an empty one is missing.
function makeText(feature, i, id) {
  const field = make("textarea", { id, rows: 3 });
  field.onchange = () => set(i, field.value.trim() ? field.value : null);
  return { show: (value) => { field.value = value ?? ""; }, parts: [make("div", { className: "controls menu" }, field)] };
}

function makeMenu(feature, i, id) {
  if (feature.values.length > MAX_MENU) return makeSearch(feature, i, id);
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
  if (feature.is_fixed) name.append(make("span", { className: "soft", textContent: " (fixed)" }));
  return { whole: make("div", { className: "feature" }, name), show: null };
});

function drawFeature(i) {
  if (controls[i].show) return;
  const { show, parts } = (features[i].is_text ? makeText : features[i].is_label ? makeMenu : makeNumber)(features[i], i, `feature-${i}`);
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
