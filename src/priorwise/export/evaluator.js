// Class probabilities of rows by a model that priorwise.export.export_json has written.
//
//   const model = priorwise.load(description);
//   model.predictProba({ sky: "sun", degrees: 21.5 });  // in the order of model.classes
//
// Needs no other script. In Node: const priorwise = require("./evaluator.js").
(function (root, define) {
  "use strict";
  if (typeof module === "object" && module.exports) module.exports = define();
  else root.priorwise = define();
})(typeof self !== "undefined" ? self : this, function () {
  "use strict";

  // ---- Arrays ----------------------------------------------------------------------------------

  const TYPES = {
    i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array,
    f4: Float32Array, f8: Float64Array,
  };

  function decode(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  function unpack(packed) {
    const array = new TYPES[packed.type](decode(packed.data).buffer);
    if (packed.first === undefined) return array;
    const sums = new Int32Array(array.length);
    for (let i = 0, sum = packed.first; i < array.length; ++i) sums[i] = sum += array[i];
    return sums;
  }

  // Unpacks the arrays of a description; all else stays as it is.
  function unpackAll(value) {
    if (Array.isArray(value)) return value.map(unpackAll);
    if (value === null || typeof value !== "object") return value;
    if (typeof value.data === "string" && typeof value.type === "string") return unpack(value);
    const result = {};
    for (const key of Object.keys(value)) result[key] = unpackAll(value[key]);
    return result;
  }

  // Sums of the numbers before each place, and of all.
  function cumulate(numbers) {
    const sums = new Int32Array(numbers.length + 1);
    for (let i = 0; i < numbers.length; ++i) sums[i + 1] = sums[i] + numbers[i];
    return sums;
  }

  // ---- Values ----------------------------------------------------------------------------------

  // What Python takes for a space.
  const SPACES = /^[\s\x1c-\x1f\x85]+|[\s\x1c-\x1f\x85]+$/g;
  const NUMBER = /^[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$/;
  // How Python writes a number: "1.0" and "1.5", but not "1.50", which may be a version.
  const PLAIN_NUMBER = /^-?(?:0|[1-9][0-9]{0,14})(?:\.(?:0|[0-9]{0,14}[1-9]))?$/;
  const BOOLEANS = new Map([
    ["True", true], ["true", true], ["TRUE", true],
    ["False", false], ["false", false], ["FALSE", false],
  ]);

  function table(pairs) {
    return new Map(pairs.map(([key, value]) => [key, value === null ? NaN : value]));
  }

  class ValueReader {
    constructor(rules) {
      Object.assign(this, rules);
      this.missing = rules.missing === null ? NaN : rules.missing;
      this.texts = table(rules.texts);
      this.numbers = table(rules.numbers);
      this.booleans = table(rules.booleans);
    }

    read(value) {
      const number = this.find(value);
      if (this.refuses_unknown && (Number.isNaN(number) || (this.is_nominal && number < 0)))
        throw new Error(`column '${this.name}' has a value that training did not have: ${value}`);
      return number;
    }

    find(value) {
      if (value === undefined || value === null) return this.missing;
      if (typeof value === "bigint") value = Number(value);
      if (typeof value === "number") {
        if (Number.isNaN(value)) return this.missing;
        return this.findNumber(value);
      }
      if (typeof value === "boolean") return this.findBoolean(value);
      const text = String(value).replace(SPACES, "");
      if (BOOLEANS.has(text)) {
        if (this.is_nominal || this.booleans.has(BOOLEANS.get(text)))
          return this.findBoolean(BOOLEANS.get(text));
      } else if (PLAIN_NUMBER.test(text)) {
        return this.findNumber(Number(text));
      }
      if (this.texts.has(text)) return this.texts.get(text);
      if (this.is_nominal) return -1;
      if (NUMBER.test(text)) {
        const number = Number(text);
        if (Number.isFinite(number)) return this.findNumber(number);
      }
      if (this.ignores_texts) return this.missing;
      throw new Error(`column '${this.name}' must hold numbers, as it does in training, got '${value}'`);
    }

    findNumber(number) {
      // Of a map's keys, 0 and -0 are the same.
      const known = this.numbers.get(number);
      if (known !== undefined) return known;
      if (this.is_nominal) return -1;
      if (!Number.isFinite(number))
        throw new Error(`column '${this.name}' must hold finite numbers, got ${number}`);
      return number;
    }

    findBoolean(value) {
      const known = this.booleans.get(value);
      if (known !== undefined) return known;
      return this.is_nominal ? -1 : this.findNumber(value ? 1 : 0);
    }
  }

  // ---- Probabilities ---------------------------------------------------------------------------

  // Scores to probabilities in proportion to their exponentials.
  function softmax(scores) {
    let largest = -Infinity, sum = 0;
    for (const score of scores) largest = Math.max(largest, score);
    for (let y = 0; y < scores.length; ++y) sum += scores[y] = Math.exp(scores[y] - largest);
    for (let y = 0; y < scores.length; ++y) scores[y] /= sum;
    return scores;
  }

  // The same; a row that is impossible in all classes gets their prior.
  function normaliseJoint(joint, prior) {
    return softmax(joint.every((score) => score === -Infinity) ? Float64Array.from(prior) : joint);
  }

  // The error function's complement by its continued fraction, or its series near zero.
  function erfc(x) {
    if (x < 0) return 2 - erfc(-x);
    const square = x * x;
    if (x < 2.5) {
      let term = x, sum = x;
      for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) {
        term *= -square / n;
        sum += term / (2 * n + 1);
        if (n > 200) break;
      }
      return 1 - (2 / Math.sqrt(Math.PI)) * sum;
    }
    let fraction = 0;
    for (let n = 80; n > 0; --n) fraction = n / 2 / (x + fraction);
    return Math.exp(-square) / Math.sqrt(Math.PI) / (x + fraction);
  }

  // First place whose number is not below x among the places begin .. end, which rise.
  function lowerBound(numbers, begin, end, x) {
    while (begin < end) {
      const middle = (begin + end) >> 1;
      if (numbers[middle] < x) begin = middle + 1;
      else end = middle;
    }
    return begin;
  }

  // ---- Steps -----------------------------------------------------------------------------------

  const LEAST_PART = 1e-4, LEAST_SHARE = 1e-6;
  const NOT_AT_MOST = 1, EQUAL = 2;

  class Trees {
    constructor(step, classes) {
      Object.assign(this, step);
      this.width = classes.length;
    }

    next(node, x) {
      const value = x[this.feature[node]], threshold = this.threshold[node], way = this.way[node];
      const second = way === EQUAL ? value === threshold
        : way === NOT_AT_MOST ? !(value <= threshold) : value > threshold;
      return second ? this.above[node] : this.below[node];
    }

    addLeaf(row, weight, sums) {
      for (let k = 0, at = row * this.width; k < this.width; ++k, ++at)
        sums[k] += weight * this.values[at];
    }

    // Where a row of a weight goes from a node: children with the parts of the weight, both of them
    // at a node with a bandwidth.
    split(node, weight, x) {
      const h = this.bandwidth.length ? this.bandwidth[node] : 0;
      const distance = x[this.feature[node]] - this.threshold[node];
      if (!(h > 0) || weight < LEAST_PART || Number.isNaN(distance))
        return [[this.next(node, x), weight]];
      const above = 0.5 * erfc(-(distance / h) / Math.SQRT2);
      if (above > 1 - LEAST_SHARE) return [[this.above[node], weight]];
      if (above < LEAST_SHARE) return [[this.below[node], weight]];
      return [[this.above[node], weight * above], [this.below[node], weight * (1 - above)]];
    }

    addParts(root, x, sums) {
      const parts = [[root, 1]];
      while (parts.length) {
        const [node, weight] = parts.pop();
        if (node < 0) this.addLeaf(~node, weight, sums);
        else parts.push(...this.split(node, weight, x));
      }
    }

    predict(x) {
      const sums = new Float64Array(this.width);
      for (const root of this.root) {
        if (this.bandwidth.length) {
          this.addParts(root, x, sums);
          continue;
        }
        let node = root;
        while (node >= 0) node = this.next(node, x);
        this.addLeaf(~node, 1, sums);
      }
      for (let k = 0; k < this.width; ++k) sums[k] *= this.scale;
      if (this.normalise) {
        const total = sums.reduce((a, b) => a + b);
        for (let k = 0; k < this.width; ++k) sums[k] /= total;
      }
      return sums;
    }
  }

  class Networks {
    constructor(step, classes) {
      Object.assign(this, step);
      this.width = classes.length;
      const n = this.column.length;
      this.firstFactor = cumulate(this.n_factors);
      this.pathAt = cumulate(this.n_parents);
      this.contextAt = cumulate(this.n_contexts);
      this.entryAt = cumulate(this.n_entries);
      this.cellAt = cumulate(this.n_cells);
      this.cellStartAt = new Int32Array(n + 1);
      this.outcomeAt = new Int32Array(n + 1);
      for (let f = 0; f < n; ++f) {
        const dense = this.is_dense[f];
        this.cellStartAt[f + 1] = this.cellStartAt[f] + (dense ? 0 : this.n_entries[f] + 1);
        this.outcomeAt[f + 1] = this.outcomeAt[f] + (dense ? 0 : this.n_cells[f]);
      }
      this.cutAt = cumulate(this.n_cuts);
      const guardSizes = [];
      for (let i = 0; this.guards.length && i + 1 < this.n_factors.length; ++i)
        guardSizes.push(this.n_outcomes[this.firstFactor[i]]);
      this.guardAt = cumulate(guardSizes);
    }

    // Codes of the features, with numbers cut by one of the sets of cut points.
    cut(x, set) {
      const codes = Int32Array.from(x);
      for (let j = 0; j < this.numeric.length; ++j) {
        const number = x[this.numeric[j]], place = set * this.numeric.length + j;
        const begin = this.cutAt[place], end = this.cutAt[place + 1];
        codes[this.numeric[j]] = Number.isNaN(number)
          ? (this.has_missing[j] ? end - begin + 1 : -1)
          : lowerBound(this.cuts, begin, end, number) - begin;
      }
      return codes;
    }

    // The score of outcome v at an entry of factor f below one with the score `above`.
    scoreOf(f, entry, v, above) {
      const cells = this.cellAt[f];
      if (this.is_dense[f]) return this.score[cells + entry * this.n_outcomes[f] + v];
      const start = this.cellStartAt[f] + entry, outcomes = this.outcomeAt[f];
      const end = outcomes + this.cell_start[start + 1];
      const cell = lowerBound(this.outcome, outcomes + this.cell_start[start], end, v);
      if (cell < end && this.outcome[cell] === v) return this.score[cells + cell - outcomes];
      const rest = this.rest[this.entryAt[f] + entry];
      return this.rest_towards_parent[f] ? rest + above : rest;
    }

    addFactor(f, codes, joint, sum) {
      const v = codes[this.column[f]];
      if (v < 0) return;
      sum.fill(this.scoreOf(f, 0, v, 0));
      const contexts = this.contextAt[f], starts = contexts + f, entries = this.entryAt[f];
      let context = 0;
      for (let level = 0; ; ++level) {
        const last = this.entry_start[starts + context + 1];
        for (let e = Math.max(1, this.entry_start[starts + context]); e < last; ++e) {
          const y = this.entry_class[entries + e];
          sum[y] = this.scoreOf(f, e, v, sum[y]);
        }
        if (level === this.n_parents[f]) break;
        const code = codes[this.path[this.pathAt[f] + level]];
        const end = contexts + this.child_start[starts + context + 1];
        const child = lowerBound(
          this.value, contexts + this.child_start[starts + context], end, code);
        if (child === end || this.value[child] !== code) break;
        context = child - contexts;
      }
      for (let y = 0; y < this.width; ++y) joint[y] += sum[y];
    }

    joint(i, codes) {
      const joint = this.log_prior.slice(i * this.width, (i + 1) * this.width);
      const sum = new Float64Array(this.width);
      for (let f = this.firstFactor[i]; f < this.firstFactor[i + 1]; ++f)
        this.addFactor(f, codes, joint, sum);
      return joint;
    }

    predict(x) {
      const n = this.n_factors.length, width = this.width;
      if (this.guards.length) return this.addUp(this.cut(x, 0));
      const mean = new Float64Array(width);
      let codes = null;
      for (let i = 0; i < n; ++i) {
        if (i === 0 || this.cut_set[i] !== this.cut_set[i - 1]) codes = this.cut(x, this.cut_set[i]);
        const prior = this.log_prior.subarray(i * width, (i + 1) * width);
        const proba = normaliseJoint(this.joint(i, codes), prior);
        for (let y = 0; y < width; ++y) mean[y] += proba[y] / n;
      }
      return mean;
    }

    // The sum of the joint probabilities of the networks whose guard the row passes.
    addUp(codes) {
      const n = this.n_factors.length;
      let total = null;
      for (let i = 0; i + 1 < n; ++i) {
        const code = codes[this.column[this.firstFactor[i]]];
        if (code < 0 || !this.guards[this.guardAt[i] + code]) continue;
        const joint = this.joint(i, codes);
        total = total === null ? joint : total.map((a, y) => {
          const b = joint[y], largest = Math.max(a, b);
          return largest === -Infinity ? a : largest + Math.log1p(Math.exp(Math.min(a, b) - largest));
        });
      }
      return normaliseJoint(
        total === null ? this.joint(n - 1, codes) : total, this.log_prior.subarray(0, this.width));
    }
  }

  function standardise(step, j, number) {
    const z = (number - step.mean[j]) / step.scale[j];
    return Number.isNaN(z) ? 0 : Math.max(-step.max_deviation, Math.min(step.max_deviation, z));
  }

  class Pieces {
    constructor(step, classes) {
      Object.assign(this, step);
      this.width = classes.length;
    }

    // Adds the terms of each feature to the array that `target` returns for it.
    addTerms(x, target) {
      const width = this.width;
      const add = (feature, terms, at) => {
        const scores = target(feature);
        for (let y = 0; y < width; ++y) scores[y] += terms[at + y];
      };
      for (let i = 0; i < this.nominal.length; ++i) {
        const code = x[this.nominal[i]], first = this.first_label[i];
        if (code >= 0 && code < this.first_label[i + 1] - first)
          add(this.nominal[i], this.label_score, (first + code) * width);
      }
      for (let j = 0; j < this.numeric.length; ++j) {
        const number = x[this.numeric[j]], scores = target(this.numeric[j]);
        if (Number.isNaN(number)) add(this.numeric[j], this.missing_score, j * width);
        const z = standardise(this, j, number);
        let piece = this.first_piece[j];
        for (let p = piece + 1; p < this.first_piece[j + 1]; ++p)
          if (z >= this.first_value[p]) ++piece;
        const u = z - this.left[piece], a = piece * 3 * width;
        for (let y = 0; y < width; ++y)
          scores[y] += this.coefficient[a + y]
            + (this.coefficient[a + width + y] + this.coefficient[a + 2 * width + y] * u) * u;
      }
    }

    predict(x) {
      const scores = Float64Array.from(this.intercept);
      this.addTerms(x, () => scores);
      return softmax(scores);
    }
  }

  class Kernel {
    constructor(step, classes) {
      Object.assign(this, step);
      this.width = classes.length;
    }

    predict(x) {
      const n = this.coefficient.length / this.width, nNominal = this.nominal.length;
      const distance = new Float64Array(n);
      for (let i = 0; i < nNominal + this.missing.length; ++i) {
        const code = i < nNominal ? x[this.nominal[i]]
          : Number.isNaN(x[this.numeric[this.missing[i - nNominal]]]) ? 0 : -1;
        for (let l = 0, at = i * n; l < n; ++l, ++at) {
          const other = this.landmark_codes[at];
          distance[l] += (code >= 0 ? 1 : 0) + (other >= 0 ? 1 : 0)
            - (code >= 0 && code === other ? 2 : 0);
        }
      }
      for (let j = 0; j < this.numeric.length; ++j) {
        const z = Math.fround(standardise(this, j, x[this.numeric[j]]));
        for (let l = 0, at = j * n; l < n; ++l, ++at) {
          const step = z - this.landmark_values[at];
          distance[l] += step * step;
        }
      }
      const scores = Float64Array.from(this.intercept);
      for (let l = 0; l < n; ++l) {
        const likeness = Math.exp(-Math.min(this.rate * distance[l], 708));
        for (let y = 0; y < this.width; ++y) scores[y] += this.coefficient[y * n + l] * likeness;
      }
      return softmax(scores);
    }
  }

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

  const STEPS = { Trees, Networks, Pieces, Kernel, Pool, Boosted };

  class Model {
    constructor(model, classes) {
      this.reader = model.reader;
      this.kind = model.step.kind;
      this.step = new STEPS[model.step.kind](model.step, classes);
    }

    // `read` holds the row as read by each reader.
    predict(read) {
      return this.step.predict(read[this.reader], read);
    }
  }

  function load(description) {
    if (description.format !== 1)
      throw new Error(`format must be 1, got ${description.format}`);
    const classes = description.classes, features = description.features;
    const readers = description.readers.map((rules) => rules.map((one) => new ValueReader(one)));
    const model = new Model(unpackAll(description.model), classes);
    // The row as read by each reader.
    const read = (row) =>
      readers.map((rules) => Float64Array.from(rules, (one, i) => one.read(row[features[i]])));
    return {
      classes,
      features,
      model,
      read,
      predictProba: (row) => Array.from(model.predict(read(row))),
    };
  }

  return { load, softmax, standardise };
});
