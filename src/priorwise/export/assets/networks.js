// ---- Networks ----------------------------------------------------------------------------------

// A score as it is stored: the nearest multiple of 2^-24, in 32 bits.
function roundScore(score) {
  const size = Math.floor(Math.abs(score) * 0x1000000 + 0.5) / 0x1000000;
  return Math.fround(score < 0 ? -size : size);
}

// Scores of factors from counts, by the rules of `find_cell_counts` in Python.
class CountedScore {
  constructor(networks) {
    this.networks = networks;
    this.levelAt = cumulate(networks.n_parents.map((n) => n + 2));
    const { width } = networks;
    // Of each class on the way down: the estimate, its logarithm, and its score before rounding.
    this.p = new Float64Array(width);
    this.log = new Float64Array(width);
    this.exact = new Float64Array(width);
  }

  // Sets the scores of a factor, from the root to the deepest context that the row leads to.
  find(f, start) {
    const { networks, p, log, exact } = this, { width, codes, scores } = networks;
    const v = codes[start + networks.column[f]], first = f * width;
    scores.fill(0, first, first + width);
    if (v < 0) return;
    const contexts = networks.contextAt[f], starts = contexts + f, entries = networks.entryAt[f];
    const firstLevel = this.levelAt[f];
    p[0] = 1 / networks.n_outcomes[f];
    log[0] = exact[0] = 0;
    scores[first] = -Math.log(networks.n_outcomes[f]);
    this.step(f, 0, v, firstLevel, 0);
    p.fill(p[0]);
    log.fill(log[0]);
    exact.fill(exact[0]);
    scores.fill(scores[first], first, first + width);
    const { entry_start: entryStart, child_start: childStart, value } = networks;
    for (let context = 0, depth = 0; ; ++depth) {
      const at = starts + context;
      for (let e = Math.max(1, entryStart[at]); e < entryStart[at + 1]; ++e)
        this.step(f, e, v, firstLevel + depth + 1, networks.entry_class[entries + e]);
      if (depth === networks.n_parents[f]) return;
      const code = codes[start + networks.path[networks.pathAt[f] + depth]];
      const end = contexts + childStart[at + 1];
      const child = lowerBound(value, contexts + childStart[at], end, code);
      if (child === end || value[child] !== code) return;
      context = child - contexts;
    }
  }

  // Goes on to an entry of class y, which has n of its rows at outcome v.
  step(f, e, v, level, y) {
    const { networks, p, log, exact } = this, { counts, scores, outcome } = networks;
    const { count } = counts, isDense = networks.is_dense[f];
    const nOutcomes = networks.n_outcomes[f], entryCells = networks.cellStartAt[f] + e;
    const start = isDense ? e * nOutcomes : networks.cell_start[entryCells];
    const end = isDense ? start + nOutcomes : networks.cell_start[entryCells + 1];
    const cells = networks.cellAt[f], outcomes = networks.outcomeAt[f];
    let total = 0, n = -1;
    for (let cell = start; cell < end; ++cell) {
      total += count[cells + cell];
      if ((isDense ? cell - start : outcome[outcomes + cell]) === v) n = count[cells + cell];
    }
    const c = counts.concentration[level], weight = counts.weight[level], at = f * networks.width + y;
    const estimate = (Math.max(n, 0) + c * p[y]) / (total + c), logEstimate = Math.log(estimate);
    exact[y] += weight * (logEstimate - log[y]);
    p[y] = estimate;
    log[y] = logEstimate;
    scores[at] = n >= 0 ? roundScore(exact[y])
      : this.addRest(networks.entryAt[f] + e, weight * Math.log(c / (total + c)), scores[at], e === 0);
  }

  // The score of an outcome that an entry does not list, given the score above.
  addRest(entry, rest, above, isRoot) {
    const { odd_entry: odd, rest: rests } = this.networks.counts;
    const place = lowerBound(odd, 0, odd.length, entry);
    if (place < odd.length && odd[place] === entry) return rests[place] + (isRoot ? 0 : above);
    return isRoot ? roundScore(rest + above) : roundScore(rest) + above;
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
    this.cellStartAt = new Int32Array(n + 1);
    this.outcomeAt = new Int32Array(n + 1);
    // Cells of a factor are those of `score`, or of `count` if its scores follow from counts.
    this.isCounted = this.counts ? this.counts.is_counted : new Uint8Array(n);
    this.cellAt = new Int32Array(n);
    this.restAt = new Int32Array(n);
    let nScores = 0, nRests = 0, nCounts = 0;
    for (let f = 0; f < n; ++f) {
      const dense = this.is_dense[f];
      this.cellStartAt[f + 1] = this.cellStartAt[f] + (dense ? 0 : this.n_entries[f] + 1);
      this.outcomeAt[f + 1] = this.outcomeAt[f] + (dense ? 0 : this.n_cells[f]);
      this.restAt[f] = nRests;
      this.cellAt[f] = this.isCounted[f] ? nCounts : nScores;
      if (this.isCounted[f]) nCounts += this.n_cells[f];
      else {
        nScores += this.n_cells[f];
        nRests += this.n_entries[f];
      }
    }
    if (this.counts) this.estimate = new CountedScore(this);
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
        if (!differs) continue;
        if (this.isCounted[f]) this.estimate.find(f, start);
        else this.findScores(f, start);
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
    const rests = this.restAt[f];
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
        scores[first + y] += cell < 0 ? this.rest[rests + e] : this.score[cell];
        if (cell < 0 && this.rest_towards_parent[f]) continue;
        isOpen[y] = 0;
        --nOpen;
      }
    }
    if (nOpen === 0) return;
    const cell = this.findCell(f, 0, v);
    const score = cell < 0 ? this.rest[rests] : this.score[cell];
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
