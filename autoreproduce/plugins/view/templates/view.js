"use strict";
// A page says where its events are. "now" replaces what a running step changes, "all" every part
// that is live. While a page is hidden it does not listen: a browser opens few connections.
const address = document.body.dataset.events;
const link = document.getElementById("link");
let source = null;
let waiting = null;

async function fetched(url) {
  const answer = await fetch(url, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function replaced(old, fresh) {
  const opened = [...old.querySelectorAll("details[open] > summary")].map((each) => each.textContent);
  const chosen = [...old.querySelectorAll("input:checked")].map((each) => each.value);
  const kept = old.querySelector("#plots"); // its charts keep their zoom and get the new data
  const asked = old.querySelector("form.curves");
  old.replaceChildren(...fresh.childNodes);
  if (kept) old.querySelector("#plots")?.replaceWith(kept);
  if (asked) old.querySelector("form.curves")?.replaceWith(asked);
  for (const summary of old.querySelectorAll("details > summary")) {
    if (opened.includes(summary.textContent)) summary.parentElement.open = true;
  }
  for (const box of old.querySelectorAll("#trials input[type=checkbox]")) box.checked = chosen.includes(box.value);
  plot();
}

function toTheEnd() {
  for (const each of document.querySelectorAll("pre.output")) each.scrollTop = each.scrollHeight;
}

async function now() {
  const part = document.getElementById("now");
  if (!part) return;
  const page = await fetched(`${location.pathname}/now${location.search}`);
  replaced(part, page.body);
  toTheEnd();
}

async function all() {
  const page = await fetched(location.href);
  if (page.getElementById("trials") && !document.getElementById("trials")) location.reload(); // the first
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (fresh && fresh.innerHTML !== old.innerHTML) replaced(old, fresh);
  }
  const part = page.getElementById("now");
  if (part) replaced(document.getElementById("now"), part);
  toTheEnd();
}

// Events that come while a part is fetched are answered by one more fetch after it.
let busy = false;
async function follow(kind) {
  waiting = waiting === "all" || kind === "all" ? "all" : kind;
  if (busy) return;
  busy = true;
  while (waiting) {
    const what = waiting;
    waiting = null;
    try {
      await (what === "all" ? all() : now());
    } catch {
      link.textContent = "not connected";
    }
  }
  busy = false;
}

function listen() {
  if (!address || source || document.hidden) return;
  source = new EventSource(address);
  source.addEventListener("open", () => { link.textContent = "live"; });
  source.addEventListener("error", () => { link.textContent = "not connected"; });
  source.addEventListener("now", () => follow("now"));
  source.addEventListener("all", () => follow("all"));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden && source) {
    source.close();
    source = null;
  } else if (!document.hidden && address && !source) {
    listen();
    follow("all");
  }
});

