// Intervals of class probabilities: the twin of `Calibration.find_interval` in steps/intervals.py.
//
//   priorwise.findIntervals(proba, calibration, deviations)  // { lower, upper }
(function (priorwise) {
  "use strict";

  priorwise.findIntervals = (proba, { error, root, least_open: leastOpen }, deviations) => {
    const lower = Float64Array.from(proba), upper = Float64Array.from(proba);
    if (proba.length === 1) return { lower, upper };
    proba.forEach((p, y) => {
      const share = Math.max(p * (1 - p), 0);
      const spread = (deviations * deviations * error / root) * Math.sqrt(share + leastOpen);
      const middle = p + spread / 2, reach = Math.sqrt(spread * (share + spread / 4));
      lower[y] = Math.min(Math.max((middle - reach) / (1 + spread), 0), p);
      upper[y] = Math.max(Math.min((middle + reach) / (1 + spread), 1), p);
    });
    return { lower, upper };
  };
})(typeof module === "object" && module.exports ? require("./evaluator.js") : self.priorwise);
