// Class probabilities of rows by a model that priorwise.export.export_json has written.
//
//   const model = priorwise.load(description);
//   model.predictProba({ sky: "sun", degrees: 21.5 });  // in the order of model.classes
//
// A row has each feature and nothing else, else an Error names what differs; null is missing.
//
// Needs no other script. In Node: const priorwise = require("./evaluator.js").
//
// `load` returns { classes, features, model, read, findBlank, predictProba }. For scripts that
// explain predictions, `read(row)` is the row as numbers by each reader, `findBlank` of these the
// probabilities of a row of which nothing is known, and `model` a tree of steps:
// { kind, reader, step }. A step has the arrays that layout.py describes for its kind, as typed
// arrays, and the methods of the class of its kind below; Pool has members of the same form,
// Boosted a `base`, which is a Pool, and `trees`. Networks keep what they have found for a row and
// look up only what depends on features that differ in the next one.
(function (root, define) {
  "use strict";
  if (typeof module === "object" && module.exports) module.exports = define();
  else root.priorwise = define();
})(typeof self !== "undefined" ? self : this, function () {
  "use strict";

  // PARTS

  // ---- Pools and models --------------------------------------------------------------------------

  class Pool {
    constructor(step, classes) {
      Object.assign(this, step);
      this.members = step.members.map((member) => new Model(member, classes));
    }

    predict(x, read) {
      const scores = Float64Array.from(this.intercept);
      this.members.forEach((member, m) => {
        const proba = member.predict(read);
        for (let y = 0; y < scores.length; ++y)
          scores[y] += this.weight[m] * Math.log(Math.max(proba[y], this.floor));
      });
      return softmax(scores);
    }
  }

  class Boosted {
    constructor(step, classes) {
      this.base = new Pool(step.base, classes);
      this.trees = new Trees(step.trees, classes);
      this.floor = step.floor;
    }

    predict(x, read) {
      const scores = this.trees.predict(x), proba = this.base.predict(x, read);
      for (let y = 0; y < scores.length; ++y) scores[y] += Math.log(Math.max(proba[y], this.floor));
      return softmax(scores);
    }
  }

  const STEPS = { Trees, Networks, Pieces, Landmarks, QuadraticForms, Pool, Boosted };

  class Model {
    constructor(model, classes) {
      this.reader = model.reader;
      this.kind = model.step.kind;
      if (!STEPS[this.kind]) throw new Error(`priorwise.steps has no class ${this.kind}`);
      this.step = new STEPS[model.step.kind](model.step, classes);
    }

    // `read` holds the row as read by each reader.
    predict(read) {
      return this.step.predict(read[this.reader], read);
    }
  }

  // ---- Rows --------------------------------------------------------------------------------------

  const MAX_COMPARED = 50, MAX_NAMED = 3;

  // How many letters differ between two names, whatever their case.
  function countChanges(one, other) {
    const [a, b] = [one, other].map((name) => name.slice(0, MAX_COMPARED).toLowerCase());
    let above = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 0; i < a.length; ++i) {
      const line = [i + 1];
      for (let j = 0; j < b.length; ++j)
        line.push(Math.min(line[j] + 1, above[j + 1] + 1, above[j] + (a[i] !== b[j])));
      above = line;
    }
    return above[b.length];
  }

  function listNames(names) {
    const shown = names.slice(0, MAX_NAMED).map((name) => JSON.stringify(name)).join(", ");
    return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown;
  }

  // Throws an error unless a row has each feature, and nothing else. A value that is not defined is
  // not there: that is what a misspelt name gives in JavaScript.
  function checkRow(row, features) {
    if (row === null || typeof row !== "object" || Array.isArray(row)) {
      const got = row === null || row === undefined ? row : Array.isArray(row) ? "an array" : `a ${typeof row}`;
      throw new TypeError(`row must be an object with a value for each feature, got ${got}`);
    }
    const has = (name) => Object.prototype.hasOwnProperty.call(row, name) && row[name] !== undefined;
    const missing = features.filter((name) => !has(name)), keys = Object.keys(row);
    if (!missing.length && keys.length === features.length) return;
    const known = new Set(features), others = keys.filter((key) => !known.has(key) && row[key] !== undefined);
    if (missing.length) {
      const near = others.map((key) => [countChanges(missing[0], key), key]).sort((a, b) => a[0] - b[0]);
      const hint = near.length ? `it has ${JSON.stringify(near[0][1])}` : "a missing value is null";
      throw new Error(`row has no ${listNames(missing)}; ${hint}`);
    }
    if (others.length) throw new Error(`row has ${listNames(others)}, which the model does not know`);
  }

  function load(description) {
    if (description.format !== 7)
      throw new Error(`format must be 7, got ${description.format}`);
    const classes = description.classes, features = description.features;
    const readers = description.readers.map((rules) => rules.map((one) => new ValueReader(one)));
    const model = new Model(unpackAll(description.model), classes);
    // The row as read by each reader.
    const read = (row) => {
      checkRow(row, features);
      return readers.map((rules) => Float64Array.from(rules, (one) => one.read(row[features[one.source]])));
    };
    // The probabilities of a row, as read, of which nothing is known; undefined for other rows.
    const findBlank = ([x]) => {
      const isKnown = (one, i) => (one.is_nominal && !one.is_ordered ? x[i] >= 0 : !Number.isNaN(x[i]));
      return readers[0].slice(0, features.length).some(isKnown) ? undefined : description.blank;
    };
    return {
      classes,
      features,
      model,
      read,
      findBlank,
      predictProba(row) {
        const numbers = read(row);
        return Array.from(findBlank(numbers) || model.predict(numbers));
      },
    };
  }

  // The trees of a model, in the order of their descriptions.
  function* listTrees({ kind, step }) {
    if (kind === "Trees") yield step;
    const pool = kind === "Boosted" ? step.base : step;
    for (const member of pool.members || []) yield* listTrees(member);
    if (kind === "Boosted") yield step.trees;
  }

  return {
    load, steps: STEPS, listTrees, normaliseJoint, softmax, standardise, unpack, unpackAll,
  };
});
