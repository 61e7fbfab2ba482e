"use strict";
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
// Texts of a job are put in as text, never as HTML.
function make(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) k === "class" ? e.className = v : k === "style" ? e.style.cssText = v : e.setAttribute(k, v);
  e.append(...children);
  return e;
}
function draw(tag, props = {}, text) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
const short = v => v === null || v === undefined || Number.isNaN(v) ? "–" : v === 0 ? "0" :
  Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(2) : String(+v.toPrecision(4));
const count = v => v >= 1e9 ? (v / 1e9).toFixed(1) + " G" : v >= 1e6 ? (v / 1e6).toFixed(1) + " M" : v >= 1e4 ? (v / 1e3).toFixed(0) + " k" : String(Math.round(v));
const size = v => v >= 2 ** 30 ? (v / 2 ** 30).toFixed(1) + " GiB" : v >= 2 ** 20 ? (v / 2 ** 20).toFixed(1) + " MiB" : v >= 1024 ? (v / 1024).toFixed(1) + " KiB" : v + " B";
const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const duration = s => s < 90 ? Math.round(s) + " s" : s < 5400 ? Math.round(s / 60) + " min" : s < 172800 ? (s / 3600).toFixed(1) + " h" : (s / 86400).toFixed(1) + " days";
// With the day, where that is not today: a job may run for days, or have ended long ago.
function clock(t) {
  const at = new Date(t * 1000), time = at.toLocaleTimeString([], {hour12: false});
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString([], {month: "short", day: "numeric"})} ${time}`;
}
// Puts children in the place of what is there, unless that is the same: a screen reader says what is new alone, and what somebody
// has selected stays so.
function fill(id, ...children) {
  const next = $(id).cloneNode(false);
  next.append(...children);
  if (next.innerHTML === $(id).innerHTML) return false;
  $(id).replaceChildren(...next.childNodes);
  return true;
}
function say(id, text) { if ($(id).textContent !== text) $(id).textContent = text; }
// What is drawn anew every second keeps the focus where it was: things are known by their data-key.
function renew(id, ...children) {
  const key = $(id).contains(document.activeElement) ? document.activeElement.dataset.key : null;
  if (!fill(id, ...children)) return;
  if (key) for (const e of $(id).querySelectorAll("[data-key]")) if (e.dataset.key === key) { e.focus({preventScroll: true}); break; }
}
// A part of a drawing that can be clicked, reached by Tab and pressed by Enter or Space.
function button(element, key, name, act) {
  for (const [k, v] of Object.entries({"data-key": key, tabindex: 0, role: "button", "aria-label": name})) element.setAttribute(k, v);
  element.classList.add("press");
  element.addEventListener("click", act);
  element.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); act(); } });
  return element;
}
const colour = i => `var(--s${i % 8})`;
