// The page of a model: asks the server that it came from, and shows the answers as text.
"use strict";

const $ = (id) => document.getElementById(id);
const history_ = [];
const circles = new Map();
let asked = 0;
let askedNear = 0;

async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

// Runs what may fail, and shows why. Of answers that overtake each other the last question's counts.
async function attempt(work) {
  $("error").textContent = "";
  try {
    await work();
  } catch (error) {
    $("error").textContent = error.message;
  }
}

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function list(target, pairs) {
  target.replaceChildren();
  for (const { id, score } of pairs) {
    const row = element("li", "", target);
    element("button", id, row).onclick = () => attempt(() => neighbours(id));
    element("span", score.toFixed(3), row);
  }
  if (!pairs.length) element("li", "nothing is left", target);
}

function mark(name, pairs) {
  for (const circle of circles.values()) circle.classList.remove(name);
  for (const { id } of pairs) circles.get(id)?.classList.add(name);
}

async function recommend(question, title) {
  const number = ++asked;
  const body = { ...question, n: 10, exclude_seen: $("exclude").checked };
  const answer = await ask("ui/recommend", body);
  if (number !== asked) return;
  $("best-title").textContent = title;
  list($("best"), answer.items);
  mark("best", answer.items);
}

async function neighbours(id) {
  const number = ++askedNear;
  const answer = await ask("ui/similar", { item: id, n: 10 });
  if (number !== askedNear) return;
  $("near-title").textContent = `Neighbours of ${id}`;
  list($("near"), answer.similar);
  mark("near", answer.similar);
}

let last = () => {};
const again = () => attempt(last);

// What is asked stands in the address, so that it can be sent to somebody.
function link(pairs) {
  history.replaceState(null, "", `#${new URLSearchParams(pairs)}`);
}

function forUser(user) {
  link([["user", user]]);
  last = () => recommend({ user }, `For ${user}`);
  return again();
}

function forHistory() {
  $("history").replaceChildren();
  history_.forEach((id, at) => {
    const button = element("button", `${id} ×`, element("li", "", $("history")));
    button.onclick = () => {
      history_.splice(at, 1);
      forHistory();
    };
  });
  link(history_.map((id) => ["item", id]));
  if (!history_.length) return;
  last = () => recommend({ history: history_ }, "For these items");
  return again();
}

// Proposes ids while somebody types.
function propose(input, target, kind) {
  let typed = 0;
  const look = async () => {
    const number = ++typed;
    const text = encodeURIComponent(input.value);
    const { ids } = await ask(`ui/ids?kind=${kind}&text=${text}`);
    if (number !== typed) return;
    target.replaceChildren();
    for (const id of ids) element("option", "", target).value = id;
  };
  input.addEventListener("input", () => attempt(look));
  attempt(look);
}

const svg = (tag, attributes, parent) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
};

async function drawMap() {
  const { items, x, y } = await ask("ui/map");
  if (!items) {
    $("at").textContent = "This model has no vectors of items.";
    return;
  }
  items.forEach((id, at) => {
    const circle = svg("circle", { cx: 100 * x[at], cy: -100 * y[at], r: 1.5 }, $("map"));
    svg("title", {}, circle).textContent = id;
    circle.onclick = () => attempt(() => neighbours(id));
    circle.onmouseenter = () => ($("at").textContent = id);
    circles.set(id, circle);
  });
}

function drawCurve(name, column) {
  const found = column.map((value, at) => [at, value]).filter(([, value]) => value !== null);
  if (!found.length) return;
  const values = found.map(([, value]) => value);
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const figure = element("figure", "", $("curves"));
  const drawing = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none" }, figure);
  const place = ([at, value]) =>
    `${(100 * at) / Math.max(column.length - 1, 1)},${95 - (90 * (value - low)) / span}`;
  svg("polyline", { points: found.map(place).join(" ") }, drawing);
  const [first, end] = [values[0], values[values.length - 1]];
  const epochs = `${column.length} epoch${column.length === 1 ? "" : "s"}`;
  element("figcaption", `${name}: ${first.toPrecision(4)} → ${end.toPrecision(4)}, ${epochs}`, figure);
}

async function start() {
  const about = await ask("ui/model");
  const count = (n) => n.toLocaleString("en");
  $("model").textContent = `${about.model}: ${count(about.users)} users, ${count(about.items)} items`;
  if (about.curve) {
    drawCurve("loss", about.curve.loss);
    for (const [name, column] of Object.entries(about.curve.validation)) drawCurve(name, column);
  } else {
    $("curves").textContent = "The file has none.";
  }
  await drawMap();
  const linked = new URLSearchParams(location.hash.slice(1));
  const user = linked.get("user");
  history_.push(...linked.getAll("item"));
  if (user !== null) await forUser(($("user").value = user));
  else if (history_.length) await forHistory();
  if (linked.has("near")) await attempt(() => neighbours(linked.get("near")));
  document.body.dataset.ready = "yes";
}

$("user-form").onsubmit = (event) => {
  event.preventDefault();
  forUser($("user").value);
};
$("item-form").onsubmit = (event) => {
  event.preventDefault();
  const id = $("item").value;
  if (id && !history_.includes(id)) history_.push(id);
  $("item").value = "";
  forHistory();
};
$("exclude").onchange = again;
propose($("user"), $("users"), "users");
propose($("item"), $("items"), "items");
attempt(start);
