// The state of the page that explores a model: values of the features, the row they come from, the
// class that is looked at. The data are in the elements "page" and "model" (export_json).

const N_LEVELS = 4;  // of intervals
const MAX_SHOWN = 40;  // letters of a text beside a bar
const RAISED = Object.fromEntries([..."-0123456789"].map((one, k) => [one, "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[k]]));
const UNSEEN = "\u0000another value";

const byId = (id) => document.getElementById(id);
const { features, rows, classes, shares, n_bars: nBars } = readJson("page");
const state = { row: rows.typical, values: valuesOf(rows.typical), start: valuesOf(rows.typical), focus: 0, threshold: null, level: 2 };
// The page evaluates the model before it draws anything else.
const model = priorwise.load(description);
let proba = [], intervals = null;

// Yes is said from the share of the class on, until the reader types a threshold.
const thresholdOf = () => state.threshold ?? shares[state.focus];

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The values of a row of the page; without rows, the middle of each range and the first label.
function valuesOf(row) {
  return features.map(({ is_label: isLabel, values }, i) => row < 0
    ? values[isLabel ? 0 : values.length >> 1] ?? null : readCell(rows.columns[i][row], i));
}

// Labels are places among the values of the feature; -1 is a label that training did not have.
function readCell(cell, i) {
  if (cell === null || !features[i].is_label) return cell;
  return cell < 0 ? UNSEEN : features[i].values[cell];
}

function asRow(values) {
  const row = Object.create(null);
  features.forEach((feature, i) => { row[feature.name] = values[i]; });
  return row;
}

const predict = (values) => model.predictProba(asRow(values));

// ---- Texts -------------------------------------------------------------------------------------

function showValue(feature, value) {
  if (value === null) return "missing";
  if (value === UNSEEN) return "another value";
  if (feature.is_date) {
    const text = new Date(value * 1000).toISOString();
    return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  }
  if (feature.is_text) return `\u201c${value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}\u2026` : value}\u201d`;
  if (typeof value !== "number") return String(value);
  const text = String(Math.abs(value) < 1e6 ? Number(value.toPrecision(6)) : Math.round(value)), [digits, power] = text.split("e");
  return power ? `${digits}\u00b710${power.replace(/./g, (one) => RAISED[one] ?? "")}` : text;
}

// Only 0 and 1 themselves look like 0 and 1, as `show_percent` in Python.
function percent(p, digits = 1) {
  const text = (100 * p).toFixed(digits), step = 10 ** -digits;
  if (p > 0 && Number(text) === 0) return `<${step.toFixed(digits)}%`;
  return p < 1 && Number(text) === 100 ? `>${(100 - step).toFixed(digits)}%` : `${text}%`;
}

// Ends of an interval, in whole percents unless it is narrow.
function percents(lower, upper) {
  const digits = upper - lower < 0.02 ? 1 : 0;
  return `${percent(lower, digits).slice(0, -1)} to ${percent(upper, digits)}`;
}

// Zero has no sign.
function signed(x) {
  const text = Math.abs(x).toFixed(2);
  return Number(text) === 0 ? text : (x < 0 ? "\u2212" : "+") + text;
}
