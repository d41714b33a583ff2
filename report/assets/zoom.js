// Zoom: a figure shows a part of its sizes, in both of its pictures. All positions are in units of
// the axes. The x axis counts octaves, or is linear.
function zoomOf(figure, chart, hidden) {
  var pictures = Array.from(figure.querySelectorAll("svg.chart")).map(function (svg, i) { return picture(svg, chart, figure.id + "-clip-" + i); });
  if (!pictures.length || !chart.x.length) return null;
  var full = pictures[0].x, now = full.slice();
  var reset = control("Reset zoom", function () { show(full); });
  var bar = document.createElement("p");
  bar.className = "zoom";
  bar.append(control("Zoom in", function () { scale(0.5); }), control("Zoom out", function () { scale(2); }), reset);
  var hint = document.createElement("span");
  hint.className = "small";
  hint.textContent = "or drag across the chart; keys + − 0";
  bar.append(hint);
  // The small pictures, many side by side, have no buttons: they zoom by keys and mouse only.
  if (!figure.closest(".strips")) figure.querySelector(".canvas").after(bar);
  reset.disabled = true;

  function control(text, act) {
    var b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", act);
    return b;
  }
  // show displays a part of the x axis, at least one unit long.
  function show(part) {
    var half = Math.max(1, Math.min(full[1] - full[0], part[1] - part[0])) / 2;
    var mid = Math.max(full[0] + half, Math.min(full[1] - half, (part[0] + part[1]) / 2));
    now = [mid - half, mid + half];
    if (half * 2 >= full[1] - full[0] - 1e-9) now = full.slice();
    reset.disabled = now[0] === full[0] && now[1] === full[1];
    figure.classList.toggle("zoomed", !reset.disabled);
    pictures.forEach(function (p) { p.show(now, reset.disabled ? p.y : range(p)); });
  }
  function scale(by, at) {
    var mid = at === undefined ? (now[0] + now[1]) / 2 : at, half = (now[1] - now[0]) / 2 * by;
    show([mid - half, mid + half]);
  }
  // range returns the part of the y axis that the visible points need.
  function range(p) {
    var lo = Infinity, hi = -Infinity;
    chart.series.forEach(function (s, i) {
      if (hidden[i]) return;
      s.points.forEach(function (q) {
        var x = along(chart, q.b), v = chart.y.log ? Math.log2(q.v) : q.v;
        if (x < now[0] || x > now[1]) return;
        lo = Math.min(lo, v);
        hi = Math.max(hi, v);
      });
    });
    if (lo > hi) return p.y;
    if (chart.y.log) return lo + 3 > hi ? [(lo + hi) / 2 - 1.6, (lo + hi) / 2 + 1.6] : [lo - 0.2, hi + 0.2];
    if (!chart.y.zero) return p.y;
    hi = Math.min(p.y[1], Math.max(hi * 1.09, (p.y[1] - p.y[0]) / 1e6));
    return [p.y[0] * hi / p.y[1], hi];
  }
  return {
    show: show, scale: scale,
    window: function () { return now; },
    pan: function (x) {
      var half = (now[1] - now[0]) / 2;
      if (x < now[0] || x > now[1]) show([x - half, x + half]);
    },
  };
}

// along returns the position of a size on the x axis, in units of the axis. A linear axis counts in
// units of 1.
function along(chart, bytes) { return chart.linear ? bytes : Math.log2(bytes); }

