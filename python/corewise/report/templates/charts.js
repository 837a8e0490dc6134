// Curves and bars, drawn by Bokeh, whose library lies compressed in the page. Its colours follow the page's.
// SPDX-License-Identifier: BSD-3-Clause
"use strict";
(async () => {
  const places = [...document.querySelectorAll(".chart[data-panel]")];
  if (!places.length) return;
  for (const id of ["bokeh-js", "bokeh-api-js"]) {
    const bytes = await corewise.unzipped(document.getElementById(id).textContent.trim());
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(bytes);
    document.head.append(script);
  }
  Bokeh.logger.set_level("warn");
  const { colour } = corewise;
  const MARKS = ["circle", "square", "diamond", "inverted_triangle", "triangle", "plus", "x", "asterisk"];
  const MANY_POINTS = 40, MOST_IN_ROW = 4, LONG_NAMES = 60;
  const number = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4))));

  const styled = (plot, panel) => {
    const ink = colour("ink"), soft = colour("soft"), line = colour("line"), card = colour("card");
    Object.assign(plot, { background_fill_color: card, border_fill_color: card, outline_line_color: null });
    plot.toolbar.logo = null;
    plot.toolbar.autohide = true;
    for (const axis of [...plot.xaxes, ...plot.yaxes])
      Object.assign(axis, {
        axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null,
        major_label_text_color: soft, axis_label_text_color: soft, axis_label_text_font_style: "normal",
        axis_label_text_font_size: "12px", major_label_text_font_size: "12px",
      });
    for (const grid of plot.xgrids) grid.grid_line_color = panel.across ? line : null;
    for (const grid of plot.ygrids) grid.grid_line_color = panel.across ? null : line;
    for (const legend of panel.series.length > 1 ? [plot.legend] : []) {
      plot.center = plot.center.filter((part) => part !== legend);
      plot.add_layout(legend, "above");
      Object.assign(legend, {
        background_fill_alpha: 0, border_line_color: null, label_text_color: ink, label_text_font_size: "12px",
        click_policy: "hide", orientation: "horizontal", ncols: MOST_IN_ROW, margin: 2, padding: 2, spacing: 12,
      });
    }
  };

  // Fixed marks with names of their own, in place of numbers.
  const named = (axis, marks) => {
    axis.ticker = new Bokeh.FixedTicker({ ticks: marks.map(([at]) => at), minor_ticks: [] });
    axis.major_label_overrides = new Map(marks);
    const letters = marks.reduce((sum, [, text]) => sum + text.length, 0);
    if (letters > LONG_NAMES) axis.major_label_orientation = 0.7;
  };

  const source = (panel, series, shift) => {
    const spread = series.spread || series.x.map(() => 0);
    const name = (x) => (panel.x_names ? panel.x_names[Math.round(x)] : x_text(panel, x));
    return new Bokeh.ColumnDataSource({ data: {
      x: series.x.map((x) => x + shift), y: series.y, low: series.y.map((y, at) => y - spread[at]),
      high: series.y.map((y, at) => y + spread[at]),
      text: series.y.map((y, at) => `${number(y)}${spread[at] ? ` ± ${number(spread[at])}` : ""}`),
      at: series.x.map(name), series: series.x.map(() => series.label),
    } });
  };
  const x_text = (panel, x) => (panel.x_log2 ? corewise.bytesText(x) : number(x));

  const drawSeries = (plot, panel) => {
    const bars = panel.kind === "bars", width = 0.8 / panel.series.length;
    panel.series.forEach((series, index) => {
      const shift = bars ? (index - (panel.series.length - 1) / 2) * width : 0;
      const data = source(panel, series, shift), hue = colour(`series-${index % 8}`);
      const x = { field: "x" }, y = { field: "y" }, low = { field: "low" }, high = { field: "high" };
      const label = panel.series.length > 1 ? { legend_label: series.label } : {};
      const marks = [];
      if (bars) {
        marks.push(plot.vbar(x, width * 0.92, y, 0, { source: data, fill_color: hue, line_color: null, ...label }));
      } else {
        if (panel.kind === "line") plot.line(x, y, { source: data, line_color: hue, line_width: 2, ...label });
        const size = series.x.length > MANY_POINTS ? 3 : 7;
        marks.push(plot.scatter(x, y, { source: data, size, marker: MARKS[index % 8], fill_color: hue,
                                        line_color: hue, ...label }));
      }
      if (series.spread) plot.segment(x, low, x, high, { source: data, line_color: colour("ink"), line_width: 1.2 });
      plot.add_tools(new Bokeh.HoverTool({ renderers: marks, attachment: "horizontal", tooltips: [
        ["", "@series"], [panel.x_label || "", "@at"], [panel.y_label || "", "@text"]] }));
    });
  };

  const drawPanel = (place) => {
    const panel = JSON.parse(place.dataset.panel);
    const plot = Bokeh.Plotting.figure({
      sizing_mode: "stretch_width", height: 330, min_width: 240, tools: "pan,wheel_zoom,box_zoom,reset,save",
      x_axis_type: panel.x_log2 ? "log" : "auto", y_axis_type: panel.y_log ? "log" : "auto",
      x_axis_label: panel.x_label, y_axis_label: panel.y_label,
    });
    drawSeries(plot, panel);
    for (const [name, level] of panel.lines) {
      plot.add_layout(new Bokeh.Span({ location: level, dimension: "width", line_color: colour("soft"),
                                       line_dash: "dashed" }));
      plot.add_layout(new Bokeh.Label({ x: 6, x_units: "screen", y: level, text: name, text_font_size: "11px",
                                        text_color: colour("soft") }));
    }
    if (panel.ticks.length) named(plot.xaxes[0], panel.ticks);
    else if (panel.x_names) named(plot.xaxes[0], panel.x_names.map((name, at) => [at, name]));
    if (panel.kind === "points") plot.y_range.flipped = true;
    else if (!panel.y_log && (panel.kind === "bars" || panel.from_zero)) plot.y_range.start = 0;
    if (panel.y_log) plot.yaxes[0].formatter = new Bokeh.BasicTickFormatter({ use_scientific: false });
    styled(plot, panel);
    place.replaceChildren();
    return Bokeh.Plotting.show(plot, place);
  };

  const drawAll = () => Promise.all(places.map(drawPanel));
  corewise.plots.charts = { fit: () => {}, recolour: (printing) => { if (!printing) drawAll(); },
                             ready: false };
  await drawAll();
  corewise.plots.charts.ready = true;
})();
