// The page's script: it draws the charts that can be explored in place of those that are printed, and
// follows a run under way. It fetches nothing unless the page is live.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  const data = JSON.parse(document.getElementById("data").textContent);
  const say = (id, ...args) => args.reduce((s, a) => s.replace("%s", a), data.texts[id] || id);
  const russian = data.language === "ru";

  // Figures, as package units writes them.
  const figure = s => {
    if (!russian) return s;
    const names = { ns: "нс", "µs": "мкс", ms: "мс", s: "с", B: "Б", KiB: "КиБ", MiB: "МиБ", GiB: "ГиБ" };
    return s.replace(/,/g, "\u00a0").replace(/\./g, ",").replace(/ (ns|µs|ms|s|B|KiB|MiB|GiB)$/, (_, u) => "\u00a0" + names[u]).replace(/\/s$/, "/с");
  };
  const digits3 = x => x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2);
  const thousands = s => s.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const number = x => x == null ? "–" : figure(Math.abs(x) >= 999.5 ? thousands(x.toFixed(0)) : digits3(x));
  const count = n => figure(thousands(String(n)));
  const rate = x => x == null ? "–" : figure((x >= 999.5 ? thousands(x.toFixed(0)) : digits3(x)) + "/s");
  const time = ns => {
    if (ns == null) return "–";
    if (ns === Infinity) return "∞";
    for (const [u, of] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns >= of * 0.9995) return figure(digits3(ns / of) + " " + u);
    return figure(Math.round(ns) + " ns");
  };
  const size = b => {
    if (b == null) return "–";
    for (const u of ["B", "KiB", "MiB"]) { if (b < 1000) return figure((u === "B" ? b : digits3(b)) + " " + u); b /= 1024; }
    return figure(digits3(b) + " GiB");
  };
  const share = x => x == null ? "–" : figure(digits3(100 * x) + " %");
  const clock = s => {
    const two = n => String(n).padStart(2, "0"), w = Math.floor(s + 1e-9), rest = s - w;
    return (w >= 3600 ? Math.floor(w / 3600) + ":" + two(Math.floor(w / 60) % 60) : Math.floor(w / 60)) + ":" + two(w % 60) + (rest > 0.05 ? figure(rest.toFixed(1).slice(1)) : "");
  };

  // A run's distributions: of each slot a list of [bucket, count], for response and service time.
  const octave = 32;
  const edge = i => i < 2 * octave ? i : (i % octave + octave) * 2 ** (Math.floor(i / octave) - 1);
  const middle = i => i < 2 * octave ? i : Math.sqrt(edge(i) * edge(i + 1));
  const decode = (text, slots) => {
    const bytes = atob(text);
    let at = 0;
    const next = () => {
      let v = 0, of = 1, b;
      do { b = bytes.charCodeAt(at++); v += (b & 127) * of; of *= 128; } while (b > 127);
      return v;
    };
    const list = () => {
      const out = [];
      for (let n = next(), i = 0; n > 0; n--) { i += next(); out.push([i, next()]); }
      return out;
    };
    const out = [];
    for (let k = 0; k < slots; k++) out.push({ response: list(), service: list() });
    return out;
  };
  const prepare = run => {
    const c = run.columns;
    run.x = c.start.map((s, i) => (s + c.end[i]) / 2);
    run.sketches = decode(c.sketches, c.start.length);
    for (const part of run.parts || []) part.sketches = decode(part.columns.sketches, c.start.length);
  };
  // The columns of streams are absent where there were none.
  const streamed = ["first50", "first99", "between50", "between99"];
  // limited is a run of which only one operation or address is seen, as far as what it records tells them apart.
  const limited = (run, part) => {
    const own = {};
    for (const key of ["rate", "rateLow", "rateHigh", "p50", "p90", "p99", "max", "service50", "service99", ...streamed, "errors", "unsent", "noAnswer"]) own[key] = part.columns[key];
    own.offered = run.columns.start.map(() => null);
    return Object.assign({}, run, { columns: Object.assign({}, run.columns, own), sketches: part.sketches });
  };
  data.runs.forEach(prepare);

  // sum is the distribution of a window of a run, by bucket.
  const sum = (run, kind, within) => {
    const counts = new Map();
    let n = 0, missing = 0;
    run.sketches.forEach((slot, k) => {
      if (within ? !within(k) : run.columns.warmUp[k]) return;
      for (const [i, m] of slot[kind]) { counts.set(i, (counts.get(i) || 0) + m); n += m; }
      if (kind === "response") missing += run.columns.noAnswer[k];
    });
    return { list: [...counts].sort((a, b) => a[0] - b[0]), answered: n, missing, all: n + missing };
  };
  // quantiles are the values at ascending shares.
  const quantiles = (d, shares) => {
    let i = 0, seen = 0;
    return shares.map(q => {
      const rank = Math.max(Math.ceil(q * d.all - 1e-9), 1);
      while (i < d.list.length && seen + d.list[i][1] < rank) seen += d.list[i++][1];
      return d.all === 0 ? null : i < d.list.length ? middle(d.list[i][0]) : Infinity;
    });
  };

  // base is the run that is looked at, and run what is seen of it.
  let base = data.runs[0], run = base, chosen = null, plots = [], heat = null, curve = null;
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const color = n => css("--c" + (n % 7 + 1));
  const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 2]];
  // Sides that are compared have a colour each, everywhere; runs of a side differ in their dashes.
  const sided = data.runs.some(r => r.side);
  const lineOf = (label, r, i, k, value) => line(label, sided ? r.side - 1 : 2 * i + k, value, sided ? { dash: dashes[(2 * (i % 3) + k) % 7] } : {});
  const line = (label, n, value, more) => Object.assign({ label, stroke: color(n), width: 1.5, dash: dashes[n % 7], value: (_, v) => value(v), points: { show: u => u.data[0].length < 2, size: 7 } }, more);

  // Sizes are round in binary units.
  const binary = [0, 1, 2, 3].flatMap(k => [1, 2, 5, 10, 20, 50, 100, 200, 500].map(v => v * 1024 ** k));

  // What the charts over time show.
  const kinds = {
    rate: () => {
      const c = run.columns, low = c.rateLow, high = c.rateHigh;
      const joined = low.some((v, i) => v !== high[i]);
      const series = [line(say("achieved"), 0, rate), line(say("offered"), 1, rate)], ys = [c.rate, c.offered], bands = [];
      if (joined) {
        series.push(line(say("most of its intervals"), 5, rate, { width: .5 }), line(say("least of its intervals"), 5, rate, { width: .5 }));
        ys.push(high, low);
        bands.push({ series: [3, 4], fill: css("--c6") + "33" });
      }
      return { series, ys, bands, axis: rate };
    },
    latency: () => {
      const c = run.columns;
      return { series: [line("p50", 0, time), line("p90", 2, time), line("p99", 1, time), line(say("max"), 3, time), line(say("service") + " p50", 5, time), line(say("service") + " p99", 4, time)],
        ys: [c.p50, c.p90, c.p99, c.max, run.closed ? [] : c.service50, run.closed ? [] : c.service99], axis: time, log: true };
    },
    streams: () => {
      const c = run.columns, ends = c.first50 ? [c.service50, c.service99] : [[], []];
      return { series: ["to the first", "between", "to the end"].flatMap((name, i) => [line(say(name) + " p50", 2 * i, time), line(say(name) + " p99", 2 * i + 1, time)]),
        ys: [...streamed.map(key => c[key] || []), ...ends], axis: time, log: true };
    },
    errors: () => {
      const c = run.columns, names = Object.keys(c.errors);
      const series = names.map((n, i) => line(n, i, rate)), ys = names.map(n => c.errors[n]);
      if (c.unsent.some(v => v > 0)) { series.push(line(say("unsent"), series.length, rate)); ys.push(c.unsent); }
      return { series, ys, axis: rate };
    },
    sessions: () => ({ series: [line(say("sessions waiting for answers"), 0, number), line(say("backlog"), 1, number)], ys: [run.columns.busy, run.columns.backlog], axis: number }),
    cpu: () => ({ series: [line("brunt", 0, number), line(say("others"), 2, number), line(say("hypervisor"), 3, number)], ys: [run.columns.cpu, run.columns.others, run.columns.steal], axis: number }),
    loop: () => ({ series: [line(say("busiest event loop"), 0, share)], ys: [run.columns.loop], axis: share }),
    memory: () => ({ series: [line(say("memory"), 0, size)], ys: [run.columns.rss], axis: size, more: { incrs: binary } }),
  };
  const bandColors = { change: "--c5", fault: "--c2", standstill: "--c2", event: "--c3", "warm-up": "--mute" };
  const drawBands = u => {
    const { ctx, bbox } = u;
    ctx.save();
    for (const b of run.bands) {
      const from = Math.max(u.valToPos(b.from, "x", true), bbox.left), to = Math.min(u.valToPos(b.to, "x", true), bbox.left + bbox.width);
      if (to < bbox.left || from > bbox.left + bbox.width) continue;
      ctx.fillStyle = css(bandColors[b.kind] || "--c3");
      ctx.globalAlpha = to - from < 3 ? .8 : .16;
      ctx.fillRect(from, bbox.top, Math.max(to - from, 2), bbox.height);
    }
    ctx.restore();
  };
  // A tick is a round value: its zeros say nothing.
  const point = russian ? "," : "\\.";
  const zeros = new RegExp("(" + point + "\\d*?)0+(?=\\D|$)"), bare = new RegExp(point + "(?=\\D|$)");
  const round = s => s.replace(zeros, "$1").replace(bare, "");
  const decades = (_, splits) => splits.map(v => v > 0 && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9 ? v : null);
  const axis = (values, more) => Object.assign({ stroke: css("--ink"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") }, values: (_, all) => all.map(v => v == null ? "" : round(values(v))).map((s, i, said) => i && s === said[i - 1] ? "" : s) }, more);
  const logarithmic = () => ({ size: 78, filter: decades, grid: { stroke: css("--grid"), width: 1, filter: decades }, ticks: { stroke: css("--grid"), filter: decades } });
  const positive = ys => ys.map(y => y.map(v => v > 0 ? v : null));

  // seen leaves out lines of which nothing is there.
  const seen = spec => {
    const there = spec.ys.map(y => y.some(v => v != null));
    if (!there.some(Boolean) || spec.bands && spec.bands.length) return spec;
    return Object.assign(spec, { series: spec.series.filter((_, i) => there[i]), ys: spec.ys.filter((_, i) => there[i]) });
  };
  // legend draws each line's dash beside its name, and makes it a button that shows and hides the line.
  const legend = u => {
    u.root.querySelectorAll(".u-series").forEach((row, i) => {
      if (i === 0) return;
      const marker = row.querySelector(".u-marker"), head = row.querySelector("th"), s = u.series[i];
      if (!marker || !head) return;
      marker.style.border = "0";
      marker.innerHTML = `<svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true"><path d="M0 4h26" stroke="${typeof s.stroke === "function" ? s.stroke(u, i) : s.stroke}" stroke-width="2" stroke-dasharray="${(s.dash || []).join(" ")}"/></svg>`;
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.setAttribute("aria-pressed", "true");
      const pressed = () => head.setAttribute("aria-pressed", String(u.series[i].show));
      head.addEventListener("click", () => setTimeout(pressed));
      head.addEventListener("keydown", e => {
        if (e.key !== "Enter" && e.key !== " ") return;
        e.preventDefault();
        u.setSeries(i, { show: !u.series[i].show });
        pressed();
      });
    });
  };

  // The tooltip tells what all charts have at the moment that is pointed at, the chart that is pointed at first.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the legends say the same
  document.body.append(tip);
  const titleOf = fig => { const h = fig.closest(".chart").querySelector("h2"); return h ? h.textContent : ""; };
  const valuesAt = (u, k, most) => u.series.slice(1).map((s, i) => [s, u.data[i + 1][k]]).filter(([s, v]) => s.show && v != null).slice(0, most).map(([s, v]) => s.label + " " + s.value(u, v));
  const pointAt = (k, x, y, fig) => {
    if (k == null || run.x[k] === undefined) { tip.hidden = true; return; }
    tip.replaceChildren();
    const add = (text, bold) => { const p = document.createElement("div"); if (bold) { const b = document.createElement("b"); b.textContent = bold + " "; p.append(b); } p.append(text); tip.append(p); };
    add(phaseAt(run.x[k]), clock(run.x[k]));
    const own = plots.find(p => p.fig === fig);
    if (own) for (const v of valuesAt(own.u, k, 9)) add(v);
    for (const p of plots) if (p !== own) { const v = valuesAt(p.u, k, 3); if (v.length) add(v.join(" · "), titleOf(p.fig)); }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 16, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) + "px";
  };
  const phaseAt = s => { const p = (run.phases || []).find(p => p.from <= s && s < p.to); return p ? p.label : ""; };
  const slotAt = s => { let k = run.x.findIndex(x => x >= s); if (k < 0) k = run.x.length - 1; return k > 0 && s - run.x[k - 1] < run.x[k] - s ? k - 1 : k; };
  const cross = s => { if (heat && heat.cross && heat.x) { heat.cross.hidden = s == null; if (s != null) heat.cross.style.left = heat.x(s) + "px"; } };

  // Of a run without streams, their chart is hidden.
  const absent = (fig, spec) => fig.dataset.chart === "streams" && !spec.ys.some(y => y.some(v => v != null));
  const overTime = fig => {
    const spec = seen(kinds[fig.dataset.chart]());
    fig.closest(".chart").hidden = absent(fig, spec);
    const u = new uPlot({
      width: fig.clientWidth, height: 250, ms: 1, scales: { x: { time: false }, y: spec.log ? { distr: 3 } : { range: (_, lo, hi) => [Math.min(0, lo || 0), (hi || 1) * 1.05] } },
      axes: [axis(clock), axis(spec.axis, spec.log ? logarithmic() : Object.assign({ size: 78 }, spec.more))], series: [{ label: say("time"), value: (_, v) => v == null ? "–" : clock(v) }, ...spec.series], bands: spec.bands || [],
      cursor: { sync: { key: "brunt" }, drag: { x: true, y: false, setScale: false } },
      hooks: { drawClear: [drawBands], setCursor: [u => {
        if (u.over.matches(":hover")) cross(u.cursor.idx == null ? null : run.x[u.cursor.idx]);
      }], setSelect: [u => {
        if (u.select.width < 3) return;
        setWindow(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }] },
    }, [run.x, ...(spec.log ? positive(spec.ys) : spec.ys)], fig);
    u.over.addEventListener("dblclick", () => setWindow());
    u.over.addEventListener("mousemove", e => pointAt(u.cursor.idx, e.clientX, e.clientY, fig));
    u.over.addEventListener("mouseleave", () => { tip.hidden = true; cross(null); });
    legend(u);
    plots.push({ fig, u });
  };

  // The percentile curve: on its axis each further nine takes as much room as the one before.
  const most = Math.max(...data.runs.map(r => r.nines));
  const grid = Array.from({ length: Math.round(most * 50) + 1 }, (_, i) => i / 50);
  const ofNines = n => 1 - 10 ** -n;
  const finite = all => all.map(v => v == null || v === Infinity || v <= 0 ? null : v);
  const percent = n => n === 0 ? "0 %" : figure(String(+(100 * ofNines(n)).toPrecision(Math.ceil(n) + 2)) + " %");
  const within = k => chosen && run.columns.end[k] > chosen[0] && run.columns.start[k] < chosen[1];
  const curves = () => {
    const series = [{ label: say("quantile"), value: (_, v) => v == null ? "–" : percent(v) }], ys = [grid];
    data.runs.forEach((whole, i) => {
      const r = whole === base ? run : whole;
      const name = data.runs.length > 1 ? r.name + ": " : "";
      for (const [k, kind] of (r.closed ? ["service"] : ["response", "service"]).entries()) {
        series.push(lineOf(name + say(kind), r, i, k, time));
        ys.push(finite(quantiles(sum(r, kind), grid.map(ofNines))));
      }
    });
    if (chosen) {
      series.push(line(say("response in the window"), 4, time, { width: 2.5 }));
      ys.push(finite(quantiles(sum(run, "response", within), grid.map(ofNines))));
    }
    return { series, ys };
  };
  const drawCurve = fig => {
    if (curve) curve.destroy();
    const { series, ys } = curves();
    curve = new uPlot({
      width: fig.clientWidth, height: 300, scales: { x: { time: false, range: [0, most] }, y: { distr: 3 } },
      axes: [axis(percent, { splits: () => [0, 0.30103, ...Array.from({ length: Math.floor(most + 1e-9) }, (_, i) => i + 1)] }), axis(time, logarithmic())], series, cursor: { drag: { setScale: false } },
    }, ys, fig);
    legend(curve);
  };

  // The heat map: time by response time, the darker the more answers.
  const rows = 8; // buckets in a row: a quarter of an octave
  const drawHeat = () => {
    const canvas = heat.canvas, ratio = devicePixelRatio || 1, c = run.columns;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const g = canvas.getContext("2d"), beside = plots[0] && plots[0].u.bbox, // its axis is that of the charts
      left = beside ? beside.left / ratio : 78, bottom = 22, w = beside ? beside.width / ratio : canvas.clientWidth - left, h = canvas.clientHeight - bottom;
    g.scale(ratio, ratio);
    let low = Infinity, high = 0, top = 0;
    const columns = run.sketches.map(slot => {
      const m = new Map();
      for (const [i, n] of slot.response) {
        const row = Math.floor(i / rows), v = (m.get(row) || 0) + n;
        m.set(row, v);
        low = Math.min(low, row); high = Math.max(high, row); top = Math.max(top, v);
      }
      return m;
    });
    // While a window is drawn the map stays; then it shows what the charts show.
    const all = [c.start[0] || 0, c.end[c.end.length - 1] || 1];
    if (!heat.began) heat.shown = chosen || all;
    const [from, to] = heat.shown;
    heat.x = s => left + (s - from) / (to - from) * w;
    heat.s = x => Math.min(Math.max(from + (x - left) / w * (to - from), from), to);
    if (low === Infinity) return;
    high++;
    const y = row => h - (row - low) / (high - low) * h;
    g.fillStyle = css("--heat");
    g.save();
    g.beginPath();
    g.rect(left, 0, w, h);
    g.clip();
    columns.forEach((m, k) => {
      if (c.end[k] < from || c.start[k] > to) return;
      const x = heat.x(c.start[k]), wide = Math.max(heat.x(c.end[k]) - x, .6);
      for (const [row, n] of m) { g.globalAlpha = .12 + .88 * Math.log(n + 1) / Math.log(top + 1); g.fillRect(x, y(row + 1), wide + .3, y(row) - y(row + 1) + .3); }
    });
    g.restore();
    g.globalAlpha = 1;
    g.font = "11px system-ui,sans-serif";
    g.fillStyle = css("--ink");
    g.textAlign = "right";
    for (let decade = 1; decade < 1e15; decade *= 10) for (const m of (high - low) / 4 > 14 ? [1] : [1, 2, 5]) {
      let i = 0; while (edge(i) < m * decade) i++;
      const row = i / rows;
      if (row >= low && row <= high) { g.fillText(round(time(m * decade)), left - 6, Math.max(y(row) + 4, 9)); g.globalAlpha = .25; g.fillRect(left, y(row), w, .5); g.globalAlpha = 1; }
    }
    g.textAlign = "center";
    for (let k = 0, said = ""; k <= 6; k++) { const s = from + (to - from) * k / 6, at = to - from > 12 ? Math.round(s) : s; if (said !== (said = clock(at))) g.fillText(said, Math.min(Math.max(heat.x(at), left + 14), left + w - 18), h + 16); }
    if (chosen && heat.began) {
      g.fillStyle = css("--ink");
      g.globalAlpha = .12;
      g.fillRect(left, 0, heat.x(chosen[0]) - left, h);
      g.fillRect(heat.x(chosen[1]), 0, left + w - heat.x(chosen[1]), h);
      g.globalAlpha = 1;
      g.fillStyle = css("--accent");
      g.fillRect(heat.x(chosen[0]) - 1, 0, 2, h);
      g.fillRect(heat.x(chosen[1]) - 1, 0, 2, h);
    }
  };
  const startHeat = fig => {
    heat = { canvas: document.createElement("canvas") };
    heat.canvas.className = "heat";
    heat.canvas.setAttribute("aria-hidden", "true"); // the sliders and the text beside it say the same
    fig.prepend(heat.canvas);
    heat.cross = document.createElement("div");
    heat.cross.className = "cross";
    heat.cross.hidden = true;
    fig.append(heat.cross);
    let began = null;
    const at = e => heat.s(e.offsetX);
    heat.canvas.addEventListener("pointerdown", e => { began = at(e); heat.began = true; heat.canvas.setPointerCapture(e.pointerId); });
    heat.canvas.addEventListener("pointermove", e => {
      if (began !== null) { setWindow(began, at(e)); return; }
      const k = slotAt(at(e));
      cross(run.x[k]);
      for (const p of plots) p.u.setCursor({ left: p.u.valToPos(run.x[k], "x"), top: 10 });
      pointAt(k, e.clientX, e.clientY, fig);
    });
    heat.canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
      cross(null);
      for (const p of plots) p.u.setCursor({ left: -10, top: -10 });
    });
    heat.canvas.addEventListener("pointerup", e => {
      if (began !== null && Math.abs(heat.x(at(e)) - heat.x(began)) < 3) setWindow();
      began = null;
      heat.began = false;
      schedule();
    });
    heat.canvas.addEventListener("dblclick", () => setWindow());
  };

  // setWindow chooses a part of the run, everywhere; without arguments all of it.
  const byId = id => document.getElementById(id);
  const setWindow = (a, b) => {
    const c = run.columns, first = c.start[0] || 0, last = c.end[c.end.length - 1] || 1;
    chosen = a === undefined || !(Math.abs(b - a) > 0) ? null : [Math.min(a, b), Math.max(a, b)];
    if (chosen && chosen[0] <= first && chosen[1] >= last) chosen = null;
    for (const p of plots) p.u.setScale("x", chosen ? { min: chosen[0], max: chosen[1] } : { min: first, max: last });
    for (const [id, v] of [["from", chosen ? chosen[0] : first], ["to", chosen ? chosen[1] : last]]) {
      const input = byId("window-" + id);
      if (input) { input.min = first; input.max = last; input.step = Math.max((last - first) / 200, .001); input.value = v; input.setAttribute("aria-valuetext", clock(v)); }
    }
    describe();
    schedule();
  };
  const describe = () => {
    const out = byId("window-text");
    if (!out) return;
    const d = sum(run, "response", chosen ? within : null), [p50, p90, p99, p999] = quantiles(d, [.5, .9, .99, .999]);
    out.textContent = say(chosen ? "window %s – %s: %s" : "whole run%s%s: %s", chosen ? clock(chosen[0]) : "", chosen ? clock(chosen[1]) : "",
      say("%s answers, %s without one · p50 %s · p90 %s · p99 %s · p99.9 %s", count(d.answered), count(d.missing), time(p50), time(p90), time(p99), time(p999)));
  };
  // Drawing waits for the next frame, so that a brush that moves quickly draws once a frame.
  let waiting = false;
  const schedule = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (heat) drawHeat(); const fig = document.querySelector("figure[data-chart=curve]"); if (fig) drawCurve(fig); });
  };

  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const draw = () => {
    plots.forEach(p => p.u.destroy());
    plots = [];
    for (const fig of figures) {
      fig.classList.add("drawn");
      if (fig.dataset.chart === "heat") { if (!heat) startHeat(fig); } else if (fig.dataset.chart !== "curve") overTime(fig);
    }
    setWindow(...(chosen || []));
    root.dataset.drawn = Math.round(performance.now());
  };
  if (data.runs.length && data.runs[0].columns.start.length || data.live) draw();

  for (const id of ["from", "to"]) {
    const input = byId("window-" + id);
    if (input) input.addEventListener("input", () => setWindow(+byId("window-from").value, +byId("window-to").value));
  }
  const whole = byId("window-whole");
  if (whole) whole.addEventListener("click", () => setWindow());
  document.addEventListener("keydown", e => { if (e.key === "Escape") setWindow(); });
  // What the charts can be limited to: a run of several, an operation or an address, a phase.
  const choose = (id, names, change) => {
    const list = byId(id);
    if (!list) return;
    list.closest("label").hidden = names.length < 2;
    list.replaceChildren(...names.map((name, i) => new Option(name, i)));
    list.onchange = () => change(+list.value);
  };
  const choices = () => {
    const parts = base.parts || [], phases = base.phases || [];
    choose("operation", [say("all"), ...parts.map(p => p.name)], i => { run = i ? limited(base, parts[i - 1]) : base; draw(); });
    choose("phase", [say("all"), ...phases.map(p => p.label)], i => i ? setWindow(phases[i - 1].from, phases[i - 1].to) : setWindow());
  };
  if (base) {
    choose("run", data.runs.map(r => r.name), i => { run = base = data.runs[i]; chosen = null; choices(); draw(); });
    choices();
  }
  // Sections fold: charts are drawn when there is room for them, links unfold what they lead to, paper has all.
  const folds = [...document.querySelectorAll("details.part")];
  for (const d of folds) d.addEventListener("toggle", () => { if (d.open && d.querySelector("figure[data-chart]")) draw(); });
  const unfold = () => { const to = location.hash && byId(decodeURIComponent(location.hash.slice(1))); for (let d = to && to.closest("details"); d; d = d.parentElement.closest("details")) d.open = true; };
  addEventListener("hashchange", unfold);
  unfold();
  for (const a of document.querySelectorAll("nav a")) a.addEventListener("click", () => { const d = byId(a.hash.slice(1)); if (d) d.open = true; });
  addEventListener("beforeprint", () => { for (const d of folds) d.open = true; });

  const theme = byId("theme");
  const remember = v => { try { v === undefined || localStorage.setItem("brunt-theme", v); return localStorage.getItem("brunt-theme"); } catch { return null; } };
  if (remember()) root.dataset.theme = remember();
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; remember(root.dataset.theme); draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });

  if (!data.live) return;

  // The page of a run under way: its server sends the last slots once an interval. When it joined slots,
  // all of them are asked for again.
  const put = (id, html) => { const place = byId(id); if (place && html !== undefined) place.innerHTML = html; };
  const note = text => { const p = document.createElement("p"); p.className = "note"; p.textContent = text; byId("live").append(p); };
  const follow = () => {
    for (const p of plots) {
      const spec = seen(kinds[p.fig.dataset.chart]());
      if (spec.ys.length === p.u.data.length - 1 && p.fig.closest(".chart").hidden === absent(p.fig, spec)) p.u.setData([run.x, ...(spec.log ? positive(spec.ys) : spec.ys)]);
      else { draw(); return; }
    }
    setWindow(...(chosen || []));
  };
  const splice = (to, from, add) => { to.length = from; to.push(...add); };
  const take = message => {
    const c = run.columns, add = message.columns, from = message.from, n = add.start.length;
    for (const class_ of Object.keys(add.errors)) if (!c.errors[class_]) c.errors[class_] = c.start.map(() => 0);
    for (const class_ of Object.keys(c.errors)) splice(c.errors[class_], from, add.errors[class_] || add.start.map(() => 0));
    for (const key of streamed) {
      if (c[key] && !add[key]) add[key] = add.start.map(() => null);
      if (add[key] && !c[key]) c[key] = c.start.map(() => null);
    }
    for (const key of Object.keys(add)) if (Array.isArray(add[key])) splice(c[key], from, add[key]);
    splice(run.sketches, from, decode(add.sketches, n));
    splice(run.x, from, add.start.map((s, i) => (s + add.end[i]) / 2));
    run.bands = message.bands;
  };
  let busy = false;
  const anew = async () => {
    if (busy) return;
    busy = true;
    try {
      const fresh = await (await fetch("data" + location.search)).json();
      data.live = fresh.live;
      run = base = data.runs[0] = fresh.runs[0];
      prepare(run);
      draw();
    } finally { busy = false; }
  };
  const events = new EventSource("events" + location.search);
  events.addEventListener("slot", e => {
    const message = JSON.parse(e.data);
    if (message.generation !== data.live.generation || message.from > run.columns.start.length) { anew(); return; }
    take(message);
    put("live", message.head);
    put("tables", message.tables);
    if (!document.hidden) { if (plots.length) follow(); else draw(); }
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && plots.length) follow(); });
  let over = false;
  events.addEventListener("end", () => { over = true; events.close(); location.reload(); });
  events.addEventListener("error", () => { if (!over && events.readyState === EventSource.CLOSED) note(say("the connection to the run is lost")); });
  byId("stop").addEventListener("click", async () => {
    byId("stop").disabled = true;
    const answer = await fetch("stop" + location.search, { method: "POST", headers: { "X-Brunt-Token": data.live.token } });
    if (answer.ok) note(say("stopping: answers under way are waited for")); else byId("stop").disabled = false;
  });
})();
