// The timeline: a row per rank. From afar, cells that say which share of the time went where; nearer, the calls
// themselves; nearer still, messages as lines from their send to their arrival. What is not kept call by call stays
// in the cells, so that nothing disappears.
// SPDX-License-Identifier: BSD-3-Clause
"use strict";
(async () => {
  const { Picture, bytesText, timeText, countText, shareText, ranksText, channels, mixed, css, colour, stepFor,
          isDark } = corewise;
  const holder = document.getElementById("timeline");
  if (!holder) return;
  const calls = await corewise.unpacked("data-calls");
  const cells = await corewise.unpacked("data-cells");
  const messages = await corewise.unpacked("data-messages");
  const { ranks, from, until, block, names, sites, category, categories, complete, phases } = calls.meta;
  const ROW_FOR_CALLS = 3, ROW_FOR_TEXT = 15, MOST_LINES = 6000, PHASES = 18;
  const count = calls.data.rank.length;

  // Where each rank's calls begin, and how far back a call may begin that is still running.
  const starts = new Uint32Array(ranks + 1);
  for (const rank of calls.data.rank) starts[rank + 1] += 1;
  for (let at = 0; at < ranks; at += 1) starts[at + 1] += starts[at];
  const reach = new Float64Array(count);
  for (let rank = 0; rank < ranks; rank += 1) {
    let last = -Infinity;
    for (let at = starts[rank]; at < starts[rank + 1]; at += 1)
      reach[at] = last = Math.max(last, calls.data.start[at] + calls.data.duration[at]);
  }
  // The first call of a rank that ends after a time.
  const firstAfter = (rank, time) => {
    let low = starts[rank], high = starts[rank + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reach[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  class Timeline extends Picture {
    constructor() {
      super(holder, { x0: from, x1: until, y0: 0, y1: ranks, leastX: Math.min(until - from, 200), leastY: Math.min(ranks, 1) });
      this.margin = { left: 64, top: phases.length ? 26 + PHASES : 26, right: 8, bottom: 6 };
      this.lines = true;
      this.focus = null;
      this.nearest = -1;
      holder.querySelector("[data-lines]").addEventListener("change", (event) => {
        this.lines = event.target.checked;
        this.later();
      });
      this.canvas.addEventListener("blur", () => { this.focus = null; this.later(); });
      this.begin();
      this.canvas.style.height = `${Math.max(240, Math.min(0.72 * innerHeight, 760, ranks * 46 + this.margin.top + 8))}px`;
    }

    // Opens without what MPI needs to start and stop, where that takes much of the run.
    begin() {
      const { start, duration, name } = calls.data, middle = (from + until) / 2;
      let first = Infinity, last = -Infinity;
      for (let at = 0; at < count; at += 1) {
        if (categories[category[name[at]]] !== "start and stop") continue;
        if (start[at] < middle && duration[at] > (until - from) / 50) first = Math.min(first, start[at] + duration[at]);
        else if (start[at] >= middle) last = Math.max(last, start[at]);
      }
      if (!(first - from > 0.2 * (until - from)) || first >= until) return;
      const end = last > first ? last : until, room = (end - first) / 50;
      this.show({ ...this.limits, x0: first - room, x1: end + room });
    }

    wheel(factor, other, x, y) { this.zoom(other ? 1 : factor, other ? factor : 1, x, y); }

    button(way) {
      if (way === "in") this.zoom(0.5, 1);
      else if (way === "out") this.zoom(2, 1);
      else if (way === "taller") this.zoom(1, 0.6);
      else if (way === "flatter") this.zoom(1, 1 / 0.6);
      else this.whole();
    }

    colours() {
      if (!this.palette) {
        const hues = categories.map((_, at) => channels(colour(`call-${at}`)));
        this.palette = { hues, calls: category.map((at) => css(hues[at])), ground: channels(colour("ground-cell")) };
        this.cellPicture = this.drawnCells();
      }
      return this.palette;
    }

    // Cells as an image of one pixel each.
    drawnCells() {
      const { rows, bins } = cells.meta, { share } = cells.data, { hues, ground } = this.palette;
      const picture = document.createElement("canvas");
      picture.width = bins;
      picture.height = rows;
      const context = picture.getContext("2d"), image = context.createImageData(bins, rows), size = rows * bins;
      for (let at = 0; at < size; at += 1) {
        let [red, green, blue] = ground, rest = 1;
        const parts = hues.map((_, which) => share[which * size + at] / 255);
        const all = parts.reduce((sum, part) => sum + part, 0);
        if (all > 0) {
          rest = Math.max(0, 1 - all);
          const sum = [0, 1, 2].map((channel) => ground[channel] * rest
            + parts.reduce((total, part, which) => total + part * hues[which][channel], 0));
          [red, green, blue] = sum.map((value) => value / Math.max(1, all));
        }
        image.data.set([red, green, blue, 255], 4 * at);
      }
      context.putImageData(image, 0, 0);
      return picture;
    }

    draw(context) {
      this.colours();
      const { left, top } = this.margin, { width, height } = this.inner;
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      const row = height / (this.view.y1 - this.view.y0);
      const near = row >= ROW_FOR_CALLS;
      this.drawGround(context, near);
      const drawn = near ? this.drawCalls(context, row) : 0;
      const lines = near && this.lines ? this.drawMessages(context, row) : 0;
      this.drawFocus(context, row);
      this.drawBox(context);
      context.restore();
      this.drawAxes(context, row);
      if (phases.length) this.drawPhases(context);
      context.strokeStyle = colour("line");
      context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
      holder.querySelector(".seen").textContent = this.seen(near, drawn, lines);
    }

    seen(near, drawn, lines) {
      const { x0, x1 } = this.view;
      const span = `${timeText(x0)} to ${timeText(x1)}, ${timeText(x1 - x0)} in view`;
      if (!near) return `${span}; shares of time: fewer ranks in view show their calls`;
      const hidden = this.lines && lines > MOST_LINES
        ? `; ${countText(lines)} messages in view: zoom in to see them` : "";
      return `${span}; ${countText(drawn)} call${drawn === 1 ? "" : "s"}${hidden}`;
    }

    drawGround(context, near) {
      const { left, top } = this.margin, { width, height } = this.inner;
      context.fillStyle = css(this.palette.ground);
      context.fillRect(left, top, width, height);
      if (near && complete) return;
      const { rows, bins } = cells.meta, { x0, x1, y0, y1 } = this.view;
      const perBin = (until - from) / bins;
      context.imageSmoothingEnabled = false;
      context.globalAlpha = near ? 0.45 : 1;
      context.drawImage(this.cellPicture, (x0 - from) / perBin, y0 / block, (x1 - x0) / perBin,
                        Math.min(rows, (y1 - y0) / block), left, top, width,
                        height * Math.min(1, rows * block / (y1 - y0)));
      context.globalAlpha = 1;
    }

    band(row) { return Math.max(1, Math.min(row * 0.66, 44)); }

    drawCalls(context, row) {
      const { x0, x1, y0, y1 } = this.view, { start, duration, name } = calls.data;
      const scale = this.inner.width / (x1 - x0), band = this.band(row), texts = row >= ROW_FOR_TEXT;
      let drawn = 0;
      for (let rank = Math.max(0, Math.floor(y0)); rank < Math.min(ranks, Math.ceil(y1)); rank += 1) {
        const y = this.y(rank + 0.5) - band / 2;
        let painted = -1;
        for (let at = firstAfter(rank, x0); at < starts[rank + 1] && start[at] < x1; at += 1) {
          drawn += 1;
          const left = this.margin.left + (start[at] - x0) * scale, width = duration[at] * scale;
          if (left + width < painted) continue;
          const begin = Math.max(this.margin.left - 2, left), end = Math.min(this.width, left + Math.max(width, 0.8));
          context.fillStyle = this.palette.calls[name[at]];
          context.fillRect(begin, y, end - begin, band);
          painted = Math.ceil(left + width - 0.5);
          if (texts && end - begin > 46) this.drawName(context, names[name[at]], begin, end, y + band / 2);
        }
      }
      return drawn;
    }

    drawName(context, name, begin, end, y) {
      const text = name.replace(/^MPI_/, ""), width = context.measureText(text).width;
      if (width > end - begin - 8) return;
      context.fillStyle = isDark() ? "#0b1016" : "#ffffff";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(text, begin + 5, y + 0.5);
    }

    // Messages are sorted by the time of their send: none after the view's end can be in it.
    inView() {
      const { sender, receiver, sent, arrived } = messages.data, { x0, x1, y0, y1 } = this.view;
      const found = [];
      for (let at = 0; at < sent.length && sent[at] < x1; at += 1) {
        if (arrived[at] < x0) continue;
        const [low, high] = sender[at] < receiver[at] ? [sender[at], receiver[at]] : [receiver[at], sender[at]];
        if (high + 1 > y0 && low < y1) found.push(at);
      }
      return found;
    }

    drawMessages(context, row) {
      const { sender, receiver, sent, arrived } = messages.data;
      const found = this.inView();
      this.visible = found.length <= MOST_LINES ? found : [];
      const half = this.band(row) / 2;
      context.strokeStyle = colour("message");
      context.fillStyle = colour("message");
      context.globalAlpha = Math.max(0.16, Math.min(0.85, 160 / (found.length + 1)));
      context.lineWidth = 1.1;
      context.beginPath();
      for (const at of this.visible) {
        const [x, y, toX, toY] = this.ends(at, half);
        context.moveTo(x, y);
        context.lineTo(toX, toY);
      }
      context.stroke();
      if (this.visible.length < 800)
        for (const at of this.visible) {
          const [, , toX, toY] = this.ends(at, half);
          context.fillRect(toX - 2, toY - 2, 4, 4);
        }
      context.globalAlpha = 1;
      if (this.nearest >= 0 && this.visible.includes(this.nearest)) {
        const [x, y, toX, toY] = this.ends(this.nearest, half);
        context.lineWidth = 2.4;
        context.strokeStyle = colour("accent");
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(toX, toY);
        context.stroke();
      }
      context.lineWidth = 1;
      return found.length;
    }

    ends(at, half) {
      const { sender, receiver, sent, arrived } = messages.data;
      const down = receiver[at] >= sender[at] ? 1 : -1;
      return [this.x(sent[at]), this.y(sender[at] + 0.5) + down * half * 0.6,
              this.x(arrived[at]), this.y(receiver[at] + 0.5) - down * half * 0.6];
    }

    drawFocus(context, row) {
      if (this.focus === null) return;
      const { start, duration, rank } = calls.data, band = this.band(row) + 3;
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      const left = this.x(start[this.focus]);
      context.strokeRect(left - 1, this.y(rank[this.focus] + 0.5) - band / 2,
                         Math.max(3, this.x(start[this.focus] + duration[this.focus]) - left) + 2, band);
      context.lineWidth = 1;
    }

    drawAxes(context, row) {
      const { x0, x1, y0, y1 } = this.view, { left, top } = this.margin;
      const step = stepFor(x1 - x0, this.inner.width / 110);
      context.fillStyle = colour("soft");
      context.strokeStyle = colour("line");
      context.textAlign = "center";
      context.textBaseline = "bottom";
      const figures = Math.max(3, Math.ceil(Math.log10(Math.max(1, Math.abs(x1)) / step)) + 1);
      for (let time = Math.ceil(x0 / step) * step; time <= x1; time += step) {
        const x = this.x(time);
        context.beginPath();
        context.moveTo(x, top - 4);
        context.lineTo(x, top);
        context.stroke();
        context.fillText(timeText(time, figures), Math.max(left + 18, Math.min(this.width - 26, x)), top - 6);
      }
      const rows = Math.max(1, stepFor(y1 - y0, this.inner.height / 18));
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (let rank = Math.ceil(y0 / rows) * rows; rank < Math.min(ranks, y1); rank += rows) {
        const y = this.y(rank + 0.5);
        if (y > top && y < this.height) context.fillText(rows < 1 ? rank : `${rank}`, left - 8, y);
      }
      context.textAlign = "left";
      context.textBaseline = "bottom";
      context.fillText("rank", 4, top - 6);
    }

    drawPhases(context) {
      const { x0, x1 } = this.view, { left } = this.margin;
      context.textBaseline = "middle";
      context.textAlign = "left";
      phases.forEach(([time, name], at) => {
        const end = at + 1 < phases.length ? phases[at + 1][0] : until;
        if (end < x0 || time > x1) return;
        const begin = Math.max(left, this.x(time)), stop = Math.min(this.width - this.margin.right, this.x(end));
        context.fillStyle = css(mixed(this.palette.ground, channels(colour("accent")), at % 2 ? 0.12 : 0.24));
        context.fillRect(begin, 0, stop - begin, PHASES - 3);
        if (context.measureText(name).width > stop - begin - 8) return;
        context.fillStyle = colour("ink");
        context.fillText(name, begin + 5, (PHASES - 3) / 2 + 0.5);
      });
    }

    // ---- what is under the pointer ------------------------------------------------------------------------

    callAt(rank, time, slack) {
      const { start, duration } = calls.data;
      for (let at = firstAfter(rank, time - slack); at < starts[rank + 1] && start[at] <= time + slack; at += 1)
        if (time <= start[at] + duration[at] + slack) return at;
      return -1;
    }

    describe(at) {
      const { rank, start, duration, name, bytes, peer, site } = calls.data;
      const other = peer[at] >= 0 ? `, ${bytesText(bytes[at])} with rank ${peer[at]}`
        : bytes[at] ? `, ${bytesText(bytes[at])}` : "";
      const where = site[at] >= 0 ? `\n${sites[site[at]]}` : "";
      return `rank ${rank[at]}: ${names[name[at]]}${other}\n${timeText(duration[at])}, from ${timeText(start[at], 6)}${where}`;
    }

    describeMessage(at) {
      const { sender, receiver, sent, arrived, bytes } = messages.data;
      return `message from rank ${sender[at]} to rank ${receiver[at]}: ${bytesText(bytes[at])}\n`
        + `sent at ${timeText(sent[at], 6)}, there after ${timeText(arrived[at] - sent[at])}`;
    }

    hint(x, y) {
      const { left, top } = this.margin;
      const time = this.fromX(x), rank = Math.floor(this.fromY(y));
      if (x < left || y < top || rank < 0 || rank >= ranks) return "";
      const row = this.inner.height / (this.view.y1 - this.view.y0);
      const before = this.nearest;
      this.nearest = -1;
      let text = "";
      if (row >= ROW_FOR_CALLS) {
        const inBand = Math.abs(y - this.y(rank + 0.5)) <= this.band(row) / 2;
        const at = inBand ? this.callAt(rank, time, 1.5 / this.inner.width * (this.view.x1 - this.view.x0)) : -1;
        if (at >= 0) text = this.describe(at);
        else if (this.lines) text = this.messageNear(x, y, row);
      }
      if (before !== this.nearest) this.later();
      return text || this.describeCell(rank, time);
    }

    messageNear(x, y, row) {
      let best = 6, found = -1;
      const half = this.band(row) / 2;
      for (const at of this.visible || []) {
        const [ax, ay, bx, by] = this.ends(at, half);
        const length = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
        const part = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
        const distance = Math.hypot(x - ax - part * (bx - ax), y - ay - part * (by - ay));
        if (distance < best) [best, found] = [distance, at];
      }
      this.nearest = found;
      return found >= 0 ? this.describeMessage(found) : "";
    }

    describeCell(rank, time) {
      const { rows, bins } = cells.meta, perBin = (until - from) / bins, size = rows * bins;
      const bin = Math.floor((time - from) / perBin), row = Math.floor(rank / block);
      if (bin < 0 || bin >= bins) return "";
      const parts = categories.map((name, which) => [name, cells.data.share[which * size + row * bins + bin] / 255])
        .filter(([, share]) => share > 0.002);
      const own = Math.max(0, 1 - parts.reduce((sum, [, share]) => sum + share, 0));
      const first = row * block, last = Math.min(ranks, first + block) - 1;
      const text = [...parts, ["outside MPI", own]].map(([name, share]) => `${shareText(share)} ${name}`).join("\n");
      return `${ranksText(first, last)}, ${timeText(from + bin * perBin, 4)} to ${timeText(from + (bin + 1) * perBin, 4)}\n${text}`;
    }

    left() {
      if (this.nearest < 0) return;
      this.nearest = -1;
      this.later();
    }

    // n and p walk from call to call of a rank; with Shift arrows zoom.
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return false;
      const way = {
        n: () => this.walk(1), p: () => this.walk(-1), m: () => this.toggle(),
        N: () => this.nextRank(1), P: () => this.nextRank(-1),
      }[event.key] || (event.shiftKey ? {
        ArrowUp: () => this.button("taller"), ArrowDown: () => this.button("flatter"),
        ArrowLeft: () => this.button("out"), ArrowRight: () => this.button("in"),
      }[event.key] : undefined);
      if (!way) return super.key(event);
      event.preventDefault();
      way();
      return true;
    }

    toggle() {
      const box = holder.querySelector("[data-lines]");
      box.checked = this.lines = !this.lines;
      this.later();
    }

    walk(step) {
      const { rank } = calls.data;
      if (this.focus === null) {
        const first = Math.max(0, Math.min(ranks - 1, Math.ceil(this.view.y0)));
        this.go(Math.min(count - 1, firstAfter(first, this.view.x0)));
      } else if (rank[this.focus + step] === rank[this.focus]) {
        this.go(this.focus + step);
      }
    }

    nextRank(step) {
      if (this.focus === null) return this.walk(1);
      const { rank, start } = calls.data, next = rank[this.focus] + step;
      if (next < 0 || next >= ranks || starts[next] === starts[next + 1]) return undefined;
      return this.go(Math.min(starts[next + 1] - 1, firstAfter(next, start[this.focus])));
    }

    go(at) {
      if (!count) return;
      this.focus = at;
      const { rank, start, duration } = calls.data, { x0, x1, y0, y1 } = this.view;
      const middle = start[at] + duration[at] / 2, half = (x1 - x0) / 2;
      const far = start[at] < x0 || start[at] + Math.min(duration[at], x1 - x0) > x1;
      const high = rank[at] < y0 || rank[at] + 1 > y1;
      this.show({ x0: far ? middle - half : x0, x1: far ? middle + half : x1,
                  y0: high ? rank[at] + 0.5 - (y1 - y0) / 2 : y0, y1: high ? rank[at] + 0.5 + (y1 - y0) / 2 : y1 });
      this.say(this.describe(at).replaceAll("\n", ", "));
    }
  }

  corewise.plots.timeline = new Timeline();
  corewise.plots.timeline.fit();
})();