for (const part of document.querySelectorAll("[data-load]")) {
  fetched(part.dataset.load).then(
    (page) => part.replaceChildren(...page.body.childNodes),
    () => { part.textContent = "The tables cannot be read."; },
  );
}
// The server finds the rows; what is asked stands in the address, so that it can be sent and kept.
const list = document.getElementById("list");
if (list) {
  let typing = null;
  list.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      const asked = [...new FormData(list)].filter(([, value]) => value);
      const columns = list.querySelectorAll("[name=column]:checked");
      localStorage.columns = [...columns].map((each) => each.value).join();
      history.replaceState(null, "", `?${new URLSearchParams(asked)}`);
      follow("all");
    }, 250);
  });
}
if (list && localStorage.columns && !new URLSearchParams(location.search).has("column")) {
  for (const box of list.querySelectorAll("[name=column]")) box.checked = localStorage.columns.split(",").includes(box.value);
  list.dispatchEvent(new Event("input"));
}
const compare = document.getElementById("compare");
if (compare) {
  const boxes = () => [...document.querySelectorAll("#trials input:checked")];
  const update = () => { compare.disabled = boxes().length < 2; };
  document.addEventListener("change", update);
  update();
}
// Curves. The data stand in the page; a chart lives on while its lines are the same.
const COLOURS = ["#2a6fb8", "#c2541e", "#3a8a4d", "#8c4fb0", "#b38600", "#d0406f", "#1f9aa0", "#7a6a58"];
const drawn = new Map();
function smooth(ys, size) {
  const last = [];
  return ys.map((y) => {
    if (y === null) return null;
    last.push(y);
    if (last.length > size) last.shift();
    return last.reduce((a, b) => a + b) / last.length;
  });
}
function joined(one, size, log) {
  const tables = Object.values(one.lines).map((points) => {
    const ys = smooth(points.map((point) => point[1]), size);
    return [points.map((point) => point[0]), log ? ys.map((y) => (y > 0 ? y : null)) : ys];
  });
  return uPlot.join(tables);
}
function short(value) {
  return value == null ? "" : String(Number(value.toPrecision(4)));
}
function options(one, width, log) {
  const style = getComputedStyle(document.body);
  const [muted, rule] = [style.getPropertyValue("--muted"), style.getPropertyValue("--rule")];
  const axis = { stroke: muted, grid: { stroke: rule, width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
  const names = Object.keys(one.lines);
  return {
    width, height: 210, scales: { x: { time: false }, y: { distr: log ? 3 : 1 } }, axes: [axis, { ...axis, size: 58, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) }],
    series: [{ label: one.x }, ...names.map((name, place) => ({ label: name || one.title, stroke: COLOURS[place % COLOURS.length], width: 1.6, spanGaps: true, value: (_, value) => short(value) }))],
    hooks: { setLegend: [atRest], ready: [atRest], setData: [atRest] },
  };
}
function atRest(chart) { // without a cursor the legend has the newest values
  if (chart.cursor.idx != null) return;
  const cells = chart.root.querySelectorAll(".u-legend .u-value");
  cells.forEach((cell, place) => { cell.textContent = short(chart.data[place]?.findLast((value) => value != null)); });
}
function told(one) {
  return Object.entries(one.lines).map(([name, points]) => {
    const ys = points.map((point) => point[1]).filter((y) => y !== null);
    return ys.length ? `${name} from ${short(ys[0])} to ${short(ys.at(-1))}, lowest ${short(Math.min(...ys))}` : name;
  }).join("; ");
}
function plot(anew = false) {
  const room = document.getElementById("plots");
  const data = document.getElementById("curves");
  if (!room || !data) return;
  const form = document.querySelector("form.curves");
  const [size, log] = [Number(form.elements.smooth.value), form.elements.log.checked];
  const asked = JSON.parse(data.textContent);
  for (const { title } of asked) { // all of them before any is drawn: they share the width
    const known = drawn.get(title);
    if (!known || !room.contains(known.figure)) drawn.set(title, { figure: room.appendChild(document.createElement("figure")) });
  }
  if (room.children.length !== Number(room.dataset.drawn ?? 0)) anew = true;
  room.dataset.drawn = room.children.length;
  for (const one of asked) {
    const lines = [one.title, ...Object.keys(one.lines)].join();
    const values = joined(one, size, log);
    let held = drawn.get(one.title);
    if (anew || held.lines !== lines) {
      const figure = held.figure;
      figure.className = "chart";
      figure.replaceChildren(document.createElement("figcaption"));
      held = { figure, lines, chart: new uPlot(options(one, figure.clientWidth || 360, log), values, figure) };
      drawn.set(one.title, held);
    } else {
      const [before, scale] = [held.chart.data[0], held.chart.scales.x];
      const whole = scale.min <= before[0] && scale.max >= before.at(-1);
      held.chart.setData(values, whole);
    }
    const ends = values.slice(1).map((ys) => short(ys.findLast((y) => y != null)));
    held.figure.querySelector("figcaption").textContent = `${one.title}${log ? ", logarithmic" : ""}${ends.length === 1 ? `: ${ends[0]}` : ""}`;
    const canvas = held.figure.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${one.title} by ${one.x}: ${told(one)}`);
  }
}
document.addEventListener("change", (event) => { if (event.target.closest("form.curves")) plot(true); });
document.addEventListener("click", (event) => { if (event.target.name === "whole") plot(true); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot(true));
let resized = null;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => plot(true), 200); });
const start = document.getElementById("start");
if (start) {
  start.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { paper, experiment, model, budget } = start.elements;
    const asked = new URLSearchParams({ experiment: experiment.value, model: model.value, budget: budget.value });
    const said = document.getElementById("said");
    said.textContent = "Sending …";
    try {
      const answer = await fetch(`${start.dataset.address}?${asked}`, { method: "POST", body: paper.files[0] });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      said.textContent = answer.ok ? "Started. It is in the list once its paper is read." : page.querySelector(".banner")?.textContent ?? "refused";
      if (answer.ok) await all();
    } catch {
      said.textContent = "The server does not answer.";
    }
  });
}
listen();
plot();
toTheEnd();
