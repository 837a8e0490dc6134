// The page's own script: units, hints, tabs, theme, packed data, and what all pictures share.
// Everything a reader can do by mouse goes by keyboard too. Texts come from data and are never parsed as HTML.
// SPDX-License-Identifier: BSD-3-Clause
"use strict";
const corewise = (() => {
  const root = document.documentElement;
  const plots = {};

  // ---- numbers for people: the same rules as on the terminal ----------------------------------------------

  const digits = (value, count) => String(Number(value.toPrecision(count)));
  const bytesText = (value) => {
    if (value < 1024) return `${Math.round(value)} B`;
    for (const unit of ["KiB", "MiB", "GiB"]) {
      value /= 1024;
      if (value < 1023.5) return `${value < 100 ? digits(value, 3) : value.toFixed(0)} ${unit}`;
    }
    return `${digits(value / 1024, 3)} TiB`;
  };
  const timeText = (value, count = 3) => {
    for (const unit of ["ns", "µs", "ms"]) {
      if (Math.abs(Number(value.toPrecision(count))) < 1000) return `${digits(value, count)} ${unit}`;
      value /= 1000;
    }
    return `${Math.abs(value) >= 10 ** (count - 1) ? value.toFixed(0) : digits(value, count)} s`;
  };
  const countText = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, " ");
  const shareText = (value) => `${(100 * value).toFixed(1)} %`;
  const ranksText = (first, last) => (first === last ? `rank ${first}` : `ranks ${first}-${last}`);

  // ---- data: columns of numbers, compressed --------------------------------------------------------------

  const unzipped = async (text) => {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  };
  const kinds = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f8: Float64Array };
  const unpacked = async (id) => {
    const found = document.getElementById(id);
    if (!found) return null;
    const { meta, columns, packed } = JSON.parse(found.textContent);
    const buffer = await unzipped(packed);
    const data = {};
    for (const [name, [kind, from, length]] of Object.entries(columns))
      data[name] = new kinds[kind](buffer, from, length);
    return { meta, data };
  };

  // ---- hints ----------------------------------------------------------------------------------------------

  const tip = document.getElementById("tip");
  const showTip = (lines, x, y) => {
    if (!lines) {
      tip.style.opacity = 0;
      return;
    }
    tip.textContent = lines;
    tip.style.opacity = 1;
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 20 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 16}px`;
  };
  for (const title of document.querySelectorAll("svg [data-tip] > title")) title.remove();
  document.addEventListener("pointermove", (event) => {
    if (event.target.tagName === "CANVAS") return;
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    showTip(mark ? mark.dataset.tip : "", event.clientX, event.clientY);
  });

  // ---- colours --------------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const channels = (text) => {
    const full = text.length === 4 ? text.replace(/[^#]/g, "$&$&") : text;
    return [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16));
  };
  const mixed = (from, to, part) => from.map((value, at) => Math.round(value + (to[at] - value) * part));
  const css = (rgb) => `rgb(${rgb.join(",")})`;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches);
  const redrawAll = () => { for (const plot of Object.values(plots)) plot.recolour(); };
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    redrawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

  // ---- tabs -----------------------------------------------------------------------------------------------

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const open = (tab, focus) => {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", chosen);
      each.tabIndex = chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
    history.replaceState(null, "", `#${tab.dataset.name}`);
    for (const plot of Object.values(plots)) plot.fit();
  };
  const named = (name) => tabs.find((tab) => tab.dataset.name === name);
  for (const tab of tabs) {
    tab.addEventListener("click", () => open(tab, false));
    tab.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(tab);
      const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      open(tabs[(next + tabs.length) % tabs.length], true);
    });
  }
  if (tabs.length) {
    root.classList.add("tabbed");
    open(named(location.hash.slice(1)) || tabs[0], false);
  }
  addEventListener("hashchange", () => {
    const tab = named(location.hash.slice(1));
    if (tab) open(tab, false);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("[data-open-tab]") : null;
    if (link && named(link.dataset.openTab)) open(named(link.dataset.openTab), true);
  });
  // A switch shows one of several parts.
  for (const group of document.querySelectorAll(".switch[data-group]")) {
    group.addEventListener("click", (event) => {
      const shown = event.target.dataset.show;
      if (!shown) return;
      for (const each of group.children) each.setAttribute("aria-pressed", each.dataset.show === shown);
      for (const each of group.children)
        for (const part of document.querySelectorAll(`[data-${group.dataset.group}="${each.dataset.show}"]`))
          part.style.display = each.dataset.show === shown ? "" : "none";
      document.dispatchEvent(new CustomEvent(`shown-${group.dataset.group}`, { detail: shown }));
    });
  }
  // Rows of a table by a column: numbers by data-v.
  for (const head of document.querySelectorAll("table.sortable th")) {
    head.tabIndex = 0;
    head.setAttribute("role", "button");
    const sort = () => {
      const table = head.closest("table"), column = head.cellIndex;
      const down = head.getAttribute("aria-sort") !== "descending";
      const value = (row) => {
        const cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
      };
      const rows = [...table.tBodies[0].rows].filter((row) => row.cells.length > column && row.cells[0].tagName === "TD");
      rows.sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        const order = typeof left === "number" && typeof right === "number" ? left - right
          : String(left).localeCompare(String(right), "en", { numeric: true });
        return down ? -order : order;
      });
      for (const each of table.querySelectorAll("th")) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      table.tBodies[0].append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sort();
      }
    });
  }

  // ---- print: everything, light ---------------------------------------------------------------------------

  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme || "";
    root.dataset.theme = "light";
    root.classList.add("printing");
    for (const plot of Object.values(plots)) plot.recolour(true);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    redrawAll();
  });

  // ---- pictures to zoom and move --------------------------------------------------------------------------

  // A canvas with two axes. A picture gives draw(context, width, height), hint(x, y) and limits; this class has the
  // view, the mouse and the keyboard. The wheel zooms once the picture has the focus, so that pages still scroll.
  class Picture {
    constructor(holder, limits) {
      this.holder = holder;
      this.canvas = holder.querySelector("canvas");
      this.status = holder.querySelector(".status");
      this.limits = limits;
      this.view = { ...limits };
      this.margin = { left: 0, top: 0, right: 0, bottom: 0 };
      this.waiting = false;
      this.drag = null;
      this.listen();
      new ResizeObserver(() => this.fit()).observe(this.canvas.parentElement);
    }

    get inner() {
      const { left, top, right, bottom } = this.margin;
      return { width: Math.max(1, this.width - left - right), height: Math.max(1, this.height - top - bottom) };
    }

    fit() {
      const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      if (!width || !height) return;
      if (width === this.width && height === this.height && this.scale === devicePixelRatio) return;
      this.width = width;
      this.height = height;
      this.scale = devicePixelRatio;
      this.canvas.width = Math.round(width * this.scale);
      this.canvas.height = Math.round(height * this.scale);
      this.paint();
    }

    recolour(now) {
      this.palette = null;
      if (now) {
        this.width = 0;
        this.fit();
      } else {
        this.later();
      }
    }

    later() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.paint();
      });
    }

    paint() {
      if (!this.width) return;
      const context = this.canvas.getContext("2d");
      context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
      context.clearRect(0, 0, this.width, this.height);
      context.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
      const begin = performance.now();
      this.draw(context);
      this.lastPaintMs = performance.now() - begin;
    }

    x(value) {
      return this.margin.left + (value - this.view.x0) / (this.view.x1 - this.view.x0) * this.inner.width;
    }

    y(value) {
      return this.margin.top + (value - this.view.y0) / (this.view.y1 - this.view.y0) * this.inner.height;
    }

    fromX(pixel) {
      return this.view.x0 + (pixel - this.margin.left) / this.inner.width * (this.view.x1 - this.view.x0);
    }

    fromY(pixel) {
      return this.view.y0 + (pixel - this.margin.top) / this.inner.height * (this.view.y1 - this.view.y0);
    }

    within(low, high, least, most, smallest) {
      const span = Math.min(most - least, Math.max(smallest, high - low));
      const middle = (low + high) / 2;
      const from = Math.min(most - span, Math.max(least, middle - span / 2));
      return [from, from + span];
    }

    show(view) {
      const { x0, x1, y0, y1, leastX, leastY } = this.limits;
      [this.view.x0, this.view.x1] = this.within(view.x0, view.x1, x0, x1, leastX);
      [this.view.y0, this.view.y1] = this.within(view.y0, view.y1, y0, y1, leastY);
      this.later();
    }

    zoom(factorX, factorY, atX, atY) {
      const { x0, x1, y0, y1 } = this.view;
      const cx = atX ?? (x0 + x1) / 2, cy = atY ?? (y0 + y1) / 2;
      this.show({ x0: cx - (cx - x0) * factorX, x1: cx + (x1 - cx) * factorX,
                  y0: cy - (cy - y0) * factorY, y1: cy + (y1 - cy) * factorY });
    }

    move(partX, partY) {
      const { x0, x1, y0, y1 } = this.view;
      const dx = partX * (x1 - x0), dy = partY * (y1 - y0);
      this.show({ x0: x0 + dx, x1: x1 + dx, y0: y0 + dy, y1: y1 + dy });
    }

    whole() { this.show(this.limits); }

    say(text) { if (this.status) this.status.textContent = text; }

    place(event) {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    listen() {
      const canvas = this.canvas;
      canvas.addEventListener("wheel", (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const [x, y] = this.place(event);
        const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY || event.deltaX)) / 180);
        this.wheel(factor, event.shiftKey, this.fromX(x), this.fromY(y));
      }, { passive: false });
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        const [x, y] = this.place(event);
        this.drag = { x, y, view: { ...this.view }, box: event.shiftKey };
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = this.place(event);
        if (this.drag) this.dragged(x, y);
        else showTip(this.hint(x, y), event.clientX, event.clientY);
      });
      canvas.addEventListener("pointerup", () => this.dropped());
      canvas.addEventListener("pointercancel", () => { this.drag = null; });
      canvas.addEventListener("pointerleave", () => { showTip(""); this.left?.(); });
      canvas.addEventListener("dblclick", () => this.whole());
      canvas.addEventListener("keydown", (event) => this.key(event));
      for (const button of this.holder.querySelectorAll("[data-zoom]"))
        button.addEventListener("click", () => this.button(button.dataset.zoom));
    }

    wheel(factor, other, x, y) { this.zoom(factor, factor, x, y); }

    button(way) {
      if (way === "in") this.zoom(0.6, 0.6);
      if (way === "out") this.zoom(1 / 0.6, 1 / 0.6);
      if (way === "whole") this.whole();
    }

    dragged(x, y) {
      const { drag } = this;
      if (drag.box) {
        drag.to = [x, y];
        this.later();
        return;
      }
      const dx = (drag.x - x) / this.inner.width * (drag.view.x1 - drag.view.x0);
      const dy = (drag.y - y) / this.inner.height * (drag.view.y1 - drag.view.y0);
      this.show({ x0: drag.view.x0 + dx, x1: drag.view.x1 + dx, y0: drag.view.y0 + dy, y1: drag.view.y1 + dy });
    }

    dropped() {
      const { drag } = this;
      this.drag = null;
      if (!drag || !drag.box || !drag.to) return;
      const [x, y] = drag.to;
      if (Math.abs(x - drag.x) < 5 || Math.abs(y - drag.y) < 5) return this.later();
      const [left, right] = [drag.x, x].sort((a, b) => a - b), [top, bottom] = [drag.y, y].sort((a, b) => a - b);
      this.show({ x0: this.fromX(left), x1: this.fromX(right), y0: this.fromY(top), y1: this.fromY(bottom) });
    }

    drawBox(context) {
      if (!this.drag || !this.drag.box || !this.drag.to) return;
      const { x, y, to } = this.drag;
      context.strokeStyle = colour("accent");
      context.setLineDash([4, 3]);
      context.strokeRect(x, y, to[0] - x, to[1] - y);
      context.setLineDash([]);
    }

    key(event) {
      const step = 0.15;
      const ways = {
        ArrowLeft: () => this.move(-step, 0), ArrowRight: () => this.move(step, 0),
        ArrowUp: () => this.move(0, -step), ArrowDown: () => this.move(0, step),
        "+": () => this.button("in"), "=": () => this.button("in"), "-": () => this.button("out"),
        0: () => this.whole(), Home: () => this.whole(),
      };
      const way = ways[event.key];
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return false;
      event.preventDefault();
      way();
      return true;
    }
  }

  // Round steps for an axis.
  const stepFor = (span, most) => {
    const raw = span / Math.max(1, most), base = 10 ** Math.floor(Math.log10(raw));
    for (const part of [1, 2, 5, 10]) if (part * base >= raw) return part * base;
    return 10 * base;
  };

  return { plots, bytesText, timeText, countText, shareText, ranksText, unpacked, unzipped, colour, channels,
           mixed, css, isDark, Picture, stepFor, showTip };
})();
