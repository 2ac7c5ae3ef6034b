"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const facts = JSON.parse($("#facts").textContent);
  const shorts = Object.fromEntries(facts.shorts);

  // --- colours: as the system has them, or chosen
  const themes = ["auto", "light", "dark"];
  const theme = $("#theme");
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme.textContent) + 1) % themes.length];
    theme.textContent = next;
    theme.setAttribute("aria-label", next === "auto" ? "Colours: as the system has it" : `Colours: ${next}`);
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
  });

  // --- sorting
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const number = (text) => { const n = parseFloat(String(text).replace(/,/g, "").replace("−", "-").replace("∞", "Infinity")); return n; };
  // what has no value comes last in both directions
  function compare(a, b, kind, sign) {
    if (kind === "text") return sign * collator.compare(a, b);
    const [x, y] = [number(a), number(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || collator.compare(a, b);
    return sign * (x === y ? 0 : x < y ? -1 : 1);
  }
  function direction(button) {
    const head = button.closest("th");
    const next = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of $$("th[aria-sort]", head.parentElement)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", next);
    return next === "ascending" ? 1 : -1;
  }
  for (const table of $$("table.sortable:not(#cells)")) {
    $$("thead button", table).forEach((button) => button.addEventListener("click", () => {
      const column = button.closest("th").cellIndex, sign = direction(button), body = table.tBodies[0];
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const rows = [...body.rows].sort((a, b) => compare(value(a), value(b), button.dataset.kind, sign));
      body.append(...rows);
    }));
  }

  // --- the table of cells
  const coded = JSON.parse($("#cells-data").textContent);
  const cells = coded.rows.map((row) => Object.fromEntries(coded.columns.map((name, i) => [name, coded.strings[row[i]]])));
  const rank = Object.fromEntries(["not reproduced", "erratum", "uninformative", "calibrated", "consistent", "reproduced", "not run", "not published"].map((v, i) => [v, i]));
  for (const cell of cells) {
    cell.rank = rank[cell.verdict];
    cell.haystack = [cell.paper, shorts[cell.paper], cell.place, cell.statement, cell.cell, cell.origin, cell.data, cell.metric, cell.verdict, cell.why, cell.id, cell.target, cell.published].join(" ").toLowerCase();
  }
  const form = $("#filters"), body = $("#cells tbody"), step = 50;
  let shown = cells, limit = step, order = null;

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
  function badge(verdict) {
    const made = element("span", undefined, { class: `badge v-${verdict.replaceAll(" ", "-")}` });
    made.append(element("span", facts.marks[verdict][0], { class: "mark", "aria-hidden": "true" }), verdict);
    return made;
  }
  function line(cell, index) {
    const row = element("tr");
    const add = (label, content, kind = "") => {
      const td = element("td", undefined, { "data-label": label });
      if (kind) td.className = kind;
      td.append(content);
      row.append(td);
      return td;
    };
    add("Verdict", badge(cell.verdict));
    add("Paper", shorts[cell.paper]);
    add("Where", cell.place);
    const claim = element("span", cell.statement);
    claim.append(element("span", [cell.cell, cell.metric].filter(Boolean).join(", "), { class: "where-cell" }));
    add("Claim", claim);
    add("Data", cell.origin + (cell.data ? ` (${cell.data})` : ""));
    const kind = (text) => (text.length > 30 ? "long" : "num");
    add("Published", cell.published, kind(cell.published));
    add("Replicated", cell.replicated, kind(cell.replicated));
    add("n", cell.n, "num");
    add("p", cell.p, "num");
    const why = element("button", "why", { type: "button", "aria-expanded": "false", "aria-controls": `why-${index}` });
    why.addEventListener("click", () => toggle(row, cell, why, index));
    add("", why);
    return row;
  }
  function toggle(row, cell, button, index) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { row.nextSibling.remove(); return; }
    const detail = element("tr", undefined, { class: "detail", id: `why-${index}` });
    const td = element("td", undefined, { colspan: "10" }), list = element("dl");
    const config = facts.configured && ` ${facts.configured}`;
    for (const [name, text] of [["Why", cell.why], ["Test", cell.test], ["Difference", cell.difference], ["Claim", cell.id],
      ["Again", `snakemake ${cell.target} --cores 2 --force${config}`]]) {
      if (text) list.append(element("dt", name), element("dd", text));
    }
    td.append(list);
    detail.append(td);
    row.after(detail);
  }
  function draw() {
    body.replaceChildren(...shown.slice(0, limit).map(line));
    const visible = Math.min(limit, shown.length);
    $("#count").textContent = `${shown.length} of ${cells.length} cells${visible < shown.length ? `, ${visible} shown` : ""}`;
    $("#more").hidden = $("#all").hidden = visible === shown.length;
  }
  function update() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = ["paper", "verdict", "data"].map((name) => [name, form.elements[name].value]).filter(([, value]) => value);
    shown = cells.filter((cell) => wanted.every(([name, value]) => cell[name] === value) && words.every((word) => cell.haystack.includes(word)));
    if (order) shown.sort((a, b) => compare(order.kind === "rank" ? a.rank : a[order.key], order.kind === "rank" ? b.rank : b[order.key], order.kind === "rank" ? "number" : order.kind, order.sign));
    limit = step;
    draw();
  }
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(update));
  $$("#cells thead button").forEach((button) => button.addEventListener("click", () => {
    order = { key: button.dataset.key, kind: button.dataset.kind, sign: direction(button) };
    update();
  }));
  $("#more").addEventListener("click", () => { limit += step; draw(); });
  $("#all").addEventListener("click", () => { limit = shown.length; draw(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-filter]");
    if (!button) return;
    form.reset();
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.filter))) form.elements[name].value = value;
    update();
    $("#cells-heading").scrollIntoView();
    form.elements.text.focus({ preventScroll: true });
  });

  // --- copy buttons; without a clipboard (file pages of some browsers) the text is selected
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1200);
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
    }
  });

  // --- figures
  const box = $("#lightbox"), image = $("img", box), openers = $$(".open");
  let current = 0;
  function show(index) {
    current = (index + openers.length) % openers.length;
    const figure = openers[current].closest("figure"), small = $("img", figure);
    image.src = small.src;
    image.alt = small.alt;
    $("p", box).textContent = [$("strong", figure).textContent, small.alt].join(" ");
    full(false);
    if (!box.open) box.showModal();
  }
  function full(on) {
    box.classList.toggle("full", on);
    $("#zoom").setAttribute("aria-pressed", String(on));
    $("#zoom").textContent = on ? "Fit to window" : "Full size";
  }
  openers.forEach((opener, index) => opener.addEventListener("click", () => show(index)));
  $("#close").addEventListener("click", () => box.close());
  $("#previous").addEventListener("click", () => show(current - 1));
  $("#next").addEventListener("click", () => show(current + 1));
  $("#zoom").addEventListener("click", () => full(!box.classList.contains("full")));
  image.addEventListener("click", () => full(!box.classList.contains("full")));
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.addEventListener("keydown", (event) => {
    // the frame itself scrolls with the arrow keys when the figure is larger than it
    if (box.classList.contains("full") && event.target.classList.contains("frame")) return;
    if (event.key === "ArrowLeft") show(current - 1);
    if (event.key === "ArrowRight") show(current + 1);
  });
  box.addEventListener("close", () => openers[current].focus());

  // --- side by side
  const items = $$("details.item");
  $("#open-all").addEventListener("click", () => {
    const open = items.some((item) => !item.open);
    items.forEach((item) => { item.open = open; });
    $("#open-all").textContent = open ? "Close all tables" : "Open all tables";
  });
  let closed = [];
  addEventListener("beforeprint", () => { closed = $$("details").filter((d) => !d.open); closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
  update();
})();
