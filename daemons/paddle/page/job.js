let title = "paddle", connected = null, status = null, model = fresh(), planned = false, reading = null;
function fresh() {
  return {first: null, last: 0, trainers: new Map(), points: new Map(), tests: [], metrics: new Set(["cost"]), timeline: [], messages: [],
          ops: [], opsInAll: 0, parameters: new Map(), job: "", failed: null, end: null, events: false, looks: [], kept: new Map()};
}
function trainer(id) {
  if (!model.trainers.has(id)) model.trainers.set(id, {id, process: "", state: "starting", waiting: "", progress: null, start: null});
  return model.trainers.get(id);
}
// The words of a problem, without the address that stands before them already.
const plain = text => text.replace(/cannot connect to \S+: /, "");
const note = (time, kind, text, snapshot) => { model.timeline.push({time, kind, text, snapshot}); if (model.timeline.length > 4000) model.timeline.splice(0, 400); };
function byProcess(process) { for (const t of model.trainers.values()) if (t.process === process) return t; return null; }
function nameOf(e) {
  const t = e.role === "trainer" ? byProcess(e.process) : null;
  return t ? "trainer " + t.id : `${e.role} ${e.process}`;
}
function take(e) {
  if (model.first === null) model.first = e.time;
  model.last = Math.max(model.last, e.time);
  const of = e.trainer !== undefined && e.role === "trainer" ? trainer(e.trainer) : null;
  if (of && e.process) of.process = e.process;
  switch (e.event) {
    case "started":
      if (e.job) model.job = e.job;
      if (e.role === "trainer") model.events = true;
      if (model.failed && model.failed.role === e.role) model.failed = null;  // another process has taken its place
      break;
    case "joined": of.state = "joined"; of.waiting = ""; note(e.time, "good", `trainer ${e.trainer} joined at step ${e.step}`); break;
    case "training": of.state = "training"; of.waiting = ""; of.passes = e.passes; break;
    case "progress": progress(of, e); break;
    // The last that is known of a job that has finished: its last progress is a moment older. After a rollback to the end of a pass it
    // ends once more, without a batch to take the mean of.
    case "pass_ended": if (e.samples > 0) progress(of, {samples_per_second: null, passes: of.passes, ...of.progress, ...e, batch: e.batches}); break;
    case "op": if (e.number === 0) model.ops = []; model.opsInAll = e.ops; model.ops[e.number] = e; model.drawn = false; break;
    case "parameter": takeParameter(e); break;
    case "test_result": model.tests.push({step: e.step || stepNow(), cost: e.cost, evaluators: e.evaluators}); break;
    case "saved": note(e.time, "soft", `model of step ${e.step} saved in ${e.path}`); break;
    case "waiting": { const t = byProcess(e.process); if (t) t.waiting = e.reason; else if (e.role === "pserver") model.pserverWait = {time: e.time, text: e.reason}; break; }
    case "rolled_back": note(e.time, "warn", `trainer ${e.trainer} went back from step ${e.from} to step ${e.to}`); break;
    case "warning": model.messages.push({time: e.time, kind: "warn", text: `${nameOf(e)}: ${e.message}`}); break;
    case "error": model.messages.push({time: e.time, kind: "bad", text: `${nameOf(e)}: ${e.message}`}); break;
    case "finished": of.state = "finished"; of.waiting = ""; note(e.time, "good", `trainer ${e.trainer} finished`); break;
    case "exit":
      if (e.code === 0) break;
      model.failed = {role: e.role, text: `${nameOf(e)} ended with exit code ${e.code}${e.reason ? ": " + e.reason : ""}`};
      note(e.time, "bad", model.failed.text);
      break;
    case "observed":
      if (e.kind === "pserver_lost" && isOver()) break;
      if (model.events && (e.kind === "trainer_joined" || e.kind === "trainer_finished" || e.kind === "rollback")) break;
      note(e.time, e.kind.endsWith("lost") ? "bad" : e.kind === "rollback" ? "warn" : e.kind === "snapshot" ? "soft" : "good", plain(e.text), e.kind === "snapshot"); break;
    case "listening": note(e.time, "good", `pserver ${e.process} listens on ${e.endpoint}`); break;
  }
  if (model.messages.length > 200) model.messages.shift();
}
function takeParameter(e) {
  const known = model.parameters.get(e.name);
  if (!known) model.drawn = false;  // boxes show shapes
  model.parameters.set(e.name, {...e, first: known ? known.first : e, before: known || null});
}
function progress(t, e) {
  t.progress = e; t.waiting = "";
  if (t.state !== "finished") t.state = "training";
  if (t.start === null) t.start = {time: e.time, done: doneOf(e)};
  for (const k of Object.keys(e.evaluators || {})) model.metrics.add(k);
  if (!model.points.has(t.id)) model.points.set(t.id, []);
  const points = model.points.get(t.id);
  while (points.length && points[points.length - 1].step >= e.step) points.pop();  // after a rollback
  points.push({step: e.step, cost: e.cost, evaluators: e.evaluators || {}});
  if (points.length > 6000) model.points.set(t.id, points.filter((_, i) => i % 2 || i === points.length - 1));
}
const doneOf = p => p.batches > 0 ? p.pass + p.batch / p.batches : p.pass;
const stepNow = () => Math.max(0, ...[...model.trainers.values()].map(t => t.progress ? t.progress.step : 0));

