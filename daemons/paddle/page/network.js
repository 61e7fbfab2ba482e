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
// Boxes of the drawing, in lines from the inputs to the cost. Many ops side by side that do the same with parameters of the same shape
// are one box: an embedding of 26 features has 26 lookups.
function boxes(ops) {
  const lines = [], most = 6;
  const noteOf = op => op.inputs.split(" ").filter(n => model.parameters.has(n)).map(n => model.parameters.get(n).shape).join(" ");
  layers(ops).forEach((l, i) => (lines[l] = lines[l] || []).push({ops: [ops[i]], type: ops[i].type, note: noteOf(ops[i])}));
  const merged = lines.map(line => {
    if (line.length <= most) return line;
    const groups = new Map();
    for (const box of line) {
      const key = `${box.type} ${box.note}`;
      if (groups.has(key)) groups.get(key).ops.push(box.ops[0]); else groups.set(key, box);
    }
    return [...groups.values()];
  });
  return merged.flatMap(line => line.length <= most ? [line] : Array.from({length: Math.ceil(line.length / most)}, (_, k) => line.slice(k * most, (k + 1) * most)));
}
function drawNetwork() {
  const ops = model.ops.filter(Boolean), wide = 168, high = 34, gapX = 16, gapY = 26, rows = boxes(ops);
  const most = Math.max(...rows.map(r => r.length)), width = most * (wide + gapX) + gapX, height = rows.length * (high + gapY) + 8;
  rows.forEach((row, l) => row.forEach((box, k) => { box.x = (width - row.length * (wide + gapX) + gapX) / 2 + k * (wide + gapX); box.y = 4 + l * (high + gapY); }));
  const all = rows.flat(), svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, style: `width:${width}px`, role: "group", "aria-label": `${ops.length} ops; press one for its variables`});
  const boxOf = new Map(all.flatMap(box => box.ops.map(op => [op, box]))), maker = new Map(), drawn = new Set();
  for (const op of ops) {
    const to = boxOf.get(op);
    for (const n of op.inputs.split(" ")) {
      const from = maker.get(n), key = from && `${all.indexOf(from)} ${all.indexOf(to)}`;
      if (!from || from === to || drawn.has(key)) continue;
      drawn.add(key);
      const x1 = from.x + wide / 2, y1 = from.y + high, x2 = to.x + wide / 2, y2 = to.y;
      const edge = draw("path", {d: `M${x1} ${y1}C${x1} ${y1 + gapY / 2} ${x2} ${y2 - gapY / 2} ${x2} ${y2}`, fill: "none", stroke: "var(--soft)", "stroke-opacity": 0.6});
      edge.append(draw("title", {}, from.ops.length > 1 ? `${n} and others` : n));
      svg.append(edge);
    }
    for (const n of op.outputs.split(" ")) if (n) maker.set(n, to);
  }
  for (const box of all) {
    const first = box.ops[0].number, name = box.ops.length > 1 ? `${box.ops.length} × ${box.type}` : box.type;
    const group = button(draw("g"), `op ${first}`, `${name}${box.note ? ", parameter " + box.note : ""}; show its variables`, () => {
      chosenOp = chosenOp === first ? null : first;
      model.drawn = false;
      network();
    });
    group.append(draw("rect", {x: box.x, y: box.y, width: wide, height: high, rx: 6, fill: chosenOp === first ? "var(--grid)" : "var(--card)",
      stroke: box.note ? "var(--s0)" : "var(--line)", "stroke-width": box.note ? 2 : 1.2}));
    group.append(draw("text", {x: box.x + wide / 2, y: box.y + (box.note ? 15 : 21), "text-anchor": "middle", style: "fill: var(--text)"}, brief(name, 25)));
    if (box.note) group.append(draw("text", {x: box.x + wide / 2, y: box.y + 29, "text-anchor": "middle"}, box.note.length > 26 ? box.note.slice(0, 25) + "…" : box.note));
    svg.append(group);
  }
  renew("network", svg);
  const view = $("network");
  if (!model.centred) view.scrollLeft = (view.scrollWidth - view.clientWidth) / 2;
  model.centred = true;
  const box = all.find(b => b.ops[0].number === chosenOp), place = $("op-details");
  place.hidden = !box;
  const names = of => [...new Set(box.ops.flatMap(op => of(op).split(" ")))].filter(Boolean).join(", ");
  if (box) place.replaceChildren(make("h3", {}, box.type), make("dl", {class: "facts"}, make("dt", {}, "reads"), make("dd", {}, names(op => op.inputs)),
    make("dt", {}, "makes"), make("dd", {}, names(op => op.outputs))));
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
  say("network-words", !ops.length ? (all.length ? "" : "The events of trainer 0 tell of the network; pservers do not know it.") :
    ops.length < model.opsInAll ? `${ops.length} of ${model.opsInAll} ops.` : `${ops.length} ops, ${all.reduce((a, p) => a + p.elements, 0).toLocaleString("en")} numbers in ${all.length} parameters.`);
  if (ops.length && !model.drawn) { model.drawn = true; drawNetwork(); }
  if (!ops.length) fill("network");
  const change = p => p.first === p || p.first.norm === 0 ? "–" : p.norm >= 10 * p.first.norm ? `× ${short(p.norm / p.first.norm)}` : `${p.norm >= p.first.norm ? "+" : "−"}${Math.abs(100 * (p.norm / p.first.norm - 1)).toPrecision(3)} %`;
  fill("parameters", all.length ? table([["name"], ["shape"], ["numbers", "n"], ["norm", "n"], ["since first seen", "n"], ["mean", "n"], ["min", "n"], ["max", "n"], ["values"], ["of step", "n"]],
    all.map(p => [[p.name], [p.shape], [count(p.elements), "n"], [short(p.norm), "n"], [change(p), "n"], [short(p.mean), "n"], [short(p.min), "n"], [short(p.max), "n"], [bins(p)], [p.step, "n"]])) :
    make("p", {class: "soft"}, "Nothing is known of them: trainer 0 looks at them before its first batch and after passes (--parameter_period), tables excepted."));
}
