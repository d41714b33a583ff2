"use strict";
var root = document.documentElement;

// Theme: system, light, dark. A browser may refuse storage on file: pages.
(function () {
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
})();

// In print, the parts that are folded on the screen are open.
(function () {
  var folded = [];
  window.addEventListener("beforeprint", function () {
    folded = Array.from(document.querySelectorAll("details")).filter(function (d) { return !d.open; });
    folded.forEach(function (d) { d.open = true; });
  });
  window.addEventListener("afterprint", function () { folded.forEach(function (d) { d.open = false; }); });
})();

// A link opens the folded part that it leads to.
(function () {
  function reveal(hash) {
    var target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    var inner = target.matches("section") ? target.querySelector("details.fold") : null;
    for (var d = inner || target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    target.scrollIntoView();
  }
  document.addEventListener("click", function (e) {
    var link = e.target.closest && e.target.closest("a[href^='#']");
    if (link) setTimeout(reveal, 0, link.getAttribute("href"));
  });
  reveal(location.hash);
})();

// Buttons that copy lines, the verdict, or a table as tab-separated values.
(function () {
  function plain(e) { return e.innerText.trim() + "\n"; }
  function cells(table) {
    return Array.from(table.rows).map(function (r) {
      return Array.from(r.cells).map(function (c) { return c.textContent.trim(); }).join("\t");
    }).join("\n") + "\n";
  }
  function copy(text, done) {
    function byHand() {
      var box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      done(document.execCommand("copy"));
      box.remove();
    }
    if (!navigator.clipboard) return byHand();
    navigator.clipboard.writeText(text).then(function () { done(true); }, byHand);
  }
  function offer(at, what, name, read) {
    var b = document.createElement("button");
    b.type = "button";
    b.className = "copy";
    b.textContent = "Copy";
    b.setAttribute("aria-label", "Copy " + name);
    b.addEventListener("click", function () {
      copy(read(what), function (ok) {
        b.textContent = ok ? "Copied" : "Not copied: select the text";
        setTimeout(function () { b.textContent = "Copy"; }, 2000);
      });
    });
    at.before(b);
  }
  document.querySelectorAll("pre").forEach(function (e) { offer(e, e, e.getAttribute("aria-label"), plain); });
  document.querySelectorAll(".verdict ul").forEach(function (e) { offer(e.parentElement.querySelector("h2"), e, "the verdict", plain); });
  document.querySelectorAll(".scroll").forEach(function (e) { offer(e, e.querySelector("table"), "table: " + e.getAttribute("aria-label"), cells); });
})();
