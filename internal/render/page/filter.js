// The filter of a page without charts to explore: it hides the charts and the rows whose names lack a text, and unfolds
// what is left.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");
  const input = document.getElementById("filter");
  if (!input) return;
  const things = [...document.querySelectorAll("main .chart, main tbody tr")].map(e => ({ e, name: (e.matches(".chart") ? e.querySelector("h2") || e : e).textContent.toLowerCase() }));
  const folded = [...document.querySelectorAll("details:not([open])")];
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const t of things) t.e.hidden = !words.every(w => t.name.includes(w));
    for (const d of folded) d.open = words.length > 0;
  });
})();
