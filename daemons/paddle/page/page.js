function metrics() {
  const select = $("metric"), known = new Set([...select.options].map(o => o.value));
  for (const m of model.metrics) if (!known.has(m)) select.append(make("option", {}, m));
}
function show() {
  planned = false;
  const [word, kind] = stateNow();
  const job = status && status.shards.map(s => s.job).find(Boolean) || model.job;
  const several = title.split(","), named = several.length > 1 ? `${several[0]} and ${several.length - 1} more` : title;
  $("title").textContent = job && job !== "default" ? `${job} — ${named}` : named;
  document.title = `${word} — ${$("title").textContent}`;
  $("state").textContent = word; $("state").className = "pill " + kind;
  $("since").textContent = model.first === null ? "" : `${model.trainers.size} trainers, ${status ? status.shards.length + " pserver ports, " : ""}seen for ${duration(model.last - model.first)}`;
  const lines = waits().slice(0, 6);
  if (model.failed) lines.unshift(model.failed);
  $("wait").replaceChildren(...lines.map(w => make("p", {class: model.failed === w ? "bad" : "warn"}, w)));
  metrics(); tiles(); curve(); latest(); cluster(); network(); recovery(); messages();
}
function plan() { if (!planned) { planned = true; setTimeout(show, 150); } }

const source = new EventSource("events" + location.search);
source.addEventListener("begin", e => { title = JSON.parse(e.data).title; model = fresh(); status = null; connected = true; plan(); });
source.addEventListener("message", e => { try { take(JSON.parse(e.data)); } catch (bad) { console.warn(bad, e.data); } plan(); });
source.addEventListener("status", e => { takeStatus(JSON.parse(e.data)); model.last = Math.max(model.last, Date.now() / 1000); if (model.first === null) model.first = model.last; plan(); });
source.addEventListener("error", () => { connected = false; plan(); });
addEventListener("resize", plan);
show();