// picture moves the contents of one SVG to the visible part of the axes.
function picture(svg, chart, id) {
  var numbers = function (name) { return svg.getAttribute(name).split(" ").map(Number); };
  var x = numbers("data-x"), y = numbers("data-y"), plot = numbers("data-plot");
  var font = Number((svg.querySelector("[data-part=grid] text") || svg.querySelector("text")).getAttribute("font-size"));
  var clip = svgNode("clipPath", { id: id }), grid = svgNode("g", {});
  clip.append(svgNode("rect", { x: plot[0], y: plot[2] - font, width: plot[1] - plot[0], height: plot[3] - plot[2] + font }));
  svg.append(clip);
  svg.querySelector("[data-part=grid]").after(grid);

  function show(nx, ny) {
    var whole = nx[0] === x[0] && nx[1] === x[1];
    var sx = (x[1] - x[0]) / (nx[1] - nx[0]), tx = plot[0] * (1 - sx) + (x[0] - nx[0]) / (nx[1] - nx[0]) * (plot[1] - plot[0]);
    var sy = (y[1] - y[0]) / (ny[1] - ny[0]), ty = plot[3] * (1 - sy) - (y[0] - ny[0]) / (ny[1] - ny[0]) * (plot[3] - plot[2]);
    svg.querySelectorAll("[data-part=grid],[data-part=label]").forEach(function (g) { g.classList.toggle("away", !whole); });
    svg.querySelectorAll("[data-s],[data-part=lines],[data-part=band]").forEach(function (g) {
      if (whole) g.removeAttribute("clip-path"); else g.setAttribute("clip-path", "url(#" + id + ")");
      var across = g.getAttribute("data-part") === "lines", up = g.getAttribute("data-part") === "band";
      Array.from(g.children).forEach(function (e) {
        var c = centre(e), still = e.tagName === "text" || e.classList.contains("m");
        if (whole) e.removeAttribute("transform");
        else if (still) e.setAttribute("transform", "translate(" + (c[0] * sx + tx - c[0]) + " " + (e.tagName === "text" ? 0 : c[1] * sy + ty - c[1]) + ")");
        else e.setAttribute("transform", "matrix(" + [across ? 1 : sx, 0, 0, up ? 1 : sy, across ? 0 : tx, up ? 0 : ty].join(" ") + ")");
      });
    });
    grid.textContent = "";
    if (!whole) axes(nx, ny);
  }
  // axes draws the grid and the labels of the visible part.
  function axes(nx, ny) {
    var free = -Infinity;
    chart.x.forEach(function (t) {
      if (t.at < nx[0] || t.at > nx[1]) return;
      var px = plot[0] + (t.at - nx[0]) / (nx[1] - nx[0]) * (plot[1] - plot[0]), room = t.text.length * font * 0.36;
      if (px - room < free || px + room > plot[1] + font * 1.5) return;
      free = px + room + font;
      rule(px, plot[2], px, plot[3]);
      write(t.text, px, plot[3] + font * 1.7, "middle");
    });
    yTicks(chart.y, ny, (plot[3] - plot[2]) / font / 3).forEach(function (t) {
      var py = plot[3] - (t.at - ny[0]) / (ny[1] - ny[0]) * (plot[3] - plot[2]);
      rule(plot[0], py, plot[1], py);
      write(t.text, plot[0] - font * 0.6, py + font * 0.35, "end");
    });
  }
  function rule(x1, y1, x2, y2) { grid.append(svgNode("line", { "class": "k grid", x1: x1, y1: y1, x2: x2, y2: y2, "stroke-width": 1 })); }
  function write(text, px, py, anchor) {
    var t = svgNode("text", { "class": "t muted", x: px, y: py, "font-size": font, "text-anchor": anchor });
    t.textContent = text;
    grid.append(t);
  }
  return { x: x, y: y, show: show };
}

// yTicks returns the ticks for a part of the y axis. count is roughly their largest number.
function yTicks(y, part, count) {
  var inside = function (t) { return t.at >= part[0] && t.at <= part[1]; };
  if (y.log) {
    var all = y.ticks.filter(inside), every = Math.ceil(all.length / count);
    return all.filter(function (t, i) { return i % every === 0; });
  }
  var raw = (part[1] - part[0]) / y.scale / count, p = Math.pow(10, Math.floor(Math.log10(raw)));
  var step = [1, 2, 2.5, 5, 10].find(function (m) { return raw <= m * p; }) * p, out = [];
  for (var i = Math.ceil(part[0] / y.scale / step); i * step * y.scale <= part[1]; i++) {
    out.push({ at: i * step * y.scale, text: (i > 0 ? y.plus : "") + Number((i * step).toPrecision(12)).toLocaleString("en-US", { maximumFractionDigits: 6 }) + y.unit });
  }
  return out;
}

// centre returns the middle of a shape from its attributes, because the shape may not be visible.
function centre(e) {
  if (e.tagName === "circle") return [Number(e.getAttribute("cx")), Number(e.getAttribute("cy"))];
  if (e.tagName === "text") return [Number(e.getAttribute("x")), Number(e.getAttribute("y"))];
  var n = ((e.getAttribute("d") || "").match(/-?[\d.]+/g) || []).map(Number), c = [0, 0];
  n.forEach(function (v, i) { c[i % 2] += v * 2 / n.length; });
  return c;
}

function svgNode(name, attributes) {
  var e = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
  return e;
}
