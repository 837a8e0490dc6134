// The matrix: rows send, columns receive. Pairs that share two pixels are summed, so that any number of ranks
// stays readable; hue says how near two ranks are, depth how much they exchange, on a logarithmic scale.
// SPDX-License-Identifier: BSD-3-Clause
"use strict";
(async () => {
  const { Picture, bytesText, timeText, countText, ranksText, channels, mixed, css, colour, stepFor } = corewise;
  const holder = document.getElementById("matrix");
  if (!holder) return;
  const sets = {};
  const names = JSON.parse(holder.dataset.kinds);
  for (const name of names) sets[name] = await corewise.unpacked(`data-matrix-${name}`);
  const ranks = sets[names[0]].meta.ranks;
  const LEAST_CELL = 2, GAP_FROM = 12;
  const texts = {
    bytes: bytesText, messages: (value) => `${countText(value)} message${value === 1 ? "" : "s"}`, time: timeText,
  };

  class Matrix extends Picture {
    constructor() {
      super(holder, { x0: 0, x1: ranks, y0: 0, y1: ranks, leastX: Math.min(ranks, 2), leastY: Math.min(ranks, 2) });
      this.kind = names[0];
      this.measure = "bytes";
      this.margin = { left: 54, top: 40, right: 6, bottom: 6 };
      this.cursor = null;
      this.starts = {};
      document.addEventListener("shown-matrix-kind", (event) => this.choose(event.detail, this.measure));
      document.addEventListener("shown-matrix-by", (event) => this.choose(this.kind, event.detail));
      this.canvas.addEventListener("blur", () => { this.cursor = null; this.later(); });
    }

    choose(kind, measure) {
      this.kind = kind;
      this.measure = measure;
      this.later();
    }

    // Where each sender's pairs begin.
    rowsOf(kind) {
      if (!this.starts[kind]) {
        const { sender } = sets[kind].data, starts = new Uint32Array(ranks + 1);
        for (const rank of sender) starts[rank + 1] += 1;
        for (let at = 0; at < ranks; at += 1) starts[at + 1] += starts[at];
        this.starts[kind] = starts;
      }
      return this.starts[kind];
    }

    // Sums pairs into cells of so many ranks a side, from the first visible one.
    sum() {
      const { x0, x1, y0, y1 } = this.view;
      const pixels = this.inner.width / (x1 - x0);
      const unit = sets[this.kind].meta.unit;
      let block = unit;
      while (block * pixels < LEAST_CELL) block *= 2;
      const left = Math.floor(x0 / block), top = Math.floor(y0 / block);
      const columns = Math.ceil(Math.min(ranks, x1) / block) - left, rows = Math.ceil(Math.min(ranks, y1) / block) - top;
      const { sender, receiver, level, ...measures } = sets[this.kind].data;
      const values = measures[this.measure] || measures.bytes;
      const total = new Float64Array(columns * rows), heaviest = new Float64Array(columns * rows);
      const levels = new Uint8Array(columns * rows);
      const starts = this.rowsOf(this.kind);
      const first = starts[Math.min(ranks, top * block)], last = starts[Math.min(ranks, (top + rows) * block)];
      for (let at = first; at < last; at += 1) {
        const column = Math.floor(receiver[at] / block) - left;
        if (column < 0 || column >= columns) continue;
        const cell = (Math.floor(sender[at] / block) - top) * columns + column;
        total[cell] += values[at];
        if (values[at] >= heaviest[cell]) {
          heaviest[cell] = values[at];
          if (level) levels[cell] = level[at];
        }
      }
      return { block, left, top, columns, rows, total, levels };
    }

    // Sums of everything that a cell holds, by each measure.
    cell(sender, receiver, block) {
      const { data } = sets[this.kind];
      const starts = this.rowsOf(this.kind), sums = { pairs: 0, bytes: 0, messages: 0, time: 0, levels: new Set() };
      for (let at = starts[sender]; at < starts[Math.min(ranks, sender + block)]; at += 1) {
        if (data.receiver[at] < receiver || data.receiver[at] >= receiver + block) continue;
        sums.pairs += 1;
        sums.bytes += data.bytes[at];
        sums.messages += data.messages[at];
        if (data.time) sums.time += data.time[at];
        if (data.level) sums.levels.add(data.level[at]);
      }
      return sums;
    }

    describe(sender, receiver, block) {
      const end = (rank) => ranksText(rank, Math.min(ranks, rank + block) - 1);
      const head = `${end(sender)} to ${end(receiver)}: `;
      const sums = this.cell(sender, receiver, block);
      if (!sums.pairs) return `${head}nothing`;
      const { meta, data } = sets[this.kind];
      const time = data.time && sums.time ? `, ${timeText(sums.time)} in calls` : "";
      const levels = meta.levels ? `\n${[...sums.levels].sort().map((each) => meta.levels[each]).join(", ")}` : "";
      const pairs = sums.pairs > 1 ? `, ${countText(sums.pairs)} pairs` : "";
      return `${head}${bytesText(sums.bytes)}\n${texts.messages(sums.messages)}${time}${pairs}${levels}`;
    }

    hint(x, y) {
      const block = this.shown ? this.shown.block : 1;
      const receiver = Math.floor(this.fromX(x) / block) * block, sender = Math.floor(this.fromY(y) / block) * block;
      if (x < this.margin.left || y < this.margin.top || receiver < 0 || sender < 0 || receiver >= ranks || sender >= ranks)
        return "";
      return this.describe(sender, receiver, block);
    }

    colours() {
      if (this.palette) return this.palette;
      const ground = channels(colour("ground-cell"));
      const shades = (name) => {
        const hue = channels(colour(name)), deep = channels(colour("deep"));
        return Array.from({ length: 32 }, (_, at) => {
          const part = at / 31;
          return css(part < 0.7 ? mixed(ground, hue, 0.16 + 1.2 * part) : mixed(hue, deep, (part - 0.7) * 1.5));
        });
      };
      const { meta } = sets[this.kind];
      this.palette = meta.levels ? meta.levels.map((_, at) => shades(`level-${at}`)) : [shades("level-1")];
      return this.palette;
    }

    draw(context) {
      const { left, top } = this.margin, { width, height } = this.inner;
      this.shown = this.sum();
      const { total } = this.shown;
      context.fillStyle = colour("ground-cell");
      context.fillRect(left, top, width, height);
      let low = Infinity, high = 0;
      for (const value of total) {
        if (value > 0 && value < low) low = value;
        if (value > high) high = value;
      }
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      this.drawCuts(context);
      this.drawCells(context, low, high);
      this.drawCursor(context);
      this.drawBox(context);
      context.restore();
      context.strokeStyle = colour("line");
      context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
      this.drawAxes(context);
      const text = texts[this.measure];
      const scale = holder.querySelector(".scale");
      const block = this.shown.block > 1 ? `; one cell sums ${this.shown.block} × ${this.shown.block} ranks` : "";
      scale.textContent = high ? `${text(low)} to ${text(high)}, logarithmic${block}` : "nothing here";
    }

    drawCells(context, low, high) {
      const { block, left, top, columns, rows, total, levels } = this.shown;
      const span = Math.log(high / low) || 1;
      const pixels = this.inner.width / (this.view.x1 - this.view.x0) * block;
      const gap = pixels >= GAP_FROM ? 1 : 0, size = pixels - 2 * gap;
      // Few cells of a pixel or two are drawn larger than they are, to be found.
      const mark = Math.max(size, total.length > 20000 ? 2.6 : size);
      const palette = this.colours();
      for (let row = 0; row < rows; row += 1) {
        const y = this.y((top + row) * block) + gap;
        for (let column = 0; column < columns; column += 1) {
          const value = total[row * columns + column];
          if (!value) continue;
          const depth = high === low ? 24 : Math.min(31, Math.floor(32 * Math.log(value / low) / span));
          context.fillStyle = palette[Math.min(palette.length - 1, levels[row * columns + column])][depth];
          context.fillRect(this.x((left + column) * block) + gap, y, mark, mark);
        }
      }
    }

    // Thick lines separate nodes, thin ones core complexes, where there is room for lines.
    drawCuts(context) {
      const { nodes, inner } = sets[this.kind].meta;
      const pixels = this.inner.width / (this.view.x1 - this.view.x0);
      for (const [cuts, width, name] of [[inner, 1, "line"], [nodes, 1.4, "line-soft"]]) {
        if (!cuts.length || ranks / (cuts.length + 1) * pixels < 7) continue;
        context.strokeStyle = colour(name);
        context.lineWidth = width;
        context.beginPath();
        for (const cut of cuts) {
          context.moveTo(this.x(cut), this.margin.top);
          context.lineTo(this.x(cut), this.height);
          context.moveTo(this.margin.left, this.y(cut));
          context.lineTo(this.width, this.y(cut));
        }
        context.stroke();
      }
      context.lineWidth = 1;
    }

    drawCursor(context) {
      if (!this.cursor) return;
      const [sender, receiver] = this.cursor, { block } = this.shown;
      const side = Math.max(6, this.x(block) - this.x(0));
      context.strokeStyle = colour("accent");
      context.lineWidth = 2.5;
      context.strokeRect(this.x(receiver), this.y(sender), side, side);
      context.lineWidth = 1;
    }

    drawAxes(context) {
      const { x0, x1, y0, y1 } = this.view;
      const step = Math.max(1, stepFor(x1 - x0, Math.min(this.inner.width / 34, 16)));
      context.fillStyle = colour("soft");
      const middle = Math.min(1, step) / 2;
      context.textAlign = "center";
      context.textBaseline = "bottom";
      for (let rank = Math.ceil(x0 / step) * step; rank + middle <= Math.min(x1, ranks); rank += step)
        context.fillText(rank, this.x(rank + middle), this.margin.top - 4);
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (let rank = Math.ceil(y0 / step) * step; rank + middle <= Math.min(y1, ranks); rank += step)
        context.fillText(rank, this.margin.left - 6, this.y(rank + middle));
      context.textBaseline = "top";
      context.textAlign = "left";
      context.fillText("receiver →", this.margin.left, 4);
      context.save();
      context.translate(4, this.margin.top);
      context.rotate(-Math.PI / 2);
      context.textAlign = "right";
      context.fillText("← sender", 0, 0);
      context.restore();
    }

    // Arrows walk from cell to cell and say what each holds; with Shift they move the picture.
    key(event) {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      const step = steps[event.key];
      if (!step || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return super.key(event);
      event.preventDefault();
      const { block } = this.shown;
      const start = [this.view.y0, this.view.x0].map((value) => Math.ceil(value / block) * block);
      const at = this.cursor
        ? this.cursor.map((rank, side) => Math.floor(rank / block) * block + step[side] * block) : start;
      this.cursor = at.map((rank) => Math.max(0, Math.min(Math.floor((ranks - 1) / block) * block, rank)));
      const [sender, receiver] = this.cursor, { x0, x1, y0, y1 } = this.view;
      if (receiver < x0 || receiver + block > x1 || sender < y0 || sender + block > y1)
        this.show({ x0: receiver - (x1 - x0) / 2, x1: receiver + (x1 - x0) / 2,
                    y0: sender - (y1 - y0) / 2, y1: sender + (y1 - y0) / 2 });
      this.say(this.describe(sender, receiver, block).replaceAll("\n", ", "));
      this.later();
      return true;
    }
  }

  corewise.plots.matrix = new Matrix();
  corewise.plots.matrix.fit();
})();
