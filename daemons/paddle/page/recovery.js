// ---- recovery and messages
// Of snapshots in a row only the last one is of interest.
function joinSnapshots(list) {
  const out = [];
  for (const e of list) {
    const last = out[out.length - 1];
    if (e.snapshot && last && last.snapshot) out[out.length - 1] = {...e, many: last.many + 1};
    else out.push({...e, many: 1});
  }
  return out.map(e => e.many > 1 ? {...e, text: `${e.text} (and ${e.many - 1} before it)`} : e);
}
function recovery() {
  const list = [...model.timeline].sort((a, b) => a.time - b.time);
  if (!list.length) { fill("strip"); fill("timeline", make("li", {class: "soft"}, "Nothing has happened yet.")); return; }
  const width = Math.max(300, $("strip").clientWidth || 800), first = list[0].time, last = Math.max(model.last, first + 1);
  const svg = draw("svg", {viewBox: `0 0 ${width} 44`, role: "img", "aria-label": "The same on a line of time"});
  const x = t => 8 + (width - 16) * (t - first) / (last - first);
  svg.append(draw("line", {x1: 8, x2: width - 8, y1: 14, y2: 14, stroke: "var(--line)", "stroke-width": 2}));
  for (const e of list) {
    const dot = draw("circle", {cx: x(e.time), cy: 14, r: e.kind === "soft" ? 3.5 : 5.5, fill: `var(--${e.kind})`});
    dot.append(draw("title", {}, `${clock(e.time)} ${e.text}`));
    svg.append(dot);
  }
  svg.append(draw("text", {x: 8, y: 38}, clock(first)), draw("text", {x: width - 8, y: 38, "text-anchor": "end"}, clock(last)));
  fill("strip", svg);
  fill("timeline", ...joinSnapshots(list).slice(-60).reverse().map(e => make("li", {}, make("time", {}, clock(e.time)), make("span", {class: e.kind}, e.text))));
}
const line = m => make("li", {}, make("time", {}, clock(m.time)), make("span", {class: m.kind}, m.text));
function latest() { fill("latest", ...model.messages.slice(-3).reverse().map(line)); }
function messages() {
  const list = model.messages.slice(-20).reverse();
  fill("messages", ...(list.length ? list.map(line) :
    [make("li", {class: "soft"}, "None.")]));
}
