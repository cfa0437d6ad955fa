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

// ---- Trees -------------------------------------------------------------------------------------

const LEAST_PART = 1e-4, LEAST_SHARE = 1e-6;
const NOT_AT_MOST = 1, EQUAL = 2;

// Lists both children of each node, a node or ~row of a leaf: the next of their tree.
function numberChildren({ split, root }) {
  const n = split.length, child = new Int32Array(2 * n), inner = root.filter((one) => one >= 0);
  for (let t = 0, tree = 0, row = 0; t < root.length; ++t) {
    if (root[t] < 0) {
      ++row;
      continue;
    }
    const end = ++tree < inner.length ? inner[tree] : n;
    for (let i = root[t], node = root[t] + 1; i < end; ++i) {
      child[2 * i] = split[i] & 4 ? ~row++ : node++;
      child[2 * i + 1] = split[i] & 8 ? ~row++ : node++;
    }
  }
  return child;
}

// The rows of leaves, then those of inner nodes, from the counts of the leaves. The nodes and the
// leaves of a tree follow each other, and children come after their parents.
function smoothRows({ root, child, counts, leafStart: start }, width) {
  const { strength, n_kinds: nKinds, kind, count } = counts;
  const nLeaves = nKinds.length, nInner = child.length / 2;
  const values = new Float32Array((nLeaves + nInner) * width);
  const uniform = new Float64Array(width).fill(1 / width);
  // Sets a leaf's row, given that of its parent and its weight.
  const setLeaf = (leaf, above, at, c) => {
    let total = c;
    for (let i = start[leaf]; i < start[leaf + 1]; ++i) total += count[i];
    for (let k = 0; k < width; ++k) values[leaf * width + k] = c * above[at + k] / total;
    for (let i = start[leaf]; i < start[leaf + 1]; ++i)
      values[leaf * width + kind[i]] = (count[i] + c * above[at + kind[i]]) / total;
  };
  for (let t = 0, first = 0; t < root.length; ++t) {
    if (root[t] < 0) {
      setLeaf(~root[t], uniform, 0, 1);
      continue;
    }
    let last = t + 1;
    while (last < root.length && root[last] < 0) ++last;
    const end = last < root.length ? root[last] : nInner;
    const rows = new Float64Array((end - first) * width);
    for (let node = end - 1; node >= first; --node)
      for (let side = 0, at = (node - first) * width; side < 2; ++side) {
        const below = child[2 * node + side], from = (below - first) * width;
        if (below >= 0) for (let k = 0; k < width; ++k) rows[at + k] += rows[from + k];
        else for (let i = start[~below]; i < start[~below + 1]; ++i) rows[at + kind[i]] += count[i];
      }
    // Counts to probabilities; those of the parent are there already.
    const smooth = (node, above, at, c) => {
      const own = (node - first) * width;
      let total = c;
      for (let k = 0; k < width; ++k) total += rows[own + k];
      for (let k = 0; k < width; ++k) rows[own + k] = (rows[own + k] + c * above[at + k]) / total;
    };
    smooth(root[t], uniform, 0, 1);
    for (let node = first; node < end; ++node)
      for (let side = 0, at = (node - first) * width; side < 2; ++side) {
        const below = child[2 * node + side];
        if (below >= 0) smooth(below, rows, at, strength);
        else setLeaf(~below, rows, at, strength);
      }
    values.set(rows, (nLeaves + first) * width);
    first = end;
  }
  return values;
}

// The rows of the leaves that a row reaches, from the counts of the leaves: those below each node of
// a path are added up, and nothing is computed for other nodes.
class PathRows {
  constructor(trees) {
    this.trees = trees;
    this.inner = trees.root.filter((root) => root >= 0);
    this.mark = new Int32Array(trees.child.length / 2);
    this.sums = new Float64Array(0);
    this.path = [];
    this.p = new Float64Array(trees.width);
  }

  addTo(x, total) {
    const { trees, inner, p } = this, { root, width } = trees;
    for (let t = 0, tree = 0; t < root.length; ++t) {
      let n = 0;
      const { path } = this;
      for (let node = root[t]; ; node = trees.next(node, x)) {
        path[n++] = node;
        if (node < 0) break;
      }
      if (this.sums.length < n * width) this.sums = new Float64Array(2 * n * width);
      this.sums.fill(0, 0, n * width);
      if (root[t] >= 0)
        this.count(root[t], ++tree < inner.length ? inner[tree] : this.mark.length);
      this.addLeaf(~path[n - 1], n - 1);
      for (let at = (n - 1) * width - 1; at >= 0; --at) this.sums[at] += this.sums[at + width];
      p.fill(1 / width);
      for (let k = 0; k < n; ++k) this.shrink(k, k === 0 ? 1 : trees.counts.strength);
      for (let y = 0; y < width; ++y) total[y] += Math.fround(p[y]);
    }
  }

  // Adds the counts of all other leaves of a tree to the last node of the path above them.
  count(first, end) {
    const { mark, path } = this, { child } = this.trees;
    mark[first] = 0;
    for (let node = first; node < end; ++node)
      for (let at = 2 * node; at < 2 * node + 2; ++at) {
        const below = child[at], place = mark[node];
        const isOnPath = path[place] === node && below === path[place + 1];
        if (below >= 0) mark[below] = isOnPath ? place + 1 : place;
        else if (!isOnPath) this.addLeaf(~below, place);
      }
  }

  addLeaf(leaf, place) {
    const { leafStart, width, counts: { kind, count } } = this.trees;
    for (let i = leafStart[leaf]; i < leafStart[leaf + 1]; ++i)
      this.sums[place * width + kind[i]] += count[i];
  }

  shrink(place, c) {
    const { p, sums } = this, at = place * p.length;
    let total = c;
    for (let y = 0; y < p.length; ++y) total += sums[at + y];
    for (let y = 0; y < p.length; ++y) p[y] = (sums[at + y] + c * p[y]) / total;
  }
}

class Trees {
  constructor(step, classes) {
    Object.assign(this, step);
    this.width = classes.length;
    this.child = numberChildren(step);
    if (step.counts) this.smoothLater();
    else if (step.inner) this.addInner(step.inner);
  }

  // All rows are computed when something asks for `values`; predictions until then do without.
  smoothLater() {
    this.leafStart = cumulate(this.counts.n_kinds);
    this.paths = new PathRows(this);
    Object.defineProperty(this, "values", { configurable: true, get: () => {
      Object.defineProperty(this, "values", { value: smoothRows(this, this.width) });
      this.paths = null;
      return this.values;
    } });
    this.listOwn(this.counts.n_kinds.length);
  }

  // Takes the rows of inner nodes, which explanations need and predictions do not.
  addInner(rows) {
    const values = new this.values.constructor(this.values.length + rows.length);
    values.set(this.values);
    values.set(rows, this.values.length);
    const nLeaves = this.values.length / this.width;
    this.values = values;
    this.listOwn(nLeaves);
  }

  // The rows of inner nodes follow those of the leaves.
  listOwn(first) {
    const n = this.feature.length;
    this.own = new Int32Array(n);
    for (let node = 0; node < n; ++node) this.own[node] = first + node;
  }

  next(node, x) {
    const value = x[this.feature[node]], threshold = this.threshold[node], way = this.split[node] & 3;
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
    if (this.paths) this.paths.addTo(x, sums);
    else for (const root of this.root) {
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
