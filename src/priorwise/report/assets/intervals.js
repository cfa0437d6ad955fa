// Intervals of class probabilities, by the rules of report/explorer.py: the twin of
// models/intervals.py and of the methods `spread_parts` of the classifiers.
//
//   priorwise.findIntervals(loaded, rule, row, proba, level)  // { lower, upper }
(function (priorwise) {
  "use strict";

  const TINY = 1e-100, MAX_VARIANCE = 1e6, MIN_BETA = 1, MAX_LOG_ODDS = 30;
  const NO_MORE_THAN_ZERO = 1e-6, LEAST_COUNT = 1e-4, MEAN_FLOOR = 1e-12;
  // Of score_spread.cpp.
  const ROOT_CONCENTRATION = 2, ASSUMED_FACTOR = 1.5, LEAST_ROWS = 1e-3;
  const LEAST_VARIANCE = 1e-24;

  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const trigamma = (x) => (1 + (1 + x) / (x * (1 + 2 * x))) / x;

  // ---- Variances of scores ---------------------------------------------------------------------

  // Variances of the scores of a Dirichlet distribution, given one over its rows.
  const dirichlet = (proba, inverse) =>
    proba.map((p) => trigamma(Math.max(p / inverse, LEAST_COUNT)));

  // The log-odds of each class against the others, and their variances.
  function findLogOdds(proba, variance) {
    const p = proba.map((one) => Math.max(one, TINY)), n = p.length;
    const logOdds = new Float64Array(n), squared = new Float64Array(n);
    for (let y = 0; y < n; ++y) {
      let others = 0, shares = 0;
      for (let k = 0; k < n; ++k)
        if (k !== y) { others += p[k]; shares += p[k] * p[k] * variance[k]; }
      logOdds[y] = Math.log(p[y]) - Math.log(others);
      squared[y] = Math.min(variance[y] + shares / (others * others), MAX_VARIANCE);
    }
    return { logOdds, squared };
  }

  // `combine_parts` in Python.
  function combine(proba, parts, { factors, n_training_rows: nRows }) {
    const square = proba.map((p) => p * (1 - p)), gini = sum(square);
    let logInverse = factors.constant + factors.rows * Math.log(nRows / 1000)
      + factors.classes * Math.log(proba.length / 2) + factors.gini * Math.log(gini + 0.02);
    for (const [name, part] of Object.entries(parts)) {
      const { squared } = findLogOdds(proba, part);
      const share = sum(square.map((s, y) => s * s * Math.min(squared[y], 1e3)));
      logInverse += factors[name] * Math.log(share / Math.max(gini, 1e-12) + 1e-4);
    }
    return dirichlet(proba, Math.exp(Math.min(Math.max(logInverse, -12), 3)));
  }

  // ---- Parts, the twins of `spread_parts`: how much the parts of a model differ comes last ------

  function forestParts(rule, { step }, x) {
    const { width, values, scale } = step, mean = new Float64Array(width);
    const squares = new Float64Array(width), inverses = rule.inverse;
    let inverse = 0;
    const add = (row, part) => {
      for (let y = 0, at = row * width; y < width; ++y, ++at) {
        mean[y] += scale * part * values[at];
        squares[y] += scale * part * values[at] * values[at];
      }
      if (inverses) inverse += scale * part * inverses[row];
    };
    for (const root of step.root) {
      if (root < 0) add(~root, 1);
      else step.walk(root, x, (node, child, part) => { if (child < 0) add(~child, part); });
    }
    const proba = mean.map((p) => p / sum(mean));
    const between = sum(squares.map((square, y) => Math.max(square - proba[y] * proba[y], 0)));
    const share = between / Math.max(sum(proba.map((p) => p * (1 - p))), 1e-12);
    const parts = inverses ? { leaves: dirichlet(proba, inverse) } : {};
    parts.between = dirichlet(proba, Math.min(Math.max(share, 1e-6), 1));
    return { proba, parts };
  }

  function treeParts(rule, model, x, read) {
    const { step } = model, proba = model.predict(read);
    let inverse = 0;
    for (const root of step.root) {
      if (root < 0) inverse += rule.inverse[~root];
      else step.walk(root, x, (node, child, part) => {
        if (child < 0) inverse += part * rule.inverse[~child];
      });
    }
    return { proba, parts: { path: dirichlet(proba, inverse) } };
  }

  function boosterParts(rule, model, x, read) {
    const proba = model.predict(read);
    if (!rule.n_folds) return { proba, parts: { between: new Float64Array(proba.length) } };
    const { trees } = model.step, { width } = trees, n = rule.n_folds;
    const added = Array.from({ length: n }, (_, b) => {
      const scores = new Float64Array(width);
      for (let t = b * rule.n_rounds; t < (b + 1) * rule.n_rounds; ++t) {
        let node = trees.root[t];
        while (node >= 0) node = trees.next(node, x);
        trees.addRow(~node, 1, scores);
      }
      const mean = sum(scores) / width;
      return scores.map((score) => (score - mean) / rule.fold_scale);
    });
    const between = Float64Array.from({ length: width }, (_, y) => {
      const mean = sum(added.map((scores) => scores[y])) / n;
      return sum(added.map((scores) => (scores[y] - mean) ** 2)) / n;
    });
    return { proba, parts: { between } };
  }

  const lever = (rule, proba, size) => proba.map((p, y) => size * rule.class_scale[y] * (1 - p));

  function piecesParts(rule, model, x, read) {
    const { step } = model, width = rule.pieces.intercept.length;
    const roots = rule.own || (rule.own = new step.constructor({ ...step, ...rule.pieces }, { length: width }));
    const scores = Float64Array.from(rule.pieces.intercept), proba = model.predict(read);
    roots.addTerms(x, () => scores);
    let size = scores[width - 1];
    for (let d = 0; d < width - 1; ++d) size += scores[d] * scores[d];
    return { proba, parts: { all: lever(rule, proba, size) } };
  }

  function landmarkParts(rule, model, x) {
    const { step } = model, likeness = step.likenesses(x), n = likeness.length;
    const proba = step.predictFrom(likeness), { directions } = rule;
    let known = 0;
    for (let d = 0; d < directions.length; d += n) {
      let product = 0;
      for (let l = 0; l < n; ++l) product += likeness[l] * directions[d + l];
      known += product * product;
    }
    return { proba, parts: { all: lever(rule, proba, Math.max(1 - known, 1e-6) / rule.penalty) } };
  }

  // Variance of the logarithm of p where a of `total` rows have the value, the row itself included.
  function logVariance(a, total, share) {
    const rows = Math.max(a, LEAST_ROWS) + share;
    return Math.max(0, trigamma(rows) - trigamma(Math.max(total + share, rows)));
  }

  const probability = (score) => Math.exp(Math.min(score, 0));

  // Variances of the log joint of network i and the row of the last update: `sum_spreads`.
  function networkSpread(rule, networks, i, proba) {
    const { width, codes, firstFactor, child_start: childStart, entry_start: entryStart } = networks;
    const { concentrations, n_rows: nRows } = rule, start = networks.cut_set[i] * networks.nFeatures;
    const spread = new Float64Array(width), assumed = new Float64Array(width);
    const score = new Float64Array(width), variance = new Float64Array(width);
    const guessed = new Float64Array(width), level = new Int32Array(width);
    for (let f = firstFactor[i]; f < firstFactor[i + 1]; ++f) {
      const v = codes[start + networks.column[f]];
      if (v < 0) continue;
      const contexts = networks.contextAt[f], starts = contexts + f, entries = networks.entryAt[f];
      const levels = networks.pathAt[f] + f, nLevels = networks.n_parents[f] + 1;
      const scoreOf = (e, above) => {
        const cell = networks.findCell(f, e, v);
        if (cell >= 0) return networks.score[cell];
        return networks.rest[entries + e] + (networks.rest_towards_parent[f] ? above : 0);
      };
      // Sets `variance` and `guessed`, with a share of a row of each class added to the rows.
      const walk = (share) => {
        const step = (y, rows, q) => {
          const c = concentrations[levels + level[y]++], total = rows + c;
          const a = Math.max(total * probability(score[y]), LEAST_ROWS);
          const kept = Math.min(1, (c * q) / a) ** 2, own = logVariance(a, total, share);
          variance[y] = own + kept * variance[y];
          guessed[y] = (own * c) / total + kept * guessed[y];
        };
        const skipTo = (y, end) => { while (level[y] < end) step(y, 0, probability(score[y])); };
        const root = scoreOf(0, 0), rootRows = nRows[entries], total = rootRows + ROOT_CONCENTRATION;
        score.fill(root);
        level.fill(0);
        guessed.fill(0);
        variance.fill(rootRows > 0 ? logVariance(total * probability(root), total, share) : 0);
        for (let context = 0, depth = 0; ; ++depth) {
          const at = starts + context;
          for (let e = Math.max(1, entryStart[at]); e < entryStart[at + 1]; ++e) {
            const y = networks.entry_class[entries + e];
            skipTo(y, depth);
            const above = score[y];
            score[y] = scoreOf(e, above);
            step(y, nRows[entries + e], probability(above));
          }
          if (depth === nLevels - 1) break;
          const code = codes[start + networks.path[networks.pathAt[f] + depth]];
          const children = networks.value.subarray(contexts + childStart[at], contexts + childStart[at + 1]);
          const child = children.indexOf(code);
          if (child < 0) break;
          context = childStart[at] + child;
        }
        for (let y = 0; y < width; ++y) skipTo(y, nLevels);
        const kept = variance.map((v) => Math.max(v, LEAST_VARIANCE));
        return { root: kept.map((v) => 1 / Math.sqrt(v)), assumed: guessed.map((g, y) => g / kept[y]) };
      };
      // One over the root of the variance is linear in the share.
      const none = walk(0), one = walk(1), between = (a, b, share) => a + share * (b - a);
      for (let y = 0; y < width; ++y) {
        const own = between(none.root[y], one.root[y], proba[y]) ** -2;
        spread[y] += own;
        assumed[y] += own * between(none.assumed[y], one.assumed[y], proba[y]);
      }
    }
    return spread.map((v, y) => (v > 0 ? v + (ASSUMED_FACTOR * assumed[y] * assumed[y]) / v : v));
  }

  // One network, the mean of networks, or AODE's sum.
  function networkParts(rule, model, x, read) {
    const networks = model.step, { width } = networks, proba = model.predict(read);
    networks.nFeatures = x.length;
    const isSum = networks.guards.length > 0;
    const used = isSum ? networks.listUsed() : Array.from(networks.n_factors, (_, i) => i);
    const priorOf = (i) => networks.log_prior.subarray(i * width, (i + 1) * width);
    const joints = used.map((i) => networks.joint(i));
    const own = joints.map((joint, k) => priorwise.normaliseJoint(joint.slice(), priorOf(used[k])));
    if (!isSum && used.length === 1) {
      const spread = networkSpread(rule, networks, 0, own[0]);
      return { proba, parts: { all: spread.map((v, y) => v + rule.prior[y]) } };
    }
    const largest = Math.max(...joints.map((joint) => Math.max(...joint)));
    const total = largest === -Infinity ? 0
      : largest + Math.log(sum(joints.map((joint) => sum(joint.map((j) => Math.exp(j - largest))))));
    const weight = new Float64Array(width), score = new Float64Array(width);
    const squares = new Float64Array(width), measured = new Float64Array(width);
    const deviation = new Float64Array(width);
    used.forEach((i, k) => {
      const isMeasured = k < rule.max_measured;
      const spread = isMeasured ? networkSpread(rule, networks, i, own[k]) : null;
      for (let y = 0; y < width; ++y) {
        const log = Math.log(Math.max(own[k][y], MEAN_FLOOR));
        const w = Math.max(isSum ? Math.exp(joints[k][y] - total) : own[k][y], MEAN_FLOOR);
        weight[y] += w;
        score[y] += w * log;
        squares[y] += w * log * log;
        if (!isMeasured) continue;
        measured[y] += w;
        deviation[y] += w * Math.sqrt(spread[y]);
      }
    });
    const between = squares.map((one, y) =>
      Math.max(one / weight[y] - (score[y] / weight[y]) ** 2, 0));
    if (!rule.prior) return { proba, parts: { between } };
    const all = between.map((v, y) => v + (deviation[y] / measured[y]) ** 2 + rule.prior[y]);
    return { proba, parts: { all } };
  }

  function poolParts(rule, model, x, read) {
    const pool = model.step.base || model.step, width = pool.intercept.length;
    const size = sum(pool.weight.map(Math.abs)), deviation = new Float64Array(width);
    const scores = rule.members.map((own, m) => {
      const { proba, parts } = partsOf(own, pool.members[m], read);
      const variance = Object.values(parts).pop();
      if (variance)
        for (let y = 0; y < width; ++y) deviation[y] += Math.abs(pool.weight[m]) * Math.sqrt(variance[y]);
      const logs = proba.map((p) => Math.log(Math.max(p, pool.floor))), mean = sum(logs) / width;
      return logs.map((score) => score - mean);
    });
    const share = pool.weight.map((w) => Math.abs(w) / size), scale = sum(pool.weight) ** 2;
    const between = Float64Array.from({ length: width }, (_, y) => {
      const mean = sum(scores.map((own, m) => share[m] * own[y]));
      return scale * sum(scores.map((own, m) => share[m] * (own[y] - mean) ** 2));
    });
    return { proba: null, parts: { within: deviation.map((d) => d * d), between } };
  }

  const RULES = {
    forest: forestParts, tree: treeParts, boosters: boosterParts, pieces: piecesParts,
    landmarks: landmarkParts, networks: networkParts, pool: poolParts,
    none: (rule, model, x, read) => ({ proba: model.predict(read), parts: {} }),
    default: (rule, model, x, read) => {
      const proba = model.predict(read);
      return { proba, parts: { all: combine(proba, {}, rule) } };
    },
  };

  // The parts of the variance of a model's scores, and its probabilities.
  function partsOf(rule, model, read) {
    const result = RULES[rule.kind](rule, model, read[model.reader], read);
    if (!result.proba) result.proba = model.predict(read);
    return result;
  }

  // ---- Intervals -------------------------------------------------------------------------------

  // The coefficients that a cubic spline multiplies at a place of a grid of n points, and where.
  function findTaps(place, n) {
    const first = Math.min(Math.floor(place), n - 2), t = place - first, rest = 1 - t;
    const inner = (u) => (4 - 6 * u * u + 3 * u ** 3) / 6;
    const weights = [rest ** 3 / 6, inner(t), inner(rest), t ** 3 / 6];
    const mirror = (i) => (i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i);
    return weights.map((weight, k) => ({ weight, at: mirror(first - 1 + k) }));
  }

  // `find_beta_ends` in Python: the log-odds of a lower end.
  function findBetaEnd(logOdds, variance, { ends, shape: [nMeans, nVariances] }) {
    const reach = Math.asinh(MAX_LOG_ODDS / 2);
    const mean = Math.asinh(Math.min(Math.max(logOdds, -MAX_LOG_ODDS), MAX_LOG_ODDS) / 2) / reach;
    const columns = findTaps((nVariances - 1) * Math.sqrt(Math.log(variance) / Math.log(MAX_VARIANCE)), nVariances);
    let sum = 0;
    for (const row of findTaps(0.5 * (nMeans - 1) * (1 + mean), nMeans))
      for (const column of columns)
        sum += row.weight * column.weight * ends[row.at * nVariances + column.at];
    return 4 * Math.sinh(sum);
  }

  // `find_interval` in Python.
  function findEnds(proba, variance, level) {
    const { deviations } = level;
    level.table ||= { ends: priorwise.unpack(level.beta_ends), shape: level.beta_ends.shape };
    const { logOdds, squared } = findLogOdds(proba, variance);
    const lower = new Float64Array(proba.length), upper = new Float64Array(proba.length);
    for (let y = 0; y < proba.length; ++y) {
      if (squared[y] > MIN_BETA) {
        lower[y] = 1 / (1 + Math.exp(-findBetaEnd(logOdds[y], squared[y], level.table)));
        upper[y] = 1 / (1 + Math.exp(findBetaEnd(-logOdds[y], squared[y], level.table)));
      } else {
        const further = Math.abs(logOdds[y]) * (Math.sqrt(1 + (Math.PI / 8) * squared[y]) - 1);
        const centre = logOdds[y] + Math.sign(logOdds[y]) * Math.min(further, squared[y] / 2);
        const reach = deviations * Math.sqrt(squared[y]);
        lower[y] = 1 / (1 + Math.exp(reach - centre));
        upper[y] = 1 / (1 + Math.exp(-reach - centre));
      }
      if (lower[y] < NO_MORE_THAN_ZERO) lower[y] = 0;
      if (upper[y] > 1 - NO_MORE_THAN_ZERO) upper[y] = 1;
      lower[y] = Math.min(lower[y], proba[y]);
      upper[y] = Math.max(upper[y], proba[y]);
    }
    return { lower, upper };
  }

  // `proba` are the probabilities of the row; the arrays of `rule` are unpacked (`unpackAll`).
  priorwise.findIntervals = (loaded, rule, row, proba, level) => {
    if (proba.length === 1) return { lower: proba.slice(), upper: proba.slice() };
    const { model } = loaded, read = loaded.read(row);
    const { parts } = RULES[rule.kind](rule, model, read[model.reader], read);
    const variance = rule.factors && rule.kind !== "default"
      ? combine(proba, parts, rule) : Object.values(parts).pop();
    return findEnds(proba, variance, level);
  };
})(typeof module === "object" && module.exports ? require("./evaluator.js") : self.priorwise);