// In sync a pserver waits for somebody at almost any moment: only one that makes no step counts.
function takeStatus(next) {
  if (isOver() && !next.shards.some(s => s.answered)) return;  // pservers end with their job: what they said last stays
  const before = new Map((status ? status.shards : []).map(s => [s.endpoint, s.step]));
  for (const s of next.shards) s.stands = before.get(s.endpoint) === s.step;
  for (const s of next.shards) if (s.answered && s.snapshots.length) model.kept.set(s.endpoint, s.snapshots[s.snapshots.length - 1]);
  next.seen = performance.now() / 1000;
  takeLoad(next);
  model.looks = [...model.looks, new Set(next.trainers.filter(t => t.lacking > 0).map(t => t.id))].slice(-15);
  status = next;
}
// Per second, since the status before.
function takeLoad(next) {
  const old = new Map((status ? status.shards : []).filter(s => s.answered).map(s => [s.endpoint, s])), time = status ? next.seen - status.seen : 0;
  for (const s of next.shards) {
    const b = old.get(s.endpoint);
    s.load = !s.answered || !b || b.instance !== s.instance || time <= 0 ? b && b.load || null :
      {bytes: (s.bytes_in + s.bytes_out - b.bytes_in - b.bytes_out) / time, cpu: (s.cpu_seconds - b.cpu_seconds) / time};
  }
}
function isOver() {
  const all = [...model.trainers.values()];
  return model.end !== null || all.length > 0 && all.every(t => t.state === "finished");
}
// In sync the others wait for the trainer whose gradients the open rounds lack. One look says little: of the last ones most.
function slowest() {
  const ids = status ? status.trainers.map(t => t.id) : [], looks = model.looks;
  if (ids.length < 2 || looks.length < 10) return "";
  const share = id => looks.filter(l => l.has(id)).length / looks.length, slow = ids.filter(id => share(id) > 0.6);
  if (slow.length !== 1 || ids.some(id => id !== slow[0] && share(id) > 0.3)) return "";
  return `Trainer ${slow[0]} is slower than the others: whenever one looks, they wait for its gradients.`;
}
function waits() {
  const out = [];
  if (isOver()) return out;
  for (const t of model.trainers.values()) if (t.waiting && t.state !== "finished") out.push(`Trainer ${t.id}: ${t.waiting}`);
  if (status) for (const s of status.shards) {
    if (!s.answered) out.push(`Pserver ${s.endpoint} does not answer (${plain(s.problem)}), and the trainers wait for it.` +
      (model.kept.has(s.endpoint) ? ` Started again, it goes on from its snapshot of step ${model.kept.get(s.endpoint)}.` : ""));
    else if (s.waiting && s.stands) out.push(`Pserver ${s.endpoint}: ${s.waiting}`);
  }
  return [...new Set(out)];
}
// [words, class] of what is to be known now.
function waitWords() {
  const out = waits().slice(0, 6).map(w => [w, "warn"]);
  if (model.failed) out.unshift([model.failed.text, "bad"]);
  if (model.end) out.push([model.end, "soft"]);
  else if (!out.length && stateNow()[0] === "training") out.push(slowest() ? [slowest(), "warn"] : ["Nobody waits for long.", "soft"]);
  return out;
}
function stateNow() {
  const all = [...model.trainers.values()];
  if (model.failed) return ["failed", "bad"];
  if (all.length && all.every(t => t.state === "finished")) return ["finished", "good"];
  if (model.end !== null) return ["ended", "soft"];
  if (!connected) return connected === null ? ["connecting", "soft"] : ["no connection to the page's server", "bad"];
  if (waits().length) return ["waiting", "warn"];
  if (all.some(t => t.state === "training")) return ["training", "good"];
  return [all.length ? "starting" : "no trainer yet", "soft"];
}
function timeLeft() {
  let most = null;
  for (const t of model.trainers.values()) {
    const p = t.progress;
    if (!p || !p.passes || t.state === "finished" || doneOf(p) <= t.start.done) continue;
    const left = (p.passes - doneOf(p)) * (p.time - t.start.time) / (doneOf(p) - t.start.done);
    most = Math.max(most ?? 0, left);
  }
  return most;
}
