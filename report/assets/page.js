"use strict";
(function () {
  var root = document.documentElement;

  // Theme: system, light, dark. Storage may be refused on file: pages.
  var button = document.querySelector("button#theme");
  var themes = ["system", "light", "dark"];
  function recall() { try { return localStorage.getItem("zbench-theme"); } catch (e) { return null; } }
  function keep(name) { try { localStorage.setItem("zbench-theme", name); } catch (e) { /* not kept, still shown */ } }
  function show(name) {
    if (themes.indexOf(name) < 0) name = "system";
    if (name === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    button.textContent = "Theme: " + name;
    return name;
  }
  var theme = show(recall());
  button.hidden = false;
  button.addEventListener("click", function () {
    theme = show(themes[(themes.indexOf(theme) + 1) % themes.length]);
    keep(theme);
  });

  // A printed page shows the tables that are folded on the screen.
  var folded = [];
  window.addEventListener("beforeprint", function () {
    folded = Array.prototype.filter.call(document.querySelectorAll("details"), function (d) { return !d.open; });
    folded.forEach(function (d) { d.open = true; });
  });
  window.addEventListener("afterprint", function () { folded.forEach(function (d) { d.open = false; }); });

  var charts = JSON.parse(document.querySelector("script#data").textContent) || [];
  charts.forEach(function (chart) {
    var figure = document.querySelector("figure#" + chart.id);
    if (!figure || !chart.series) return;
    var hidden = chart.series.map(function () { return false; });
    legend(figure, hidden);
    var sizes = sizesOf(chart);
    if (!sizes.length) return;
    var box = document.createElement("div");
    box.className = "readout";
    box.setAttribute("role", "status");
    box.hidden = true;
    figure.querySelector(".canvas").appendChild(box);
    figure.querySelectorAll("svg.chart").forEach(function (svg) { readout(svg, box, chart, sizes, hidden); });
  });

  // legend makes each entry a switch for its curve.
  function legend(figure, hidden) {
    figure.querySelectorAll(".legend [data-key]").forEach(function (item) {
      var i = Number(item.getAttribute("data-key"));
      var b = document.createElement("button");
      b.type = "button";
      b.setAttribute("aria-pressed", "true");
      while (item.firstChild) b.appendChild(item.firstChild);
      item.appendChild(b);
      b.addEventListener("click", function () {
        hidden[i] = !hidden[i];
        b.setAttribute("aria-pressed", String(!hidden[i]));
        figure.querySelectorAll(".chart [data-s='" + i + "']").forEach(function (g) { g.classList.toggle("off", hidden[i]); });
      });
    });
  }

  function sizesOf(chart) {
    var seen = {};
    chart.series.forEach(function (s) { s.points.forEach(function (p) { seen[p.b] = p.s; }); });
    return Object.keys(seen).map(Number).sort(function (a, b) { return a - b; })
      .map(function (b) { return { bytes: b, text: seen[b] }; });
  }

  // readout shows all curves at the size under the pointer, or at the one the
  // arrow keys chose.
  function readout(svg, box, chart, sizes, hidden) {
    var x = svg.getAttribute("data-x").split(" ").map(Number);
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

    function place(bytes) { return plot[0] + (Math.log2(bytes) - x[0]) / (x[1] - x[0]) * (plot[1] - plot[0]); }
    function leave() { at = -1; box.hidden = true; guide.setAttribute("visibility", "hidden"); }
    function choose(i) {
      at = Math.max(0, Math.min(sizes.length - 1, i));
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
      // Curves rise to the right: beside a point there, the free room is above.
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
    function nearest(event) {
      var r = svg.getBoundingClientRect();
      var px = (event.clientX - r.left) / r.width * svg.viewBox.baseVal.width;
      var best = 0;
      sizes.forEach(function (s, i) {
        if (Math.abs(place(s.bytes) - px) < Math.abs(place(sizes[best].bytes) - px)) best = i;
      });
      return best;
    }
    svg.addEventListener("pointermove", function (e) { choose(nearest(e)); });
    svg.addEventListener("pointerdown", function (e) { choose(nearest(e)); });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", function (e) {
      var step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (e.key === "Escape") leave();
      if (!step) return;
      e.preventDefault();
      choose(at < 0 ? (step > 0 ? 0 : sizes.length - 1) : at + step);
    });
  }
})();
