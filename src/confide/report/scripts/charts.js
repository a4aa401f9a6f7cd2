// Charts: how one is drawn, and that of the individuals' effects.

// In print, charts are as wide as an A4 page allows, or as their own mark says, whatever the window.
const PAPER = 660;
let paper = null;

function draw(box, options) {
  const width = paper ? Number(box.dataset.paper ?? paper) : Math.max(260, Math.floor(box.clientWidth));
  const chart = Plot.plot({ width, style: { background: "none", fontSize: "12px" }, ...options(width) });
  chart.setAttribute("aria-hidden", "true"); // the box around it has the words
  box.replaceChildren(chart);
}

const median = (values) => {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : sorted[half - 1] === sorted[half] ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

function drawEffects() {
  const { point } = now.effects;
  const { lower, upper } = now.drawn;
  const rows = shown.filter((row) => !Number.isNaN(now.effects.lower[row])).sort((p, q) => point[p] - point[q] || p - q);
  const infinite = rows.filter((row) => shownEnds.some((end) => !Number.isFinite(now.drawn[end][row]))).length;
  const one = rows.length <= MOST_SINGLE;
  const steps = one ? rows.length : STEPS;
  const groups = Array.from({ length: steps }, (_, step) => {
    const from = Math.floor((step * rows.length) / steps);
    const to = Math.floor(((step + 1) * rows.length) / steps);
    const mine = rows.slice(from, to);
    return {
      rank: (from + to + 1) / 2,
      point: median(mine.map((row) => point[row])),
      lower: median(mine.map((row) => lower[row])),
      upper: median(mine.map((row) => upper[row])),
      group: now.group[mine[0]],
    };
  });
  const finite = groups.flatMap((each) => [each.point, each.lower, each.upper, 0]).filter(Number.isFinite);
  const extent = finite.length ? [Math.min(...finite), Math.max(...finite)] : [-1, 1];
  const margin = (extent[1] - extent[0] || 1) * (infinite ? 0.6 : oneEnd ? 0.15 : 0.05);
  const domain = [extent[0] - margin, extent[1] + margin];
  const cut = (value) => Math.max(domain[0], Math.min(domain[1], value));
  const title = effectsTitle(rows.length);
  $("effects-title").textContent = title;
  const colour = (each) => GROUPS[each.group].colour;
  draw($("effects-chart"), (width) => ({
    height: paper ? 190 : width < 500 ? 240 : 320,
    marginLeft: 56,
    marginBottom: 44,
    x: { label: "rows, by predicted effect →", labelOffset: 40, domain: [0.5, Math.max(1.5, rows.length + 0.5)], ticks: 5, tickFormat: (value) => (Number.isInteger(value) ? whole.format(value) : "") },
    y: { label: `↑ effect on ${short(data.measured, 50)}`, domain, grid: true, tickFormat: Math.max(...domain.map(Math.abs)) < 1e5 ? undefined : "~s" },
    marks: [
      one
        ? Plot.ruleX(groups, { x: "rank", y1: (each) => cut(each.lower), y2: (each) => cut(each.upper), stroke: colour, strokeWidth: Math.max(1, Math.min(4, (0.35 * width) / (steps || 1))), strokeOpacity: 0.45 })
        : Plot.areaY(groups, { x: "rank", y1: (each) => cut(each.lower), y2: (each) => cut(each.upper), fill: "var(--band)" }),
      one
        ? Plot.dot(groups, { x: "rank", y: "point", r: 3, fill: colour, symbol: (each) => each.group, clip: true })
        : Plot.line(groups, { x: "rank", y: "point", stroke: "var(--accent)", strokeWidth: 2, clip: true }),
      Plot.ruleY([0], { stroke: "var(--ink)", strokeWidth: 1.25 }),
    ],
    color: { type: "identity" },
    symbol: { domain: Object.keys(GROUPS), range: Object.values(GROUPS).map((group) => group.symbol) },
  }));
  const counts = possible.map((group) => `${whole.format(rows.filter((row) => now.group[row] === group).length)} ${called(group)}`);
  $("effects-chart").setAttribute("aria-label", `${title}. Of these rows ${counts.join(", ")}. The table under the chart has the same numbers.`);
  const said = [];
  if (!rows.length) said.push("No row to draw.");
  else if (one) said.push(`Each line ${oneEnd ? `begins at one row’s ${oneEnd} bound and goes on to the edge` : "is one row’s interval"}, its mark the predicted effect: ${possible.map((group) => `${GROUPS[group].sign} ${called(group)}`).join(", ")}.`);
  else said.push(`The band ${oneEnd ? `begins at the ${oneEnd} bounds and goes on to the edge` : "reaches from the lower to the upper ends"}, the line is the predicted effect; each step is the median of about ${counted(Math.round(rows.length / steps), "row")}.`);
  if (infinite) said.push(`${counted(infinite, `${intervals.slice(0, -1)} is`, `${intervals} are`)} infinite and drawn to the edge.`);
  if (rows.length < shown.length) said.push(`${counted(shown.length - rows.length, "interval is", "intervals are")} empty and not drawn.`);
  $("effects-note").textContent = said.join(" ");
  effectNumbers(rows);
}

function effectNumbers(rows) {
  const head = element("tr");
  for (const [text, kind] of [["position", ""], ["row", "n"], ["effect", "n"], ...shownEnds.map((end) => [`${end} ${oneEnd ? "bound" : "end"}`, "n"])]) head.append(element("th", text, { scope: "col", className: kind }));
  const places = rows.length ? [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1] : [];
  const lines = places.map((share) => {
    const row = rows[Math.round(share * (rows.length - 1))];
    const line = element("tr");
    line.append(element("th", share === 0 ? "smallest effect" : share === 1 ? "largest effect" : `after ${percent(share)} of the rows`, { scope: "row" }));
    const ends = shownEnds.map((end) => formattedEnd(now.effects[end][row], data.discrete.effects));
    for (const text of [rowNumber(row), formattedEffect(now.effects.point[row]), ...ends]) line.append(element("td", text, { className: "n" }));
    return line;
  });
  const body = element("tbody");
  body.append(...lines);
  const top = element("thead");
  top.append(head);
  $("effects-numbers").replaceChildren(top, body);
}
