// ---- Logistic models ---------------------------------------------------------------------------

function takeLog(logs, j, number) {
  const sign = logs.sign[j];
  return sign ? sign * Math.log(Math.max(logs.shift[j] + sign * number, logs.least[j])) : number;
}

function standardise(step, j, number) {
  const read = step.logs ? takeLog(step.logs, j, number) : number;
  const z = (read - step.mean[j]) / step.scale[j];
  return Number.isNaN(z) ? 0 : Math.max(-step.max_deviation, Math.min(step.max_deviation, z));
}

function addLine(terms, at, scores) {
  for (let y = 0; y < scores.length; ++y) scores[y] += terms[at + y];
}

// Adds the terms of labels to the array that `target` returns for their feature.
function addLabels(step, x, target) {
  for (let i = 0; i < step.nominal.length; ++i) {
    const code = x[step.nominal[i]], first = step.first_label[i];
    if (code >= 0 && code < step.first_label[i + 1] - first)
      addLine(step.label_score, (first + code) * step.width, target(step.nominal[i]));
  }
}

class Pieces {
  constructor(step, classes) {
    Object.assign(this, step);
    this.width = classes.length;
  }

  // Adds the terms of each feature to the array that `target` returns for it.
  addTerms(x, target) {
    const width = this.width;
    addLabels(this, x, target);
    for (let j = 0; j < this.numeric.length; ++j) {
      const number = x[this.numeric[j]], scores = target(this.numeric[j]);
      if (Number.isNaN(number)) addLine(this.missing_score, j * width, scores);
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

class Landmarks {
  constructor(step, classes) {
    Object.assign(this, step);
    this.width = classes.length;
  }

  // The likeness of a row to each landmark.
  likenesses(x) {
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
    return distance.map((square) => Math.exp(-Math.min(this.rate * square, 708)));
  }

  predict(x) {
    return this.predictFrom(this.likenesses(x));
  }

  predictFrom(likeness) {
    const n = likeness.length, scores = Float64Array.from(this.intercept);
    for (let y = 0; y < this.width; ++y)
      for (let l = 0, at = y * n; l < n; ++l, ++at) scores[y] += this.coefficient[at] * likeness[l];
    return softmax(scores);
  }
}

class QuadraticForms {
  constructor(step, classes) {
    Object.assign(this, step);
    this.width = classes.length;
  }

  // The form of a class, or the one that labels of parents lead to from it on.
  find(x, y) {
    let g = y;
    for (let l = 0; l < this.parents.length; ++l) {
      const code = x[this.parents[l]], n = this.n_labels[l];
      const at = this.first_child[l] + (g - this.first_form[l]) * n + code;
      const next = code >= 0 && code < n ? this.child[at] : -1;
      if (next < 0) break;
      g = next;
    }
    return g;
  }

  // Adds the terms of each feature to the array that `target` returns for it: a pair's term is that
  // of both, in halves, and a constant that of the first parent.
  addTerms(x, target) {
    const n = this.numeric.length, z = new Float64Array(n), step = new Float64Array(n);
    addLabels(this, x, target);
    for (let j = 0; j < n; ++j) z[j] = standardise(this, j, x[this.numeric[j]]);
    const scores = Array.from(this.numeric, (feature) => target(feature));
    for (let y = 0; y < this.width; ++y) {
      const g = this.find(x, y);
      if (this.parents.length) target(this.parents[0])[y] += this.constant[g];
      for (let i = 0, at = g * n * (n + 1) / 2; i < n; ++i) {
        let half = 0;
        step[i] = z[i] - this.centre[g * n + i];
        for (let j = 0; j < i; ++j, ++at) {
          const term = 0.5 * step[i] * step[j] * this.form[at];
          scores[j][y] += term;
          half += term;
        }
        scores[i][y] += half + step[i] * step[i] * this.form[at++];
      }
    }
  }

  predict(x) {
    const scores = Float64Array.from(this.intercept);
    this.addTerms(x, () => scores);
    return softmax(scores);
  }
}
