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
  old.replaceChildren(...fresh.childNodes);
  for (const summary of old.querySelectorAll("details > summary")) {
    if (opened.includes(summary.textContent)) summary.parentElement.open = true;
  }
  for (const box of old.querySelectorAll("input[type=checkbox]")) box.checked = chosen.includes(box.value);
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
      history.replaceState(null, "", `?${new URLSearchParams(asked)}`);
      follow("all");
    }, 250);
  });
}
const compare = document.getElementById("compare");
if (compare) {
  const boxes = () => [...document.querySelectorAll("#trials input:checked")];
  const update = () => { compare.disabled = boxes().length < 2; };
  document.addEventListener("change", update);
  update();
}
for (const form of document.querySelectorAll("form.curves")) {
  form.addEventListener("change", () => form.requestSubmit());
}
const start = document.getElementById("start");
if (start) {
  start.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { paper, experiment, model, budget } = start.elements;
    const asked = new URLSearchParams({ experiment: experiment.value, model: model.value, budget: budget.value });
    const said = document.getElementById("said");
    said.textContent = "Sending …";
    try {
      const answer = await fetch(`/start?${asked}`, { method: "POST", headers: { "X-Token": start.dataset.token }, body: paper.files[0] });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      said.textContent = answer.ok ? "Started. It is in the list once its paper is read." : page.querySelector(".banner")?.textContent ?? "refused";
      if (answer.ok) await all();
    } catch {
      said.textContent = "The server does not answer.";
    }
  });
}
listen();
toTheEnd();
