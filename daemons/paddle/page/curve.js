function tiles() {
  const all = [...model.trainers.values()].filter(t => t.progress);
  const slowest = all.reduce((a, t) => !a || doneOf(t.progress) < doneOf(a.progress) ? t : a, null);
  const costs = all.map(t => t.progress.cost).filter(c => c !== null);
  const active = all.filter(t => t.state !== "finished"), left = timeLeft();
  const p = slowest && slowest.progress;
  const rows = [
    ["Step", p ? String(Math.max(...all.map(t => t.progress.step))) : "–"],
    ["Pass", p && (p.passes || p.batches) ? `${Math.min(p.pass + 1, p.passes || p.pass + 1)}` : "–", p && p.passes ? ` of ${p.passes}${p.batches ? `, batch ${p.batch} of ${p.batches}` : ""}` : ""],
    ["Cost", costs.length ? short(costs.reduce((a, b) => a + b) / costs.length) : "–"],
    ["Samples per second", active.length ? count(active.reduce((a, t) => a + (t.progress.samples_per_second || 0), 0)) : "–"],
    ["Time left", left === null ? "–" : duration(left)],
  ];
  for (const [name, value] of p ? Object.entries(p.evaluators || {}).slice(0, 3) : []) rows.push([name, short(value)]);
  fill("tiles", ...rows.map(([k, v, more]) => make("div", {}, make("dt", {}, k), make("dd", {}, v, more ? make("small", {}, more) : ""))));
}

