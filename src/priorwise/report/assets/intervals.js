// Intervals of class probabilities: the twin of `Calibration.find_interval` in steps/intervals.py.
//
//   priorwise.findIntervals(proba, calibration, z)  // { lower, upper }
(function (priorwise) {
  "use strict";

  const findLowerEnd = (proba, inverse, z, continuity) => {
    const p = Math.max(proba - continuity * z * inverse, 0), spread = z * z * inverse;
    const reach = Math.sqrt(spread * Math.max(p * (1 - p) + spread / 4, 0));
    return Math.max((p + spread / 2 - reach) / (1 + spread), 0);
  };

  priorwise.findIntervals = (proba, { error, root, least_open: least, continuity }, z) => {
    const lower = Float64Array.from(proba), upper = Float64Array.from(proba);
    if (proba.length === 1) return { lower, upper };
    proba.forEach((p, y) => {
      const inverse = (error / root) * Math.sqrt(Math.max(p * (1 - p), 0) + least);
      lower[y] = Math.min(findLowerEnd(p, inverse, z, continuity), p);
      upper[y] = Math.max(1 - findLowerEnd(1 - p, inverse, z, continuity), p);
    });
    return { lower, upper };
  };
})(typeof module === "object" && module.exports ? require("./evaluator.js") : self.priorwise);
