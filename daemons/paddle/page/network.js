// ---- the model: its ops as boxes in layers, behind those whose results they read
let chosenOp = null;
function layers(ops) {
  const maker = new Map(), layer = [];
  ops.forEach((op, i) => {
    const reads = op.inputs.split(" ").filter(n => maker.has(n)).map(n => maker.get(n));
    layer[i] = reads.length ? 1 + Math.max(...reads.map(r => layer[r])) : 0;
    for (const n of op.outputs.split(" ")) if (n) maker.set(n, i);
  });
  return layer;
}
function drawNetwork() {
  const ops = model.ops.filter(Boolean), layer = layers(ops), wide = 168, high = 34, gapX = 16, gapY = 26;
  const rows = [];
  layer.forEach((l, i) => (rows[l] = rows[l] || []).push(i));
  const most = Math.max(...rows.map(r => r.length)), width = most * (wide + gapX) + gapX, height = rows.length * (high + gapY) + 8, at = [];
  rows.forEach((row, l) => row.forEach((i, k) => at[i] = {x: (width - row.length * (wide + gapX) + gapX) / 2 + k * (wide + gapX), y: 4 + l * (high + gapY)}));
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, style: `width:${width}px`, role: "group", "aria-label": `${ops.length} ops; press one for its variables`});
  const maker = new Map();
  ops.forEach((op, i) => {
    for (const n of op.inputs.split(" ")) {
      if (!maker.has(n)) continue;
      const from = at[maker.get(n)], x1 = from.x + wide / 2, y1 = from.y + high, x2 = at[i].x + wide / 2, y2 = at[i].y;
      const edge = draw("path", {d: `M${x1} ${y1}C${x1} ${y1 + gapY / 2} ${x2} ${y2 - gapY / 2} ${x2} ${y2}`, fill: "none", stroke: "var(--soft)", "stroke-opacity": 0.6});
      edge.append(draw("title", {}, n));
      svg.append(edge);
    }
    for (const n of op.outputs.split(" ")) if (n) maker.set(n, i);
  });
  ops.forEach((op, i) => {
    const own = op.inputs.split(" ").filter(n => model.parameters.has(n)), note = own.map(n => model.parameters.get(n).shape).join(" ");
    const group = button(draw("g"), `op ${op.number}`, `${op.type}${note ? ", parameter " + note : ""}; show its variables`, () => {
      chosenOp = chosenOp === op.number ? null : op.number;
      model.drawn = false;
      network();
    });
    group.append(draw("rect", {x: at[i].x, y: at[i].y, width: wide, height: high, rx: 6, fill: chosenOp === op.number ? "var(--grid)" : "var(--card)",
      stroke: own.length ? "var(--s0)" : "var(--line)", "stroke-width": own.length ? 2 : 1.2}));
    group.append(draw("text", {x: at[i].x + wide / 2, y: at[i].y + (note ? 15 : 21), "text-anchor": "middle", style: "fill: var(--text)"}, op.type));
    if (note) group.append(draw("text", {x: at[i].x + wide / 2, y: at[i].y + 29, "text-anchor": "middle"}, note.length > 26 ? note.slice(0, 25) + "…" : note));
    svg.append(group);
  });
  renew("network", svg);
  const op = model.ops[chosenOp], box = $("op-details");
  box.hidden = !op;
  if (op) box.replaceChildren(make("h3", {}, op.type), make("dl", {class: "facts"}, make("dt", {}, "reads"), make("dd", {}, op.inputs.split(" ").join(", ")),
    make("dt", {}, "makes"), make("dd", {}, op.outputs.split(" ").join(", "))));
}
// The histogram of a parameter as a few small bars.
function bins(p) {
  const counts = p.counts.split(" ").map(Number), most = Math.max(...counts, 1), wide = 3;
  const svg = draw("svg", {viewBox: `0 0 ${wide * counts.length} 18`, class: "bins", role: "img", "aria-label": `values between ${short(p.min)} and ${short(p.max)}`});
  counts.forEach((n, i) => svg.append(draw("rect", {x: i * wide, y: 18 - 18 * n / most, width: wide - 0.6, height: 18 * n / most, fill: "var(--s0)"})));
  return svg;
}
function network() {
  const ops = model.ops.filter(Boolean), all = [...model.parameters.values()];
  $("network-words").textContent = !ops.length ? (all.length ? "" : "The events of trainer 0 tell of the network; pservers do not know it.") :
    ops.length < model.opsInAll ? `${ops.length} of ${model.opsInAll} ops.` : `${ops.length} ops, ${all.reduce((a, p) => a + p.elements, 0).toLocaleString("en")} numbers in ${all.length} parameters.`;
  if (ops.length && !model.drawn) { model.drawn = true; drawNetwork(); }
  if (!ops.length) $("network").replaceChildren();
  const change = p => p.first === p || p.first.norm === 0 ? "–" : `${p.norm >= p.first.norm ? "+" : "−"}${Math.abs(100 * (p.norm / p.first.norm - 1)).toPrecision(3)} %`;
  $("parameters").replaceChildren(all.length ? table([["name"], ["shape"], ["numbers", "n"], ["norm", "n"], ["since first seen", "n"], ["mean", "n"], ["min", "n"], ["max", "n"], ["values"], ["of step", "n"]],
    all.map(p => [[p.name], [p.shape], [count(p.elements), "n"], [short(p.norm), "n"], [change(p), "n"], [short(p.mean), "n"], [short(p.min), "n"], [short(p.max), "n"], [bins(p)], [p.step, "n"]])) :
    make("p", {class: "soft"}, "Nothing is known of them: trainer 0 looks at them before its first batch and after passes (--parameter_period), tables excepted."));
}
