// ---- the cluster
let chosen = null;  // "trainer 1", "pserver host:port" or "slice …"; its details are shown
function choose(key) { chosen = chosen === key ? null : key; cluster(); if (chosen) $("details").scrollIntoView({block: "nearest"}); }
function table(heads, rows) {
  const cell = (tag, [value, kind]) => make(tag, {class: kind || ""}, value instanceof Node ? value : String(value));
  const head = h => { const th = cell("th", h); th.setAttribute("scope", "col"); return th; };
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map(head))),
    make("tbody", {}, ...rows.map(r => {
      const cells = r.map(c => cell("td", c));
      if (r.length < heads.length) cells[r.length - 1].setAttribute("colspan", heads.length - r.length + 1);
      return make("tr", {}, ...cells);
    })));
}
// The end of a text is what tells addresses apart. Where all are of one machine, on a narrow screen, the port does.
const brief = (text, most) => text.length > most ? "…" + text.slice(1 - most) : text;
const hostOf = endpoint => endpoint.slice(0, endpoint.lastIndexOf(":"));
const shortName = endpoint => status.shards.every(s => hostOf(s.endpoint) === hostOf(endpoint)) ? `port ${endpoint.split(":").pop()}` : brief(endpoint, 15);
const stateClass = s => /lost|failed|not answer/.test(s) ? "bad" : /joined|ready|training|finished/.test(s) ? "good" : "warn";
const stateWord = s => make("span", {class: stateClass(s)}, s);
function picture() {
  if (!status) return;
  const shards = status.shards, members = status.trainers;
  if (!members.length || shards.length * members.length > 400) { fill("picture"); return; }
  const narrow = document.documentElement.clientWidth < 500, width = Math.max(300, $("picture").clientWidth || 800);
  const gap = 34, height = 24 + gap * Math.max(shards.length, members.length), box = narrow ? 104 : 190;
  const y = (i, n) => 12 + height / 2 + (i - (n - 1) / 2) * gap - 12;
  const parts = [];
  let most = 1;
  for (const s of shards) for (const m of s.trainers || []) most = Math.max(most, m.bytes_in + m.bytes_out);
  shards.forEach((s, j) => (s.trainers || []).forEach(m => {
    const i = members.findIndex(t => t.id === m.id), bytes = m.bytes_in + m.bytes_out;
    const line = draw("line", {x1: box, y1: y(i, members.length), x2: width - box, y2: y(j, shards.length), stroke: m.state === "lost" ? "var(--bad)" : "var(--s0)",
      "stroke-opacity": bytes ? 0.65 : 0.2, "stroke-width": 1 + 6 * bytes / most, "stroke-dasharray": m.state === "lost" ? "4 4" : "none"});
    line.append(draw("title", {}, `trainer ${m.id} and ${s.endpoint}: ${size(m.bytes_in)} to the pserver, ${size(m.bytes_out)} back`));
    parts.push(line);
  }));
  const node = (x, at, name, state, key) => {
    const group = button(draw("g"), key, `${key}: ${state}; show details`, () => choose(key));
    group.append(draw("rect", {x, y: at - 12, width: box, height: 24, rx: 6, fill: key === chosen ? "var(--grid)" : "var(--card)", stroke: `var(--${stateClass(state)})`, "stroke-width": 1.5}));
    group.append(draw("text", {x: x + box / 2, y: at + 4, "text-anchor": "middle", style: "fill: var(--text)"}, name));
    parts.push(group);
  };
  members.forEach((t, i) => node(0.75, y(i, members.length), narrow ? `trainer ${t.id}` : `trainer ${t.id}: ${t.state}`, t.state, `trainer ${t.id}`));
  shards.forEach((s, j) => {
    const state = s.answered ? s.state : "does not answer";
    node(width - box - 0.75, y(j, shards.length), narrow ? shortName(s.endpoint) : s.answered ? brief(s.endpoint, 27) : `${brief(s.endpoint, 16)}: no answer`,
      state, `pserver ${s.endpoint}`);
  });
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `${members.length} trainers and ${shards.length} pservers; the tables below have the numbers`});
  svg.append(...parts);
  renew("picture", svg);
}
// Who has how much to do, and how unevenly.
function load() {
  const known = status.shards.filter(s => s.answered), of = s => s.load ? s.load.bytes : 0, sum = known.reduce((a, s) => a + of(s), 0);
  const narrow = document.documentElement.clientWidth < 500, most = Math.max(...known.map(of), 1), memory = known.reduce((a, s) => a + s.memory, 0);
  const uneven = (values, all) => all > 0 ? Math.max(...values) * values.length / all : 1;
  const factor = uneven(known.map(of), sum), held = uneven(known.map(s => s.memory), memory), words = [];
  if (known.length > 1) {
    words.push(sum === 0 ? "Nothing moves now." : factor < 1.2 ? "The traffic is even." :
      `${known.reduce((a, s) => of(s) > of(a) ? s : a).endpoint} has ${factor.toFixed(1)} times the mean traffic.`);
    words.push(held < 1.2 ? "The memory is even." : `${known.reduce((a, s) => s.memory > a.memory ? s : a).endpoint} holds ${held.toFixed(1)} times the mean memory.`);
  }
  say("skew", words.join(" "));
  fill("load", ...known.map(s => make("div", {class: "bar"}, make("span", {}, narrow ? shortName(s.endpoint) : s.endpoint), make("b", {style: `width:${Math.max(0.5, 100 * of(s) / most)}%`}),
    make("span", {}, s.load ? `${size(Math.round(of(s)))}/s, ${Math.round(100 * s.load.cpu)} % CPU` : "–"))));
}
// Of gradients by the versions that they lagged: 0, 1, 2 to 3, …
function lags(counts) {
  const most = Math.max(...counts), name = i => i < 2 ? String(i) : i === counts.length - 1 ? `${2 ** (i - 1)} and more` : `${2 ** (i - 1)} to ${2 ** i - 1}`;
  return counts.map((n, i) => [n, i]).filter(([n]) => n > 0).map(([n, i]) => make("div", {class: "bar"}, make("span", {}, `${name(i)} versions`),
    make("b", {style: `width:${Math.max(0.5, 100 * n / most)}%`}), make("span", {}, count(n))));
}
function details() {
  const place = $("details"), [kind, ...rest] = (chosen || "").split(" "), name = rest.join(" ");
  const facts = [], more = [];
  if (status && kind === "trainer") {
    const t = status.trainers.find(t => String(t.id) === name);
    if (t) {
      facts.push(["state", `${t.state} for ${duration(t.seconds)}`], ["process", t.process || "–"], ["joined", t.joins === 1 ? "once" : `${t.joins} times`], ["step", t.step],
        ["gradients used", count(t.applied)], ["too old", count(t.dropped)], ["with NaN or Inf", count(t.not_finite)], ["rounds that lack it", t.lacking],
        ["doing", t.error || t.doing || "–"]);
      for (const s of status.shards) for (const m of s.trainers || []) if (String(m.id) === name)
        facts.push([`with ${s.endpoint}`, `${size(m.bytes_in)} sent, ${size(m.bytes_out)} received`]);
      if ((t.staleness || []).some(n => n > 0)) more.push(make("h4", {}, "How old its gradients were"), ...lags(t.staleness));
    }
  } else if (status && kind === "pserver") {
    const s = status.shards.find(s => s.endpoint === name);
    if (s && !s.answered) facts.push(["state", `does not answer: ${s.problem}`]);
    if (s && s.answered) {
      facts.push(["state", s.state], ["mode", s.mode], ["running for", duration(s.uptime)], ["rollbacks", s.epoch], ["memory", size(s.memory)], ["CPU time", duration(s.cpu_seconds)],
        ["snapshots", s.snapshots_written ? `${s.snapshots_written} written, the last in ${short(s.snapshot_last)} s` : "none written"],
        ["answers that wait", `${s.waiting_requests} requests, ${size(s.queued_bytes)} not sent yet`], ["waits for", s.waiting || "nobody"]);
      if (s.snapshots_failed) facts.push(["snapshots that failed", s.snapshots_failed]);
      for (const t of s.tables || []) facts.push([`table ${t.name}`, `${count(t.rows)} rows, ${t.pulled ? `${(100 * (1 - t.missed / t.pulled)).toFixed(1)} % of pulls find theirs, ` : ""}` +
        `${count(t.not_admitted)} updates not admitted, ${count(t.expired)} rows expired`]);
      for (const e of s.last_errors || []) more.push(make("p", {class: "bad"}, e));
    }
  } else if (status && kind === "slice") {
    const t = things().find(t => keyOf(t) === chosen);
    if (t) facts.push(["pserver", t.at], ["bytes", size(t.bytes)], ["version", t.version], ["lacks the gradient of trainer", t.waiting || "none"]);
  }
  place.hidden = facts.length === 0;
  if (place.hidden) return renew("details");
  const close = make("button", {type: "button", "data-key": "close", "aria-label": "Close the details"}, "close");
  close.addEventListener("click", () => choose(chosen));
  renew("details", make("div", {class: "head"}, make("h3", {}, kind === "slice" ? chosen.split("|")[1] : chosen), close),
    make("dl", {class: "facts"}, ...facts.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, String(v))])), ...more);
}
const keyOf = t => `slice ${t.at}|${t.name}`;
const things = () => status.shards.flatMap(s => (s.slices || []).map(x => ({...x, at: s.endpoint})).concat((s.tables || []).map(x => ({...x, name: `${x.name} (table, ${x.parts > 1 ? `part ${x.part + 1} of ${x.parts}, ` : ""}${count(x.rows)} rows)`, at: s.endpoint}))))
    .sort((a, b) => b.bytes - a.bytes);
