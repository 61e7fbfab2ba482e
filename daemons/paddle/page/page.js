function metrics() {
  const select = $("metric"), known = new Set([...select.options].map(o => o.value));
  for (const m of model.metrics) if (!known.has(m)) select.append(make("option", {}, m));
}
function show() {
  planned = false;
  // What the pservers said last of a trainer is older than its own word.
  for (const t of status ? status.trainers : []) if (model.trainers.has(t.id) && model.trainers.get(t.id).state === "finished") { t.state = "finished"; t.doing = ""; }
  const [word, kind] = stateNow();
  const job = status && status.shards.map(s => s.job).find(Boolean) || model.job;
  const several = title.split(","), named = several.length > 1 ? `${several[0]} and ${several.length - 1} more` : title;
  say("title", job && job !== "default" ? `${job} — ${named}` : named);
  document.title = `${word} — ${$("title").textContent}`;
  say("state", word); $("state").className = "pill " + kind;
  say("since", model.first === null ? "" : `${counted(model.trainers.size, "trainer")}, ${status ? counted(status.shards.length, "pserver port") + ", " : ""}seen for ${duration(model.last - model.first)}` +
    (isOver() ? `, until ${clock(model.last)}` : ""));
  fill("wait", ...waitWords().map(([w, kind]) => make("p", {class: kind}, w)));
  metrics(); tiles(); curve(); latest(); cluster(); network(); recovery(); messages();
}
function plan() { if (!planned) { planned = true; setTimeout(show, 150); } }

const source = new EventSource("events" + location.search);
source.addEventListener("begin", e => { title = JSON.parse(e.data).title; model = fresh(); status = null; connected = true; plan(); });
source.addEventListener("message", e => { try { take(JSON.parse(e.data)); } catch (bad) { console.warn(bad, e.data); } plan(); });
source.addEventListener("status", e => { takeStatus(JSON.parse(e.data)); if (!isOver()) model.last = Math.max(model.last, Date.now() / 1000); if (model.first === null) model.first = model.last; plan(); });
// The last that the page's server sends.
source.addEventListener("end", e => { source.close(); model.end = JSON.parse(e.data).words; plan(); });
source.addEventListener("error", () => { connected = false; plan(); });
addEventListener("resize", plan);
show();
