(JSON.parse(document.querySelector("script#data").textContent) || []).forEach(function (chart) {
  var figure = document.querySelector("figure#" + chart.id);
  if (!figure || !chart.series) return;
  var hidden = chart.series.map(function () { return false; });
  var sizes = sizesOf(chart);
  if (!sizes.length) return legend(figure, hidden, null);
  var zoom = zoomOf(figure, chart, hidden);
  legend(figure, hidden, zoom);
  var box = document.createElement("div");
  box.className = "readout";
  box.setAttribute("role", "status");
  box.hidden = true;
  figure.querySelector(".canvas").appendChild(box);
  figure.querySelectorAll("svg.chart").forEach(function (svg) { readout(svg, box, chart, sizes, hidden, zoom); });
});

// legend makes each entry a switch that hides and shows its curves.
function legend(figure, hidden, zoom) {
  figure.querySelectorAll(".legend [data-key]").forEach(function (item) {
    var series = item.getAttribute("data-key").split(" ").map(Number);
    var b = document.createElement("button");
    b.type = "button";
    b.setAttribute("aria-pressed", "true");
    while (item.firstChild) b.appendChild(item.firstChild);
    item.appendChild(b);
    b.addEventListener("click", function () {
      var off = !hidden[series[0]];
      b.setAttribute("aria-pressed", String(!off));
      series.forEach(function (i) {
        hidden[i] = off;
        figure.querySelectorAll(".chart [data-s='" + i + "']").forEach(function (g) { g.classList.toggle("off", off); });
      });
      if (zoom) zoom.show(zoom.window());
    });
  });
}

function sizesOf(chart) {
  var seen = {};
  chart.series.forEach(function (s) { s.points.forEach(function (p) { seen[p.b] = p.s; }); });
  return Object.keys(seen).map(Number).sort(function (a, b) { return a - b; })
    .map(function (b) { return { bytes: b, text: seen[b] }; });
}

// readout shows the values of all curves at one size: the size under the pointer, or the size
// chosen with the arrow keys.
function readout(svg, box, chart, sizes, hidden, zoom) {
  var plot = svg.getAttribute("data-plot").split(" ").map(Number);
  var guide = document.createElementNS("http://www.w3.org/2000/svg", "line");
  var at = -1;
  svg.querySelectorAll("g title").forEach(function (t) { t.remove(); });
  svg.setAttribute("tabindex", "0");
  svg.insertBefore(guide, svg.querySelector("[data-s]"));
  guide.setAttribute("class", "guide");
  guide.setAttribute("visibility", "hidden");
  guide.setAttribute("y1", plot[2]);
  guide.setAttribute("y2", plot[3]);

  function place(bytes) {
    var x = zoom.window();
    return plot[0] + (along(chart, bytes) - x[0]) / (x[1] - x[0]) * (plot[1] - plot[0]);
  }
  function leave() { at = -1; box.hidden = true; guide.setAttribute("visibility", "hidden"); }
  function choose(i) {
    at = Math.max(0, Math.min(sizes.length - 1, i));
    zoom.pan(along(chart, sizes[at].bytes));
    var px = place(sizes[at].bytes);
    guide.setAttribute("x1", px);
    guide.setAttribute("x2", px);
    guide.setAttribute("visibility", "visible");
    fill(sizes[at]);
    box.hidden = false;
    var scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    var left = px * scale + 14;
    if (left + box.offsetWidth > svg.getBoundingClientRect().width) left = px * scale - 14 - box.offsetWidth;
    box.style.left = Math.max(0, left) + "px";
    // Curves rise to the right, so that the free space beside a point is above it.
    box.style.top = (px * 2 < plot[0] + plot[1] ? 0.36 : 0.09) * svg.getBoundingClientRect().height + "px";
  }
  function fill(size) {
    box.textContent = "";
    var head = document.createElement("b");
    head.textContent = size.text;
    box.appendChild(head);
    chart.series.forEach(function (s, i) {
      if (hidden[i]) return;
      s.points.forEach(function (p) {
        if (p.b !== size.bytes) return;
        var line = document.createElement("div");
        line.textContent = s.name + ": " + p.t;
        box.appendChild(line);
      });
    });
  }
  function pixel(event) {
    var r = svg.getBoundingClientRect();
    return (event.clientX - r.left) / r.width * svg.viewBox.baseVal.width;
  }
  function nearest(px) {
    var best = -1, x = zoom.window();
    sizes.forEach(function (s, i) {
      var u = along(chart, s.bytes);
      if (u < x[0] || u > x[1]) return;
      if (best < 0 || Math.abs(place(s.bytes) - px) < Math.abs(place(sizes[best].bytes) - px)) best = i;
    });
    return best;
  }
  function look(px) {
    var i = nearest(px);
    if (i >= 0) choose(i);
  }

  // Dragging the mouse marks the part to zoom into. A finger scrolls instead.
  var from = null, mark = svgNode("rect", { "class": "mark", y: plot[2], height: plot[3] - plot[2], visibility: "hidden" });
  svg.append(mark);
  function drop() {
    from = null;
    mark.setAttribute("visibility", "hidden");
  }
  svg.addEventListener("pointerdown", function (e) {
    look(pixel(e));
    if (e.pointerType !== "mouse" || e.button !== 0) return;
    from = pixel(e);
    svg.setPointerCapture(e.pointerId);
    e.preventDefault();
    svg.focus();
  });
  svg.addEventListener("pointermove", function (e) {
    var px = pixel(e);
    look(px);
    if (from === null) return;
    var left = Math.max(plot[0], Math.min(from, px)), right = Math.min(plot[1], Math.max(from, px));
    mark.setAttribute("x", left);
    mark.setAttribute("width", Math.max(0, right - left));
    mark.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerup", function (e) {
    var x = zoom.window(), px = pixel(e), start = from;
    drop();
    if (start === null || Math.abs(px - start) < 10) return;
    var unit = function (p) { return x[0] + (p - plot[0]) / (plot[1] - plot[0]) * (x[1] - x[0]); };
    leave();
    zoom.show([unit(Math.min(px, start)), unit(Math.max(px, start))]);
  });
  svg.addEventListener("pointercancel", drop);
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    var step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], by = { "+": 0.5, "=": 0.5, "-": 2, "0": Infinity }[e.key];
    if (e.key === "Escape") leave();
    if (by) {
      var middle = at < 0 ? undefined : along(chart, sizes[at].bytes);
      leave();
      if (by === Infinity) zoom.show([-1e9, 1e9]); else zoom.scale(by, middle);
    }
    if (!step && !by) return;
    e.preventDefault();
    if (step) choose(at < 0 ? (step > 0 ? nearest(plot[0]) : nearest(plot[1])) : at + step);
  });
}
