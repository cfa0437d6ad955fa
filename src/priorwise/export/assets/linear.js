// ---- Logistic models ---------------------------------------------------------------------------

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
