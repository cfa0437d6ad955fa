// What each feature adds to the log-odds of the classes: the rules of the method `explain` in
// Python, for a model that evaluator.js has loaded from a description with explanations.
//
//   const { bias, terms } = priorwise.explain(model, row);  // terms[feature * n_classes + class]
//
// bias plus the terms of all features are the log-odds, exactly: the log probability of the class
// minus the mean of those of the others; of two classes, log p / (1 - p).
(function (priorwise) {
  "use strict";
  const TINY = 2.2250738585072014e-308;
  const { softmax, standardise } = priorwise;
  const log = (p) => Math.log(Math.max(p, TINY));

  // (p - q) / (log p - log q), by which changes of logarithms become changes of probabilities.
  function logMean(p, q) {
    p = Math.max(p, TINY);
    q = Math.max(q, TINY);
    const gap = Math.abs(Math.log(p) - Math.log(q));
    return Math.max(p, q) * (gap > 0 ? -Math.expm1(-gap) / gap : 1);
  }

  // Subtracts from each line of `width` numbers their weighted mean; by default all weigh the same.
  function centre(lines, width, weight) {
    for (let at = 0; at < lines.length; at += width) {
      let mean = 0;
      for (let y = 0; y < width; ++y) mean += lines[at + y] * (weight ? weight[y] : 1 / width);
      for (let y = 0; y < width; ++y) lines[at + y] -= mean;
    }
    return lines;
  }

  // The sum of the terms of each class, and of a first line.
  function addUp(bias, terms) {
    const sums = Float64Array.from(bias), width = sums.length;
    for (let at = 0; at < terms.length; at += width)
      for (let y = 0; y < width; ++y) sums[y] += terms[at + y];
    return sums;
  }

  function fromSums(bias, terms) {
    const width = bias.length;
    return { bias: centre(Float64Array.from(bias), width), terms: centre(terms, width) };
  }

  function fromProbabilityChanges(bias, changes, proba) {
    const width = bias.length, mean = proba.map((p, y) => logMean(p, bias[y]));
    for (let at = 0; at < changes.length; at += width)
      for (let y = 0; y < width; ++y) changes[at + y] /= mean[y];
    return fromSums(bias.map(log), changes);
  }

  // Terms of scores to terms of log probabilities, when their softmax goes from start to end.
  function centreTerms(start, end, terms) {
    const weight = end.map((p, y) => logMean(p, start[y]));
    const total = weight.reduce((a, b) => a + b);
    return centre(terms, start.length, weight.map((w) => w / total));
  }

  // The same probabilities with those below a floor raised to it.
  function raiseTo(floor, { bias, terms }) {
    const width = bias.length;
    const start = softmax(Float64Array.from(bias)), end = softmax(addUp(bias, terms));
    if (Math.min(...start, ...end) >= floor) return { bias, terms };
    centreTerms(start, end, terms);
    for (let y = 0; y < width; ++y) {
      const way = log(end[y]) - log(start[y]);
      const raised = log(Math.max(end[y], floor)) - log(Math.max(start[y], floor));
      if (way !== 0)
        for (let at = y; at < terms.length; at += width) terms[at] *= raised / way;
    }
    return fromSums(start.map((p) => log(Math.max(p, floor))), terms);
  }

  // Makes terms finite that are logarithms of zero, as replace_infinities in Python does.
  function replaceInfinities(logPrior, terms, best) {
    const width = logPrior.length, lost = (score) => score === -Infinity;
    if (!logPrior.some(lost) && !terms.some(lost)) return [logPrior, terms];
    const largest = Math.max(...logPrior);
    const prior = logPrior.map((score) => (lost(score) ? largest + Math.log(TINY) : score));
    const places = [], scores = Float64Array.from(prior);
    for (let y = 0; y < width; ++y) {
      const all = [], own = [];
      for (let at = y; at < terms.length; at += width) {
        all.push(at);
        if (lost(terms[at])) own.push(at);
        else scores[y] += terms[at];
      }
      places.push(own.length ? own : lost(logPrior[y]) ? all : []);
      if (places[y] === all) scores[y] = prior[y];
    }
    if (best === undefined)
      best = Math.max(...scores.map((score, y) => (places[y].length ? -Infinity : score)));
    if (lost(best)) return [prior, terms.fill(0)];
    places.forEach((own, y) => {
      for (const at of own) terms[at] = (best + Math.log(TINY) - scores[y]) / own.length;
    });
    return [prior, terms];
  }

  // ---- Steps -----------------------------------------------------------------------------------

  // What each feature changes on the paths of a row, and where the paths begin.
  function treeChanges(trees, x, nFeatures) {
    const { width, values, scale, own, feature } = trees;
    const changes = new Float64Array(nFeatures * width), start = new Float64Array(width);
    const rowOf = (node) => (node < 0 ? ~node : own[node]) * width;
    const add = (node, child, part) => {
      const from = rowOf(node), to = rowOf(child), at = feature[node] * width;
      if (to === from) return;
      for (let y = 0; y < width; ++y)
        changes[at + y] += scale * part * (values[to + y] - values[from + y]);
    };
    for (const root of trees.root) {
      for (let y = 0; y < width; ++y) start[y] += scale * values[rowOf(root) + y];
      trees.walk(root, x, add);
    }
    return { changes, start };
  }

  function explainTrees(trees, x) {
    const { changes, start } = treeChanges(trees, x, x.length);
    return fromProbabilityChanges(start, changes, addUp(start, changes));
  }

  // Of the row of the last update.
  function networkTerms(networks, i, nFeatures) {
    const { width, column, firstFactor, scores } = networks;
    const terms = new Float64Array(nFeatures * width);
    for (let f = firstFactor[i]; f < firstFactor[i + 1]; ++f)
      for (let y = 0; y < width; ++y) terms[column[f] * width + y] += scores[f * width + y];
    return terms;
  }

  const priorOf = (networks, i) =>
    networks.log_prior.slice(i * networks.width, (i + 1) * networks.width);

  function explainNetworks(networks, x) {
    if (networks.guards.length) return explainJoint(networks, x);
    networks.update(x);
    const { width } = networks, n = networks.n_factors.length;
    const start = new Float64Array(width), proba = new Float64Array(width);
    const changes = new Float64Array(x.length * width);
    for (let i = 0; i < n; ++i) {
      const [prior, terms] = replaceInfinities(
        priorOf(networks, i), networkTerms(networks, i, x.length));
      if (n === 1) return fromSums(prior, terms);
      const begin = softmax(Float64Array.from(prior)), end = softmax(addUp(prior, terms));
      centreTerms(begin, end, terms);
      for (let y = 0; y < width; ++y) {
        const mean = logMean(end[y], begin[y]);
        start[y] += begin[y] / n;
        proba[y] += end[y] / n;
        for (let at = y; at < terms.length; at += width) changes[at] += (mean * terms[at]) / n;
      }
    }
    return fromProbabilityChanges(start, changes, proba);
  }

  // AODE: the classes of all networks together are the outcomes of one softmax.
  function explainJoint(networks, x) {
    networks.update(x);
    const { width, column, firstFactor } = networks, used = networks.listUsed();
    const first = priorOf(networks, 0), zeros = new Float64Array(x.length * width);
    const [prior] = replaceInfinities(first, zeros);
    const joints = used.map((i) => networks.joint(i));
    const largest = Math.max(...joints.map((joint) => Math.max(...joint)));
    let sum = 0;
    for (const joint of joints) for (const score of joint) sum += Math.exp(score - largest);
    const best = largest === -Infinity ? largest : largest + Math.log(sum);
    const start = softmax(Float64Array.from(prior));
    const total = largest === -Infinity
      ? prior[0] - Math.log(start[0]) + Math.log(used.length) : best;
    const weight = new Float64Array(width), changes = new Float64Array(x.length * width);
    for (const i of used) {
      let terms = networkTerms(networks, i, x.length);
      const own = priorOf(networks, i), at = column[firstFactor[i]] * width;
      for (let y = 0; y < width; ++y) if (own[y] !== first[y]) terms[at + y] += own[y] - first[y];
      [, terms] = replaceInfinities(first, terms, best);
      const scores = addUp(prior, terms);
      for (let y = 0; y < width; ++y) {
        const mean = logMean(Math.exp(scores[y] - total), start[y] / used.length);
        weight[y] += mean;
        for (let k = y; k < terms.length; k += width) changes[k] += mean * terms[k];
      }
    }
    const sumOfWeights = weight.reduce((a, b) => a + b);
    for (let at = 0; at < changes.length; at += width) {
      const mean = changes.subarray(at, at + width).reduce((a, b) => a + b) / sumOfWeights;
      for (let y = 0; y < width; ++y) changes[at + y] -= weight[y] * mean;
    }
    return fromProbabilityChanges(start, changes, networks.predict(x));
  }

  // Of QuadraticForms too.
  function explainPieces(pieces, x) {
    const terms = new Float64Array(x.length * pieces.width);
    pieces.addTerms(x, (feature) => {
      const at = feature * pieces.width;
      return terms.subarray(at, at + pieces.width);
    });
    return fromSums(pieces.intercept, terms);
  }

  // From a row without labels, whose numbers are the mean, to the row, by squares of distances.
  function explainLandmarks(landmarks, x) {
    const { width, nominal, numeric, missing, rate, coefficient } = landmarks;
    const n = coefficient.length / width, steps = [];
    const before = new Float64Array(n), after = new Float64Array(n);
    for (let i = 0; i < nominal.length + missing.length; ++i) {
      const feature = i < nominal.length ? nominal[i] : numeric[missing[i - nominal.length]];
      const code = i < nominal.length ? x[feature] : Number.isNaN(x[feature]) ? 0 : -1;
      const step = new Float64Array(n);
      for (let l = 0; l < n; ++l) {
        const other = landmarks.landmark_codes[i * n + l];
        before[l] += other >= 0 ? 1 : 0;
        step[l] = code < 0 ? 0 : code === other ? -1 : 1;
      }
      steps.push([feature, step]);
    }
    for (let j = 0; j < numeric.length; ++j) {
      const z = Math.fround(standardise(landmarks, j, x[numeric[j]])), step = new Float64Array(n);
      for (let l = 0; l < n; ++l) {
        const other = landmarks.landmark_values[j * n + l];
        before[l] += other * other;
        step[l] = z * (z - 2 * other);
      }
      steps.push([numeric[j], step]);
    }
    after.set(before);
    for (const [, step] of steps) for (let l = 0; l < n; ++l) after[l] += step[l];
    const likeness = (square) => Math.exp(-Math.min(rate * Math.max(square, 0), 708));
    const bias = Float64Array.from(landmarks.intercept), slope = new Float64Array(n);
    for (let l = 0; l < n; ++l) {
      slope[l] = -rate * logMean(likeness(after[l]), likeness(before[l]));
      for (let y = 0; y < width; ++y) bias[y] += coefficient[y * n + l] * likeness(before[l]);
    }
    const terms = new Float64Array(x.length * width);
    const slopes = coefficient.map((weight, at) => weight * slope[at % n]);
    for (const [feature, step] of steps)
      for (let y = 0; y < width; ++y) {
        let sum = 0;
        for (let l = 0; l < n; ++l) sum += slopes[y * n + l] * step[l];
        terms[feature * width + y] += sum;
      }
    return fromSums(bias, terms);
  }

  // Generators, which yield after each member: pools of many classes take longer than a frame.
  function* explainPool(pool, x, read) {
    const bias = centre(Float64Array.from(pool.intercept), pool.intercept.length);
    const terms = new Float64Array(x.length * bias.length);
    for (let m = 0; m < pool.members.length; ++m) {
      const own = raiseTo(pool.floor, yield* explainModel(pool.members[m], read));
      for (let y = 0; y < bias.length; ++y) bias[y] += pool.weight[m] * own.bias[y];
      for (let at = 0; at < terms.length; ++at) terms[at] += pool.weight[m] * own.terms[at];
      yield;
    }
    return { bias, terms };
  }

  function* explainBoosted(boosted, x, read) {
    const { bias, terms } = yield* explainPool(boosted.base, x, read);
    const { changes, start } = treeChanges(boosted.trees, x, x.length);
    const steps = fromSums(start, changes);
    return {
      bias: bias.map((score, y) => score + steps.bias[y]),
      terms: terms.map((term, at) => term + steps.terms[at]),
    };
  }

  const RULES = {
    Trees: explainTrees, Networks: explainNetworks, Pieces: explainPieces, Landmarks: explainLandmarks,
    QuadraticForms: explainPieces,
  };
  const POOLS = { Pool: explainPool, Boosted: explainBoosted };

  function* explainModel({ kind, step, reader }, read) {
    if (POOLS[kind]) return yield* POOLS[kind](step, read[reader], read);
    return RULES[kind](step, read[reader]);
  }

  priorwise.explainInSteps = function* (loaded, row) {
    const read = loaded.read(row), blank = loaded.findBlank(read);
    const { bias, terms } = blank
      ? fromSums(blank.map(log), new Float64Array(read[0].length * blank.length))
      : yield* explainModel(loaded.model, read);
    const unit = bias.length / Math.max(bias.length - 1, 1);
    return { bias: bias.map((score) => unit * score), terms: terms.map((term) => unit * term) };
  };

  priorwise.explain = (loaded, row) => {
    const steps = priorwise.explainInSteps(loaded, row);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  };
})(typeof module === "object" && module.exports ? require("./evaluator.js") : self.priorwise);
