// Class probabilities of rows by a model that priorwise.export.export_json has written.
//
//   const model = priorwise.load(description);
//   model.predictProba({ sky: "sun", degrees: 21.5 });  // in the order of model.classes
//
// Needs no other script. In Node: const priorwise = require("./evaluator.js").
//
// `load` returns { classes, features, model, read, predictProba }. For scripts that explain
// predictions, `read(row)` is the row as numbers by each reader, and `model` a tree of steps:
// { kind, reader, step }. A step has the fields of the class of its kind in program.py, arrays as
// typed arrays, and the methods of the class of its kind below; Pool has members of the same form,
// Boosted a `base`, which is a Pool, and `trees`. Networks keep what they have found for a row and
// look up only what depends on features that differ in the next one.
(function (root, define) {
  "use strict";
  if (typeof module === "object" && module.exports) module.exports = define();
  else root.priorwise = define();
})(typeof self !== "undefined" ? self : this, function () {
  "use strict";

  // ---- Arrays ----------------------------------------------------------------------------------

  function decode(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    if (typeof Buffer === "function") return new Uint8Array(Buffer.from(base64, "base64"));
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  function readBits(bytes, bits, low, numbers) {
    const mask = (1 << bits) - 1;
    for (let i = 0, at = 0, held = 0, nHeld = 0; i < numbers.length; ++i) {
      for (; nHeld < bits; nHeld += 8) held |= bytes[at++] << nHeld;
      numbers[i] = low + (held & mask);
      held >>>= bits;
      nHeld -= bits;
    }
  }

  function addSteps(numbers) {
    for (let i = 1; i < numbers.length; ++i) numbers[i] += numbers[i - 1];
  }

  function lookUp(table, places, numbers) {
    for (let i = 0; i < places.length; ++i) numbers[i] = table[places[i]];
  }

  // Whole numbers of a few bits each above a low one, or steps between them; a few stand apart.
  function unpackIntegers(packed) {
    const { low, bits, apart, steps } = packed, bytes = decode(packed.data);
    const Type = { 8: Uint8Array, 16: Uint16Array, 32: Int32Array }[bits];
    if (Type && low === 0 && !apart && !steps) return new Type(bytes.buffer);
    const numbers = new Int32Array(packed.shape.reduce((a, b) => a * b, 1));
    if (bits === 0) numbers.fill(low);
    else if (Type && low === 0) numbers.set(new Type(bytes.buffer));
    else readBits(bytes, bits, low, numbers);
    if (apart) {
      const places = unpack(apart), values = unpack(packed.values);
      for (let i = 0; i < places.length; ++i) numbers[places[i]] = values[i];
    }
    if (steps) addSteps(numbers);
    return numbers;
  }

  // Rows of two numbers that add up to one, from the smaller ones and what _pack_pairs codes.
  function joinPairs(smaller, codes, values, whole) {
    for (let i = 0; i < codes.length; ++i) {
      const second = codes[i] > 2 ? 1 : 0;
      values[2 * i + 1 - second] = smaller[i];
      values[2 * i + second] = 1 - smaller[i];
      whole[2 * i + second] += codes[i] - 3 * second - 1;
    }
    return values;
  }

  function unpack(packed) {
    if (packed.type === "int") return unpackIntegers(packed);
    const bytes = decode(packed.data);
    if (packed.type === "pairs") {
      const values = new Float32Array(bytes.length / 2);
      return joinPairs(
        new Float32Array(bytes.buffer), unpack(packed.codes), values, new Int32Array(values.buffer));
    }
    const Type = packed.type === "f4" ? Float32Array : Float64Array, table = new Type(bytes.buffer);
    if (!packed.places) return table;
    const places = unpack(packed.places), numbers = new Type(places.length);
    lookUp(table, places, numbers);
    return numbers;
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
      const isUnknown = this.is_nominal && number < 0;
      if (this.refuses_unknown && (isUnknown || (Number.isNaN(number) && !this.is_ordered)))
        throw new Error(`column '${this.name}' has a value that training did not have: ${value}`);
      return isUnknown && this.is_ordered ? this.missing : number;
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

  // Sets the way and both children of each node: a node, or ~row of a leaf.
  function joinNodes(trees, { split, child_node: nodes, child_row: rows }) {
    const n = split.length, way = new Uint8Array(n), child = new Int32Array(2 * n);
    for (let i = 0, node = 0, row = 0; i < n; ++i) {
      const bits = split[i];
      way[i] = bits & 3;
      child[2 * i] = bits & 4 ? ~rows[row++] : nodes[node++];
      child[2 * i + 1] = bits & 8 ? ~rows[row++] : nodes[node++];
    }
    trees.way = way;
    trees.child = child;
  }

  class Trees {
    constructor(step, classes) {
      Object.assign(this, step);
      this.width = classes.length;
      joinNodes(this, step);
    }

    next(node, x) {
      const value = x[this.feature[node]], threshold = this.threshold[node], way = this.way[node];
      const second = way === EQUAL ? value === threshold
        : way === NOT_AT_MOST ? !(value <= threshold) : value > threshold;
      return this.child[2 * node + (second ? 1 : 0)];
    }

    // Calls `visit(node, child, part)` for the steps of a row down a tree, where a part of the row
    // goes: all of it, or parts of it to both children at a node with a bandwidth.
    walk(root, x, visit) {
      if (!this.bandwidth.length) {
        for (let node = root, child; node >= 0; node = child) {
          child = this.next(node, x);
          visit(node, child, 1);
        }
        return;
      }
      const nodes = [root], parts = [1];
      const go = (node, child, part) => {
        visit(node, child, part);
        nodes.push(child);
        parts.push(part);
      };
      while (nodes.length) {
        const node = nodes.pop(), part = parts.pop();
        if (node < 0) continue;
        const distance = x[this.feature[node]] - this.threshold[node], h = this.bandwidth[node];
        const below = this.child[2 * node], above = this.child[2 * node + 1];
        if (!(h > 0) || part < LEAST_PART || Number.isNaN(distance)) {
          go(node, this.next(node, x), part);
          continue;
        }
        const share = 0.5 * erfc(-(distance / h) / Math.SQRT2);
        if (share >= LEAST_SHARE) go(node, above, part * (share > 1 - LEAST_SHARE ? 1 : share));
        if (share <= 1 - LEAST_SHARE) go(node, below, part * (share < LEAST_SHARE ? 1 : 1 - share));
      }
    }

    addRow(row, part, sums) {
      const { values, width } = this;
      for (let k = 0, at = row * width; k < width; ++k, ++at) sums[k] += part * values[at];
    }

    predict(x) {
      const sums = new Float64Array(this.width);
      const add = (node, child, part) => { if (child < 0) this.addRow(~child, part, sums); };
      for (const root of this.root) {
        if (root < 0) this.addRow(~root, 1, sums);
        else if (this.bandwidth.length) this.walk(root, x, add);
        else {
          let node = root;
          while (node >= 0) node = this.next(node, x);
          this.addRow(~node, 1, sums);
        }
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
      this.nSets = this.cut_set.reduce((a, b) => Math.max(a, b), 0) + 1;
      // Codes of the last row by each set of cut points, and what each factor adds to the classes.
      this.codes = new Int32Array(0);
      this.scores = new Float64Array(n * this.width);
      this.levels = new Int32Array(this.n_parents.reduce((a, b) => Math.max(a, b), 0) + 1);
      this.isOpen = new Uint8Array(this.width);
    }

    // Looks up what depends on features that differ from those of the last row.
    update(x) {
      const n = x.length;
      if (this.codes.length !== n * this.nSets) {
        this.codes = new Int32Array(n * this.nSets).fill(-2);
        this.changed = new Uint8Array(n * this.nSets);
      }
      for (let set = 0; set < this.nSets; ++set) this.cut(x, set);
      if (!this.changed.includes(1)) return;
      const { changed, path, pathAt, column } = this;
      for (let i = 0; i < this.n_factors.length; ++i) {
        const start = this.cut_set[i] * n;
        for (let f = this.firstFactor[i]; f < this.firstFactor[i + 1]; ++f) {
          let differs = changed[start + column[f]];
          for (let p = pathAt[f]; p < pathAt[f + 1]; ++p) differs |= changed[start + path[p]];
          if (differs) this.findScores(f, start);
        }
      }
    }

    // Labels are codes already; a number is how many cut points of a set lie below it.
    cut(x, set) {
      const start = set * x.length, { codes, changed, numeric, cutAt } = this;
      for (let j = 0, i = 0; i < x.length; ++i) {
        let code = x[i];
        if (j < numeric.length && numeric[j] === i) {
          const begin = cutAt[set * numeric.length + j], end = cutAt[set * numeric.length + j + 1];
          code = !Number.isNaN(code) ? lowerBound(this.cuts, begin, end, code) - begin
            : this.has_missing[j] ? end - begin + 1 : -1;
          ++j;
        }
        changed[start + i] = codes[start + i] === code ? 0 : 1;
        codes[start + i] = code;
      }
    }

    // The cell of outcome v at an entry of factor f, among all cells; -1 if it has none.
    findCell(f, entry, v) {
      if (this.is_dense[f]) return this.cellAt[f] + entry * this.n_outcomes[f] + v;
      const start = this.cellStartAt[f] + entry, outcomes = this.outcomeAt[f];
      const end = outcomes + this.cell_start[start + 1];
      const cell = lowerBound(this.outcome, outcomes + this.cell_start[start], end, v);
      return cell < end && this.outcome[cell] === v ? this.cellAt[f] + cell - outcomes : -1;
    }

    // From the deepest context that the row leads to, up to the first that answers for each class.
    findScores(f, start) {
      const { width, codes, scores, levels, isOpen, entry_start: entryStart } = this;
      const v = codes[start + this.column[f]], first = f * width;
      scores.fill(0, first, first + width);
      if (v < 0) return;
      const contexts = this.contextAt[f], starts = contexts + f, entries = this.entryAt[f];
      let level = 0;
      levels[0] = 0;
      for (; level < this.n_parents[f]; ++level) {
        const code = codes[start + this.path[this.pathAt[f] + level]];
        const at = starts + levels[level], end = contexts + this.child_start[at + 1];
        const child = lowerBound(this.value, contexts + this.child_start[at], end, code);
        if (child === end || this.value[child] !== code) break;
        levels[level + 1] = child - contexts;
      }
      isOpen.fill(1);
      let nOpen = width;
      for (; level >= 0 && nOpen > 0; --level) {
        const at = starts + levels[level];
        for (let e = entryStart[at + 1] - 1; e >= entryStart[at] && e > 0; --e) {
          const y = this.entry_class[entries + e];
          if (!isOpen[y]) continue;
          const cell = this.findCell(f, e, v);
          scores[first + y] += cell < 0 ? this.rest[entries + e] : this.score[cell];
          if (cell < 0 && this.rest_towards_parent[f]) continue;
          isOpen[y] = 0;
          --nOpen;
        }
      }
      if (nOpen === 0) return;
      const cell = this.findCell(f, 0, v);
      const score = cell < 0 ? this.rest[entries] : this.score[cell];
      for (let y = 0; y < width; ++y) if (isOpen[y]) scores[first + y] += score;
    }

    // Logarithms of the joint probabilities of a network and the row of the last update.
    joint(i) {
      const { width, scores } = this;
      const joint = this.log_prior.slice(i * width, (i + 1) * width);
      for (let f = this.firstFactor[i], at = f * width; f < this.firstFactor[i + 1]; ++f)
        for (let y = 0; y < width; ++y, ++at) joint[y] += scores[at];
      return joint;
    }

    // Networks whose joint probabilities are added up for the row of the last update.
    listUsed() {
      const last = this.n_factors.length - 1, used = [];
      for (let i = 0; i < last; ++i) {
        const code = this.codes[this.column[this.firstFactor[i]]];
        if (code >= 0 && this.guards[this.guardAt[i] + code]) used.push(i);
      }
      return used.length ? used : [last];
    }

    predict(x) {
      this.update(x);
      if (this.guards.length) return this.addUp();
      const n = this.n_factors.length, width = this.width, mean = new Float64Array(width);
      for (let i = 0; i < n; ++i) {
        const prior = this.log_prior.subarray(i * width, (i + 1) * width);
        const proba = normaliseJoint(this.joint(i), prior);
        for (let y = 0; y < width; ++y) mean[y] += proba[y] / n;
      }
      return mean;
    }

    addUp() {
      const total = this.listUsed().map((i) => this.joint(i)).reduce((sum, joint) =>
        sum.map((a, y) => {
          const b = joint[y], largest = Math.max(a, b);
          return largest === -Infinity ? a : largest + Math.log1p(Math.exp(Math.min(a, b) - largest));
        }));
      return normaliseJoint(total, this.log_prior.subarray(0, this.width));
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
    if (description.format !== 2)
      throw new Error(`format must be 2, got ${description.format}`);
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

  return { load, softmax, standardise, unpack };
});
