// Checks that run inside the page. Each returns a list of errors as texts.
(function () {
  function shown(e) {
    var r = e.getBoundingClientRect();
    return r.width > 0 && r.height > 0 && getComputedStyle(e).visibility !== "hidden";
  }
  function texts(svg) { return Array.from(svg.querySelectorAll("text")).filter(shown); }
  function name(e) { return "“" + e.textContent.trim().slice(0, 40) + "”"; }

  function overlaps() {
    var bad = [];
    document.querySelectorAll("svg").forEach(function (svg) {
      var all = texts(svg);
      all.forEach(function (a, i) {
        var p = a.getBoundingClientRect();
        all.slice(i + 1).forEach(function (b) {
          var q = b.getBoundingClientRect();
          if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom) bad.push(name(a) + " overlaps " + name(b));
        });
      });
    });
    return bad;
  }

  function clipped() {
    var bad = [];
    document.querySelectorAll("svg").forEach(function (svg) {
      var box = svg.getBoundingClientRect();
      texts(svg).forEach(function (t) {
        var r = t.getBoundingClientRect();
        if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) bad.push(name(t) + " sticks out of its picture");
      });
    });
    return bad;
  }

  function small() {
    var bad = [];
    document.querySelectorAll("svg").forEach(function (svg) {
      texts(svg).forEach(function (t) {
        var px = parseFloat(getComputedStyle(t).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        if (px < 8.5) bad.push(name(t) + " is " + px.toFixed(1) + " px high");
      });
    });
    return bad;
  }

  function wide() {
    var root = document.documentElement;
    if (root.scrollWidth <= window.innerWidth) return [];
    var who = Array.from(document.body.querySelectorAll("*")).filter(function (e) {
      return e.getBoundingClientRect().right > window.innerWidth && !e.closest(".scroll, pre, svg");
    }).slice(0, 5).map(function (e) { return e.tagName + "." + e.className; });
    return ["the page is " + root.scrollWidth + " px wide in a window of " + window.innerWidth + ": " + who.join(", ")];
  }

  // The contrast of every element with text of its own, computed as in WCAG 2.
  function channel(c) { c /= 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); }
  function luminance(c) { return 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]); }
  function rgba(text) { return (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number); }
  function ground(e) {
    for (; e; e = e.parentElement) {
      var c = rgba(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  }
  function faint() {
    var bad = {};
    document.querySelectorAll("body *:not(script)").forEach(function (e) {
      var own = Array.from(e.childNodes).some(function (n) { return n.nodeType === 3 && n.textContent.trim(); });
      if (!own || !shown(e)) return;
      var style = getComputedStyle(e);
      var a = luminance(rgba(e.ownerSVGElement ? style.fill : style.color));
      var b = luminance(ground(e));
      var ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) bad[e.tagName + "." + (e.getAttribute("class") || "") + " has contrast " + ratio.toFixed(2)] = true;
    });
    return Object.keys(bad);
  }

  return [].concat(wide(), overlaps(), clipped(), small(), faint());
})()