function cluster() {
  picture();
  const rows = status && status.trainers.length ? status.trainers.map(t => [[t.id, "n"], [stateWord(t.state)], [t.step, "n"],
      [t.passes ? `${Math.min(t.pass + 1, t.passes)}/${t.passes}` : "–", "n"], [count(t.samples_per_second), "n"], [short(t.cost), "n"],
      [size(t.bytes_in), "n"], [size(t.bytes_out), "n"], [t.doing || t.error || "", "wide"], [t.process]]) :
    [...model.trainers.values()].map(t => [[t.id, "n"], [stateWord(t.state)], [t.progress ? t.progress.step : "–", "n"],
      [t.progress && t.progress.passes ? `${Math.min(t.progress.pass + 1, t.progress.passes)}/${t.progress.passes}` : "–", "n"],
      [t.progress ? count(t.progress.samples_per_second) : "–", "n"], [t.progress ? short(t.progress.cost) : "–", "n"], ["–", "n"], ["–", "n"], [t.waiting, "wide"], [t.process]]);
  fill("trainers", rows.length ? table([["id", "n"], ["state"], ["step", "n"], ["pass", "n"], ["samples/s", "n"], ["cost", "n"],
    ["sent", "n"], ["received", "n"], ["doing"], ["process"]], rows) : make("p", {class: "soft"}, "No trainer is known yet."));
  if (!status) { fill("shards", make("p", {class: "soft"}, "The events of a job do not tell of its pservers; paddle ui --pservers=… asks them.")); fill("sizes"); fill("load"); say("skew", ""); details(); return; }
  fill("shards", table([["address"], ["state"], ["step", "n"], ["steps/s", "n"], ["memory", "n"], ["received", "n"], ["sent", "n"], ["CPU time", "n"],
      ["slices", "n"], ["last snapshot", "n"], ["running for", "n"]],
    status.shards.map(s => s.answered ? [[s.endpoint], [stateWord(s.state)], [s.step, "n"], [short(s.steps_per_second), "n"], [size(s.memory), "n"],
      [size(s.bytes_in), "n"], [size(s.bytes_out), "n"], [duration(s.cpu_seconds), "n"], [s.slices.length, "n"],
      [s.snapshots.length ? "step " + s.snapshots[s.snapshots.length - 1] : "none", "n"], [duration(s.uptime), "n"]] : [[s.endpoint], [stateWord("does not answer")], [s.problem, "wide"]])));
  const all = things(), shown = all.slice(0, 12);
  renew("sizes", ...shown.map(t => button(make("div", {class: "bar", title: `${t.name} on ${t.at}, version ${t.version}`}, make("span", {}, t.name),
    make("b", {style: `width:${Math.max(0.5, 100 * t.bytes / (shown[0].bytes || 1))}%`}), make("span", {}, size(t.bytes))), keyOf(t), `${t.name} on ${t.at}, ${size(t.bytes)}; show details`, () => choose(keyOf(t)))));
  if (all.length > shown.length) $("sizes").append(make("p", {class: "soft"}, `and ${all.length - shown.length} smaller ${all.length - shown.length === 1 ? "one" : "ones"}`));
  load();
  details();
}
