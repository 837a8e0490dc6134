// The call graph: a tree to open and close, and pictures to zoom and move.
// SPDX-License-Identifier: BSD-3-Clause
"use strict";
for (const button of document.querySelectorAll("[data-open]")) {
  button.addEventListener("click", () => {
    const open = button.dataset.open === "all";
    for (const each of document.querySelectorAll(".tree details")) each.open = open;
  });
}
for (const view of document.querySelectorAll(".view")) {
  const svg = view.querySelector("svg");
  const width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height;
  let scale = 1, fitted = false, from = null;
  const zoom = (factor, x, y) => {
    const next = Math.min(8, Math.max(0.05, scale * factor));
    const left = (view.scrollLeft + x) * next / scale - x, top = (view.scrollTop + y) * next / scale - y;
    scale = next;
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    view.scrollLeft = left;
    view.scrollTop = top;
  };
  const ways = {
    in: () => zoom(1.3, view.clientWidth / 2, view.clientHeight / 2),
    out: () => zoom(1 / 1.3, view.clientWidth / 2, view.clientHeight / 2),
    fit: () => zoom(Math.min(1, view.clientWidth / width) / scale, 0, 0),
  };
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = view.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  view.addEventListener("keydown", (event) => {
    const way = { "+": ways.in, "=": ways.in, "-": ways.out, 0: ways.fit }[event.key];
    if (!way) return;
    event.preventDefault();
    way();
  });
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button) return;
    from = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
    view.classList.add("moving");
  });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    view.scrollLeft = from[0] - event.clientX;
    view.scrollTop = from[1] - event.clientY;
  });
  addEventListener("pointerup", () => { from = null; view.classList.remove("moving"); });
  // Opens at a size that can be read, with the root in view.
  new ResizeObserver(() => {
    if (fitted || !view.clientWidth) return;
    fitted = true;
    zoom(Math.min(1, Math.max(0.55, view.clientWidth / width)), 0, 0);
    const root = svg.querySelector(".node").getBoundingClientRect(), box = view.getBoundingClientRect();
    view.scrollTop += root.top - box.top - view.clientHeight / 2;
  }).observe(view);
  view.previousElementSibling.addEventListener("click", (event) => ways[event.target.dataset.zoom]?.());
}