// ---- the curve
function valueOf(p, metric) { return metric === "cost" ? p.cost : p.evaluators[metric]; }
function smoothed(points, metric, weight) {
  let last = null;
  return points.map(p => ({step: p.step, value: valueOf(p, metric)})).filter(p => p.value !== null && p.value !== undefined)
    .map(p => ({step: p.step, value: last = last === null ? p.value : weight * last + (1 - weight) * p.value}));
}
function thin(points, most) {
  if (points.length <= most) return points;
  const stride = points.length / most, out = [];
  for (let i = 0; i < most; ++i) out.push(points[Math.floor(i * stride)]);
  out.push(points[points.length - 1]);
  return out;
}
function ticks(low, high, most) {
  const raw = (high - low) / most, base = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(k => k * base >= raw) * base, out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(+v.toPrecision(12));
  return out;
}
function seriesNow() {
  const metric = $("metric").value, weight = +$("smooth").value, part = +$("range").value, last = stepNow();
  const inside = p => !zoom || p.step >= zoom.from && p.step <= zoom.to;
  return [...model.points.keys()].sort((a, b) => a - b).map(id => {
    const from = part < 1 ? last * (1 - part) : 0;
    return {id, points: smoothed(model.points.get(id), metric, weight).filter(p => p.step >= from && inside(p))};
  }).filter(s => s.points.length);
}
let geometry = null, zoom = null, drag = null;  // steps
function curve() {
  const svg = $("chart"), width = Math.max(300, svg.clientWidth || 800), height = width < 500 ? 220 : 300;
  const left = 58, right = width - 12, top = 10, bottom = height - 30;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const series = seriesNow(), metric = $("metric").value, log = $("log").checked;
  const values = series.flatMap(s => s.points.map(p => p.value)).filter(v => !log || v > 0), parts = [];
  geometry = null;
  if (!values.length) {
    parts.push(draw("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, zoom ? "no numbers between these steps" : "no numbers yet"));
    svg.replaceChildren(...parts);
    fill("legend");
    describe(series, metric);
    return;
  }
  let low = values.reduce((a, v) => Math.min(a, v)), high = values.reduce((a, v) => Math.max(a, v));
  if (low === high) { low -= Math.abs(low) * 0.1 || 1; high += Math.abs(high) * 0.1 || 1; if (log && low <= 0) low = high / 10; }
  const steps = series.flatMap(s => [s.points[0].step, s.points[s.points.length - 1].step]);
  const first = Math.min(...steps), last = Math.max(first + 1, ...steps), f = log ? Math.log10 : v => v;
  const x = s => left + (right - left) * (s - first) / (last - first);
  const y = v => bottom - (bottom - top) * (f(v) - f(low)) / (f(high) - f(low));
  const marks = log && f(high) - f(low) > 1 ? ticks(f(low), f(high), 5).map(v => 10 ** v) : ticks(low, high, 5);
  for (const v of marks) {
    if (y(v) > bottom + 1 || y(v) < top - 1) continue;
    parts.push(draw("line", {x1: left, x2: right, y1: y(v), y2: y(v), stroke: "var(--grid)"}));
    parts.push(draw("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, short(v)));
  }
  for (const s of ticks(first, last, width < 500 ? 3 : 7)) {
    parts.push(draw("text", {x: Math.min(Math.max(x(s), left + 10), right - 14), y: height - 10, "text-anchor": "middle"}, count(s)));
  }
  for (const s of series) {
    const d = thin(s.points.filter(p => !log || p.value > 0), 1500).map((p, i) => `${i ? "L" : "M"}${x(p.step).toFixed(1)} ${y(p.value).toFixed(1)}`).join("");
    parts.push(draw("path", {d, fill: "none", stroke: colour(s.id), "stroke-dasharray": s.id % 16 < 8 ? "none" : "7 3", "stroke-width": 1.8, "stroke-linejoin": "round"}));
  }
  for (const t of model.tests) {
    const v = valueOf(t, metric);
    if (v === undefined || v === null || t.step < first || v < low || v > high) continue;
    parts.push(draw("circle", {cx: x(t.step), cy: y(v), r: 4, fill: "var(--card)", stroke: "var(--text)", "stroke-width": 1.5}));
  }
  geometry = {series, x, first, last, left, right, top, bottom};
  if (reading !== null) {
    const at = Math.min(Math.max(reading, first), last);
    parts.push(draw("line", {x1: x(at), x2: x(at), y1: top, y2: bottom, stroke: "var(--soft)", "stroke-dasharray": "3 3"}));
  }
  if (drag && drag.to !== drag.from) {
    const [a, b] = [drag.from, drag.to].map(x).sort((p, q) => p - q);
    parts.push(draw("rect", {x: a, y: top, width: b - a, height: bottom - top, fill: "var(--accent)", "fill-opacity": 0.15}));
  }
  svg.replaceChildren(...parts);
  const names = series.map(s => make("span", {}, make("i", {style: `background:${colour(s.id)}`}), `trainer ${s.id}`));
  if (model.tests.some(t => valueOf(t, metric) !== undefined)) names.push(make("span", {}, "○ test"));
  names.push(make("span", {}, `${metric}, mean over the present pass, by step`));
  fill("legend", ...names);
  describe(series, metric);
}
// For those who hear the curve: it is a slider over its steps, whose text is what stands there, or where the curve begins and ends.
function describe(series, metric) {
  const svg = $("chart"), at = reading ?? (geometry ? geometry.last : 0);
  const whole = s => { const a = s.points[0], b = s.points[s.points.length - 1]; return `trainer ${s.id}: from ${short(a.value)} at step ${a.step} to ${short(b.value)} at step ${b.step}`; };
  const heard = reading !== null && geometry ? readings(reading).join(", ") : series.length ? series.slice(0, 4).map(whole).join(", ") : "no numbers yet";
  const facts = {"aria-label": `Curve of ${metric} over steps; arrow keys read single points, plus and minus zoom, 0 shows all`,
    "aria-valuemin": geometry ? Math.round(geometry.first) : 0, "aria-valuemax": geometry ? Math.round(geometry.last) : 0, "aria-valuenow": Math.round(at)};
  // While a job runs nobody wants to hear each of its steps.
  if (document.activeElement !== svg || reading !== null || !svg.hasAttribute("aria-valuetext")) facts["aria-valuetext"] = heard;
  for (const [k, v] of Object.entries(facts)) if (svg.getAttribute(k) !== String(v)) svg.setAttribute(k, v);
}
function readings(step) {
  return geometry.series.map(s => {
    const near = s.points.reduce((a, p) => Math.abs(p.step - step) < Math.abs(a.step - step) ? p : a);
    return `trainer ${s.id}: ${short(near.value)} at step ${near.step}`;
  });
}
function read(step) {
  reading = step;
  fill("reading", ...(geometry && step !== null ? readings(step).map(w => make("span", {}, w)) : []));
}
// ---- reading and zooming
function stepAt(e) {
  const box = $("chart").getBoundingClientRect(), at = (e.clientX - box.left) * ($("chart").viewBox.baseVal.width / box.width);
  const part = Math.min(1, Math.max(0, (at - geometry.left) / (geometry.right - geometry.left)));
  return geometry.first + part * (geometry.last - geometry.first);
}
function zoomTo(next) {
  zoom = next && next.to - next.from >= 2 ? next : null;
  $("whole").hidden = zoom === null;
  curve();
}
// To a part of what is shown, around the step that is read.
function zoomBy(factor) {
  const middle = reading ?? (geometry.first + geometry.last) / 2, half = (geometry.last - geometry.first) * factor / 2;
  zoomTo(middle - half <= 0 && middle + half >= stepNow() ? null : {from: Math.max(0, middle - half), to: middle + half});
}
$("chart").addEventListener("pointermove", e => {
  if (!geometry) return;
  read(stepAt(e));
  if (drag) drag.to = stepAt(e);
  curve();
});
$("chart").addEventListener("pointerdown", e => {
  if (!geometry || e.button !== 0) return;
  drag = {from: stepAt(e), to: stepAt(e)};
  $("chart").setPointerCapture(e.pointerId);
});
$("chart").addEventListener("pointerup", () => {
  const [from, to] = drag ? [drag.from, drag.to].sort((a, b) => a - b) : [0, 0];
  drag = null;
  if (to - from > (geometry ? geometry.last - geometry.first : 0) / 50) zoomTo({from, to}); else curve();
});
$("chart").addEventListener("pointercancel", () => { drag = null; curve(); });
$("chart").addEventListener("dblclick", () => zoomTo(null));
$("whole").addEventListener("click", () => { zoomTo(null); $("chart").focus(); });
$("chart").addEventListener("pointerleave", () => { read(null); curve(); });
$("chart").addEventListener("keydown", e => {
  if (e.key === "0" && zoom) { e.preventDefault(); return zoomTo(null); }
  if (geometry && (e.key === "+" || e.key === "-")) { e.preventDefault(); return zoomBy(e.key === "+" ? 0.5 : 2); }
  if (!geometry || !["ArrowLeft", "ArrowRight", "Home", "End", "Escape"].includes(e.key)) return;
  e.preventDefault();
  const stride = (geometry.last - geometry.first) / 50, now = reading ?? geometry.last;
  read(e.key === "Escape" ? null : e.key === "Home" ? geometry.first : e.key === "End" ? geometry.last :
    Math.min(geometry.last, Math.max(geometry.first, now + (e.key === "ArrowLeft" ? -stride : stride))));
  curve();
});
for (const id of ["metric", "range", "log", "smooth"]) $(id).addEventListener("input", curve);
