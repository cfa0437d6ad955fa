// Decisions by a threshold: the class, the costs and the threshold that a reader chooses.
(function () {
  "use strict";
  const { grid, classes } = JSON.parse(document.getElementById("decisions").content.textContent);
  const byId = (id) => document.getElementById(id);
  const [event, miss, alarm, threshold, slider] =
    ["event", "miss-cost", "alarm-cost", "threshold", "slider"].map(byId);
  let at = Number(slider.value);

  const whole = (x) => Math.round(x).toLocaleString("en-US");
  const cost = (x) => x.toLocaleString("en-US", { maximumFractionDigits: Math.abs(x) < 100 ? 2 : 0 });
  const percent = (p) => `${Number((100 * p).toFixed(2))}%`;

  // As `show_share` in Python.
  function share(part, all) {
    if (!all) return "\u2013";
    const text = (100 * part / all).toFixed(0);
    if (part > 0 && text === "0") return "<1%";
    return part < all && text === "100" ? ">99%" : `${text}%`;
  }

  function findNearest(p) {
    let best = 0;
    grid.forEach((one, i) => { if (Math.abs(one - p) < Math.abs(grid[best] - p)) best = i; });
    return best;
  }

  // As `find_top` in Python.
  function findTop(cost) {
    if (!(cost > 0)) return 5;
    const power = 10 ** Math.floor(Math.log10(cost / 5));
    return [1, 2, 5, 10].map((k) => 5 * k * power).find((top) => top >= cost) || 50 * power;
  }

  // What the fields hold. What is not a number changes nothing, and the field says why.
  const typed = new Map([miss, alarm, threshold].map((field) => [field, parseNumber(field.value)]));
  const readCost = (field) => Math.max(typed.get(field) || 0, 0);

  function whenTyped(field, run) {
    field.oninput = () => {
      let problem = "";
      try {
        typed.set(field, parseNumber(field.value));
      } catch (error) {
        problem = error.message;
      }
      field.setCustomValidity(problem);
      if (!problem) run();
    };
    field.onchange = () => field.reportValidity();
  }

  function show() {
    const own = classes[event.value], a = readCost(miss), b = readCost(alarm);
    const { n_event, n_other } = own, n_rows = n_event + n_other;
    const costs = grid.map((_, i) => a * (n_event - own.found[i]) + b * own.alarms[i]);
    const best = costs.indexOf(Math.min(...costs)), top = findTop(1000 * Math.max(...costs) / n_rows) * n_rows / 1000;
    const found = own.found[at], alarms = own.alarms[at], said = found + alarms;
    const texts = {
      threshold: percent(grid[at]), "by-costs": a + b > 0 ? percent(grid[findNearest(b / (a + b))]) : "\u2013", said: whole(said), "said-share": share(said, n_rows),
      found: whole(found), "found-share": share(found, n_event),
      missed: whole(n_event - found), "missed-share": share(n_event - found, n_event),
      alarms: whole(alarms), "alarm-share": share(alarms, n_other),
      right: whole(n_other - alarms), "right-share": share(n_other - alarms, n_other),
      precision: share(found, said), "miss-cost": cost(a), "alarm-cost": cost(b),
      cost: cost(costs[at]), "cost-per-1000": cost(1000 * costs[at] / n_rows),
      "none-cost": cost(a * n_event), "all-cost": cost(b * n_other),
      best: percent(grid[best]), "best-cost": cost(costs[best]),
    };
    const dots = {
      roc: [alarms / n_other, found / n_event], gains: [said / n_rows, found / n_event],
      precision: [found / n_event, said ? found / said : 1], cost: [grid[at], costs[at] / top],
    };
    document.querySelectorAll(".decision").forEach((one) => {
      one.hidden = one.dataset.class !== event.value;
    });
    document.querySelectorAll(`[data-class="${event.value}"]`).forEach((part) => {
      part.querySelectorAll("[data-fill]").forEach((one) => { one.textContent = texts[one.dataset.fill]; });
      part.querySelectorAll("[data-dot]").forEach((one) => {
        const [x, y] = placeOf(one, dots[one.dataset.dot]);
        one.setAttribute("cx", x);
        one.setAttribute("cy", y);
      });
      part.querySelectorAll('[data-curve="cost"]').forEach((line) => {
        const points = grid.map((t, i) => placeOf(line, [t, costs[i] / top]).map((z) => z.toFixed(1)).join());
        line.setAttribute("points", points.join(" "));
        line.parentNode.querySelectorAll("[data-at]").forEach((tick) => {
          tick.textContent = Number((tick.dataset.at * 1000 * top / n_rows).toPrecision(4)).toLocaleString("en-US");
        });
      });
    });
    slider.value = at;
    if (document.activeElement !== threshold) threshold.value = Number((100 * grid[at]).toFixed(2));
  }

  // The place in a picture of a point of its axes from 0 to 1.
  function placeOf({ dataset }, [x, y]) {
    return [Number(dataset.left) + x * dataset.width, Number(dataset.top) + (1 - y) * dataset.height];
  }

  function follow() {
    const a = readCost(miss), b = readCost(alarm);
    if (a + b > 0) at = findNearest(b / (a + b));
    show();
  }

  whenTyped(miss, follow);
  whenTyped(alarm, follow);
  slider.oninput = () => { at = Number(slider.value); show(); };
  whenTyped(threshold, () => {
    const percents = typed.get(threshold);
    if (percents !== null && percents >= 0 && percents <= 100) at = findNearest(percents / 100);
    show();
  });
  event.onchange = () => {
    [miss, alarm].forEach((field, k) => {
      field.value = classes[event.value].costs[k];
      field.setCustomValidity("");
      typed.set(field, parseNumber(field.value));
    });
    follow();
  };
})();
