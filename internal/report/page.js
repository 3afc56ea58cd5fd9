(function () {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const tip = document.getElementById('tip');
const root = document.documentElement;
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function el(tag, text, parent) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}
const two = (n) => String(Math.floor(n)).padStart(2, '0');

// clock writes a time of the input's clock, in ms.
function clock(t) {
  if (D.epoch !== null) {
    const d = new Date(D.epoch + t);
    return d.toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
  }
  const s = Math.floor(t / 1000), day = Math.floor(s / 86400), r = s - day * 86400;
  return 'day ' + day + ' ' + two(r / 3600) + ':' + two(r / 60 % 60);
}
function length(s) {
  if (s < 60) return (s < 10 ? Math.round(s * 10) / 10 : Math.round(s)) + ' s';
  if (s < 3600) return Math.round(s / 60) + ' min';
  if (s < 172800) return Math.floor(s / 3600) + ' h ' + Math.floor(s / 60 % 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor(s / 3600 % 24) + ' h';
}

function place(ev) {
  tip.style.display = 'block';
  const w = tip.offsetWidth, h = tip.offsetHeight;
  let x = ev.clientX + 16, y = ev.clientY + 16;
  if (x + w > innerWidth - 8) x = Math.max(8, ev.clientX - w - 16);
  if (y + h > innerHeight - 8) y = Math.max(8, ev.clientY - h - 16);
  tip.style.left = x + 'px';
  tip.style.top = y + 'px';
}
const hide = () => { tip.style.display = 'none'; };

// Reading values off the line charts.
const units = {
  number: (v) => v.toLocaleString('en'),
  percent: (v) => (v / 10).toFixed(1) + ' %',
  gpus: (v) => (v / 10).toLocaleString('en', { maximumFractionDigits: v < 100 ? 1 : 0 }) + ' GPUs',
};
for (const box of document.querySelectorAll('[data-chart]')) {
  const chart = (D.charts || []).find((c) => c.id === box.dataset.chart);
  if (!chart) continue;
  const off = new Set();
  const areas = box.querySelectorAll('.area, .strip');
  const crosses = box.querySelectorAll('.cross');
  box.addEventListener('pointermove', (ev) => {
    const r = areas[0].getBoundingClientRect();
    const f = (ev.clientX - r.left) / r.width;
    if (f < 0 || f > 1) { leave(); return; }
    for (const c of crosses) { c.style.display = 'block'; c.style.left = 100 * f + '%'; }
    tip.replaceChildren();
    let index;
    if (chart.kind === 'wait') {
      const x = Math.pow(10, f * Math.log10(chart.to));
      el('b', 'started within ' + length(x), tip);
      index = () => Math.round(Math.log10(x) * 40);
    } else {
      const t = D.from + f * (D.to - D.from);
      el('b', clock(t), tip);
      index = (s) => Math.floor((t - s.from) / s.width);
    }
    for (const s of chart.series) {
      const v = s.v[index(s)];
      if (off.has(s.name)) continue;
      const line = el('div', undefined, tip), name = el('span', undefined, line);
      const sw = el('span', undefined, name);
      sw.className = 'swatch';
      sw.style.setProperty('--c', 'var(--s' + s.color + ')');
      name.append(s.name);
      el('span', v === undefined ? 'done' : units[chart.unit](v), line);
    }
    place(ev);
  });
  const leave = () => { hide(); for (const c of crosses) c.style.display = 'none'; };
  box.addEventListener('pointerleave', leave);
  for (const b of box.parentElement.querySelectorAll('.legend button')) {
    b.addEventListener('click', () => {
      const name = b.dataset.line, show = off.delete(name);
      if (!show) off.add(name);
      b.setAttribute('aria-pressed', String(show));
      for (const p of box.querySelectorAll('path[data-line]')) {
        if (p.dataset.line === name) p.classList.toggle('hidden', !show);
      }
    });
  }
}

// The picture of who ran where.
const P = D.picture;
if (P) {
  const canvas = document.getElementById('picture'), g = canvas.getContext('2d');
  const drag = document.querySelector('.drag'), reset = document.getElementById('picture-reset');
  const bytes = (s) => Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
  const u32 = (s) => new Uint32Array(bytes(s).buffer), u16 = (s) => new Uint16Array(bytes(s).buffer);
  const policies = P.policies.map((p) => ({
    n: p.n, note: p.note || '', job: u32(p.job), start: u32(p.start), length: u32(p.length),
    node: P.nodes.length <= 65536 ? u16(p.node) : u32(p.node), mask: bytes(p.mask), mb: p.maskBytes,
  }));
  const span = (P.to - P.from) / 1000;
  const lane = new Float64Array(P.nodes.length + 1);
  for (let i = 0; i < P.nodes.length; i++) lane[i + 1] = lane[i] + Math.max(1, P.gpus[i]);
  const lanes = lane[P.nodes.length];
  let current = 0, from = 0, to = span, hot = -1, W = 0, H = 0, left = 0, rowH = 1, gap = 0;
  const palette = 10;
  const hue = (job) => Math.min(palette, P.jobs.group[job]);

  const legend = document.getElementById('picture-legend');
  P.groups.slice(0, palette).forEach((name, i) => {
    const li = el('li', undefined, legend), sw = el('span', undefined, li);
    sw.className = 'swatch';
    sw.style.setProperty('--c', 'var(--t' + i + ')');
    li.append(name || '(none)');
  });
  if (P.groups.length > palette) {
    const li = el('li', undefined, legend), sw = el('span', undefined, li);
    sw.className = 'swatch';
    sw.style.setProperty('--c', 'var(--t10)');
    li.append((P.groups.length - palette) + ' others');
  }

  // runsOf calls back with the first lane and the number of lanes of each block of GPUs.
  function blocks(p, i, call) {
    const n = P.gpus[p.node[i]];
    let first = -1;
    for (let b = 0; b <= n; b++) {
      const set = b < n && p.mask[i * p.mb + (b >> 3)] >> (b & 7) & 1;
      if (set && first < 0) first = b;
      if (!set && first >= 0) { call(first, b - first); first = -1; }
    }
  }
  const top = (node, gpu) => (lane[node] + gpu) * rowH + node * gap;
  const xOf = (s) => left + (s - from) / (to - from) * (W - left);

  function draw() {
    const ratio = devicePixelRatio || 1;
    W = canvas.clientWidth;
    const narrow = W < 520;
    left = narrow ? 46 : 74;
    const nodes = P.nodes.length;
    gap = nodes <= 150 ? 3 : nodes <= 400 ? 1 : 0;
    rowH = Math.max(Math.min(5, (700 - nodes * gap) / lanes), Math.min(1, 1200 / lanes));
    const body = lanes * rowH + nodes * gap;
    H = Math.ceil(body + 24);
    canvas.style.height = H + 'px';
    canvas.width = Math.round(W * ratio);
    canvas.height = Math.round(H * ratio);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, W, H);
    g.fillStyle = css('--grid');
    for (let n = 0; n < nodes; n++) g.fillRect(left, top(n, 0), W - left, (lane[n + 1] - lane[n]) * rowH);
    const colour = [];
    for (let i = 0; i <= palette; i++) colour.push(css('--t' + i));
    const shades = [1, .8, .62];
    const p = policies[current];
    g.save();
    g.beginPath();
    g.rect(left, 0, W - left, body);
    g.clip();
    for (let i = 0; i < p.n; i++) {
      const a = p.start[i], b = a + p.length[i];
      if (b < from || a > to) continue;
      const x = xOf(a), w = Math.max(.7, xOf(b) - x - (xOf(b) - x > 4 ? .7 : 0)), job = p.job[i];
      g.fillStyle = colour[hue(job)];
      g.globalAlpha = hot >= 0 && hot !== job ? shades[job % 3] * .35 : shades[job % 3];
      blocks(p, i, (first, n) => g.fillRect(x, top(p.node[i], first), w, n * rowH));
    }
    g.globalAlpha = 1;
    if (hot >= 0) {
      g.strokeStyle = css('--ink');
      g.lineWidth = 1.2;
      for (let i = 0; i < p.n; i++) {
        if (p.job[i] !== hot) continue;
        const x = xOf(p.start[i]), w = Math.max(1, xOf(p.start[i] + p.length[i]) - x);
        blocks(p, i, (first, n) => g.strokeRect(x, top(p.node[i], first), w, n * rowH));
      }
    }
    g.restore();
    labels(body, narrow);
    document.getElementById('picture-note').textContent = p.note;
    reset.disabled = from === 0 && to === span;
  }

  function labels(body, narrow) {
    g.fillStyle = css('--soft');
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    let last = -99;
    for (let n = 0; n < P.nodes.length; n++) {
      const y = (top(n, 0) + top(n, Math.max(1, P.gpus[n]))) / 2;
      if (y - last < 13) continue;
      const name = P.nodes[n], most = narrow ? 7 : 11;
      g.fillText(name.length > most ? name.slice(0, most - 1) + '…' : name, left - 7, y);
      last = y;
    }
    g.textAlign = 'center';
    g.strokeStyle = css('--faint');
    const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2419200, 7862400, 31449600];
    const step = steps.find((s) => (to - from) / s <= (narrow ? 5 : 12)) || 31449600;
    const base = -((D.epoch ?? 0) + P.from) / 1000;
    for (let t = base + Math.ceil((from - base) / step) * step; t <= to; t += step) {
      const x = xOf(t);
      if (x < left || x > W - 8) continue;
      g.beginPath();
      g.moveTo(x, body);
      g.lineTo(x, body + 5);
      g.stroke();
      g.fillText(label(t, step), Math.min(W - 18, x), body + 15);
    }
  }
  function label(t, step) {
    if (D.epoch !== null) {
      const d = new Date(D.epoch + P.from + t * 1000), midnight = d.getUTCHours() + d.getUTCMinutes() + d.getUTCSeconds() === 0;
      if (step >= 86400 || midnight) return d.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
      return d.toISOString().slice(11, step < 60 ? 19 : 16);
    }
    t += P.from / 1000;
    if (step >= 86400) return 'day ' + Math.round(t / 86400);
    const end = to + P.from / 1000;
    if (step >= 3600 && end < 172800) return Math.round(t / 3600) + ' h';
    if (step < 3600 && step >= 60 && end < 7200) return Math.round(t / 60) + ' min';
    if (step < 60 && end < 120) return Math.round(t) + ' s';
    let text = t < 0 ? '-' : '', rest = Math.abs(Math.round(t));
    for (const [unit, s] of [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]]) {
      if (rest >= s) text += Math.floor(rest / s) + unit;
      rest %= s;
    }
    return text || '0s';
  }

  function find(ev) {
    const r = canvas.getBoundingClientRect(), x = ev.clientX - r.left, y = ev.clientY - r.top;
    if (x < left) return -1;
    const t = from + (x - left) / (W - left) * (to - from), slack = (to - from) / (W - left) * .7;
    const p = policies[current];
    for (let i = p.n - 1; i >= 0; i--) {
      if (t < p.start[i] || t > p.start[i] + Math.max(p.length[i], slack)) continue;
      let hit = false;
      blocks(p, i, (first, n) => { const y0 = top(p.node[i], first); hit = hit || y >= y0 && y < y0 + n * rowH; });
      if (hit) return i;
    }
    return -1;
  }
  function show(i, ev) {
    const p = policies[current], job = p.job[i], a = p.start[i];
    tip.replaceChildren();
    el('b', P.jobs.id[job], tip);
    const rows = [[P.groupBy, P.groups[P.jobs.group[job]] || '(none)'], ['asks for', P.jobs.gpus[job]], ['node', P.nodes[p.node[i]]],
      ['from', clock(P.from + a * 1000)], ['to', clock(P.from + (a + p.length[i]) * 1000)], ['for', length(p.length[i])]];
    for (const [k, v] of rows) { const d = el('div', undefined, tip); el('span', k, d); el('span', v, d); }
    place(ev);
  }
  let dragFrom = null;
  const inside = (ev) => Math.min(W, Math.max(left, ev.clientX - canvas.getBoundingClientRect().left));
  canvas.addEventListener('pointerdown', (ev) => { if (ev.pointerType === 'mouse') { dragFrom = inside(ev); canvas.setPointerCapture(ev.pointerId); } });
  canvas.addEventListener('pointermove', (ev) => {
    if (dragFrom !== null && Math.abs(inside(ev) - dragFrom) > 3) {
      const a = Math.min(dragFrom, inside(ev)), b = Math.max(dragFrom, inside(ev));
      Object.assign(drag.style, { display: 'block', left: canvas.offsetLeft + a + 'px', width: b - a + 'px', top: canvas.offsetTop + 'px', height: H - 24 + 'px' });
      hide();
      return;
    }
    const i = find(ev), job = i < 0 ? -1 : policies[current].job[i];
    if (job !== hot) { hot = job; draw(); }
    if (i < 0) hide(); else show(i, ev);
  });
  canvas.addEventListener('pointerup', (ev) => {
    const end = inside(ev);
    drag.style.display = 'none';
    if (dragFrom !== null && Math.abs(end - dragFrom) > 6) {
      const at = (x) => from + (x - left) / (W - left) * (to - from), a = at(Math.min(dragFrom, end)), b = at(Math.max(dragFrom, end));
      if (b - a > 2) { from = a; to = b; draw(); }
    }
    dragFrom = null;
  });
  canvas.addEventListener('pointerleave', () => { hide(); if (hot >= 0) { hot = -1; draw(); } });
  const all = () => { from = 0; to = span; draw(); };
  canvas.addEventListener('dblclick', all);
  reset.addEventListener('click', all);
  document.getElementById('picture-switch').addEventListener('change', (ev) => { current = Number(ev.target.value); hot = -1; draw(); });
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
}
})();
