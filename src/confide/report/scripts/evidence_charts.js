// Charts that do not depend on the reader's choices: averages, balance, coverage, weights and correlations.

function drawCoverage(box) {
  const mine = data.coverage.filter((each) => each.arm === box.dataset.arm);
  if (!mine.length) return;
  const least = Math.min(1 - data.alpha, ...mine.map((each) => each.low));
  draw(box, (width) => ({
    height: 22 * mine.length + 74,
    marginBottom: 44,
    marginLeft: width < 500 ? 118 : 140,
    marginRight: 16,
    x: { label: "coverage →", labelOffset: 40, domain: [Math.max(0, least - 0.04), 1], ticks: width < 500 ? 4 : 8, tickFormat: (share) => `${Math.round(100 * share)} %`, grid: true },
    y: { label: null, domain: mine.map((each) => each.method) },
    marks: [
      Plot.ruleX([1 - data.alpha], { stroke: "var(--ink)", strokeDasharray: "5,4" }),
      Plot.text([1 - data.alpha], { x: (share) => share, frameAnchor: "top", dy: -12, text: (share) => `requested: ${percent(share)}`, fill: "var(--ink-2)" }),
      Plot.ruleY(mine, { y: "method", x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 2.5 }),
      Plot.dot(mine, { y: "method", x: "coverage", r: 4.5, fill: "var(--accent)", stroke: "var(--card)" }),
    ],
    marginTop: 28,
  }));
}

function drawWeights() {
  const bars = data.weights.flatMap((each) => [
    { place: each.arm + " rows", text: `${short(each.arm, 10)}: rows`, size: each.rows, colour: "var(--band)" },
    { place: each.arm + " worth", text: `${short(each.arm, 10)}: n_eff`, size: each.worth, colour: "var(--accent)" },
  ]);
  const names = new Map(bars.map((each) => [each.place, each.text]));
  draw($("worth-chart"), () => ({
    height: 56 * data.weights.length + 64,
    marginLeft: 104,
    marginRight: 60,
    marginBottom: 44,
    x: { label: "rows →", labelOffset: 40, ticks: 4, domain: [0, Math.max(1, ...bars.map((each) => each.size))] },
    y: { label: null, domain: bars.map((each) => each.place), tickFormat: (place) => names.get(place), tickSize: 0 },
    marks: [
      Plot.barX(bars, { y: "place", x: "size", fill: "colour", insetTop: 2 }),
      Plot.text(bars, { y: "place", x: "size", text: (each) => whole.format(Math.round(10 * each.size) / 10), textAnchor: "start", dx: 5, fill: "var(--ink)" }),
      Plot.ruleX([0]),
    ],
    color: { type: "identity" },
  }));
  const known = data.weights.filter((each) => each.overlap !== null);
  draw($("overlap-chart"), () => ({
    height: 44 * data.weights.length + 64,
    marginLeft: 104,
    marginRight: 40,
    marginBottom: 44,
    x: { label: "overlap →", labelOffset: 40, domain: [0, 1], ticks: 5 },
    y: { label: null, domain: data.weights.map((each) => each.arm), tickFormat: (arm) => short(arm, 12) },
    marks: [
      Plot.ruleY(data.weights, { y: "arm", x1: 0, x2: 1, stroke: "var(--line)" }),
      Plot.ruleY(known, { y: "arm", x1: 0, x2: "overlap", stroke: "var(--accent)", strokeWidth: 3 }),
      Plot.dot(known, { y: "arm", x: "overlap", r: 5, fill: "var(--accent)" }),
      Plot.text(known, { y: "arm", x: "overlap", text: (each) => each.overlap.toFixed(2), dy: -12, fill: "var(--ink)" }),
    ],
  }));
}

const MOST_TIMES_WIDER = 3;
// Average effects: a thick line and a dot adjusted by the large table, a thin line and a ring the trial's means alone.
function drawAverages() {
  const box = $("averages-chart");
  if (!box) return;
  const several = new Set(data.averages.map((each) => each.treated)).size > 1;
  const rows = data.averages.map((each, place) => ({ ...each, place, name: several ? `${each.treated}: ${each.group}` : each.group }));
  const known = rows.filter((each) => each.low !== null);
  const alone = rows.filter((each) => each.unadjusted_low !== null);
  // A group of a few rows must not press all others together: intervals much wider than most are drawn to the edge.
  const usual = MOST_TIMES_WIDER * (d3.median(alone, (each) => each.unadjusted_high - each.unadjusted_low) ?? 0);
  const ends = [0];
  for (const [low, middle, high] of [...known.map((each) => [each.low, each.effect, each.high]), ...alone.map((each) => [each.unadjusted_low, each.unadjusted, each.unadjusted_high])]) {
    ends.push(...(high - low <= usual ? [low, high] : [middle]));
  }
  // Room for the words beside 0.
  const [first, last] = d3.extent(ends);
  const [least, most] = [Math.min(first, -0.16 * (last - first || 1)), Math.max(last, 0.16 * (last - first || 1))];
  const margin = 0.04 * (most - least);
  // An interval that goes on beyond the edge has an arrow there.
  const [left, right] = [least - margin, most + margin];
  const beyond = (mine, low, high) => ({ left: mine.filter((each) => each[low] < left), right: mine.filter((each) => each[high] > right) });
  const cut = [
    { ...beyond(known, "low", "high"), dy: -4, fill: "var(--accent)", fontSize: 15 },
    { ...beyond(alone, "unadjusted_low", "unadjusted_high"), dy: 8, fill: "var(--ink-2)", fontSize: 11 },
  ];
  const arrows = cut.flatMap(({ left: before, right: after, ...look }) => [
    Plot.text(before, { y: "place", x: () => left, text: () => "◀", textAnchor: "start", dx: -1, ...look }),
    Plot.text(after, { y: "place", x: () => right, text: () => "▶", textAnchor: "end", dx: 1, ...look }),
  ]);
  $("averages-cut").hidden = cut.every((each) => !each.left.length && !each.right.length);
  draw(box, (width) => {
    const wide = width >= 520;
    const longest = Math.max(...rows.map((each) => each.name.length));
    const room = Math.min(wide ? 210 : 110, 16 + 6.6 * longest);
    const signs = Math.floor((room - 10) / 6.4);
    return {
      height: (paper ? 28 : 38) * rows.length + 74,
      marginLeft: room,
      marginRight: wide ? 168 : 18,
      marginTop: 26,
      marginBottom: 46,
      x: { label: `${effectOn()} →`, labelOffset: 40, domain: [left, right], ticks: wide ? 6 : 4, grid: true },
      y: { label: null, domain: rows.map((each) => each.place), tickFormat: (place) => short(rows[place].name, signs), tickSize: 0 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)", strokeWidth: 1.25 }),
        ...(judged ? [
          Plot.text([data.lowerIsBetter ? "◂ better" : "better ▸"], { x: () => 0, frameAnchor: "top", dy: -16, dx: data.lowerIsBetter ? -6 : 6, text: (each) => each, textAnchor: data.lowerIsBetter ? "end" : "start", fill: "var(--benefit)", fontWeight: 600 }),
          Plot.text([data.lowerIsBetter ? "worse ▸" : "◂ worse"], { x: () => 0, frameAnchor: "top", dy: -16, dx: data.lowerIsBetter ? 6 : -6, text: (each) => each, textAnchor: data.lowerIsBetter ? "start" : "end", fill: "var(--harm)", fontWeight: 600 }),
        ] : []),
        Plot.ruleY(alone, { y: "place", x1: "unadjusted_low", x2: "unadjusted_high", stroke: "var(--ink-2)", strokeWidth: 1.5, dy: 8, clip: true }),
        Plot.dot(alone, { y: "place", x: "unadjusted", r: 3.5, fill: "var(--card)", stroke: "var(--ink-2)", strokeWidth: 1.5, dy: 8, clip: true }),
        Plot.ruleY(known, { y: "place", x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 4, dy: -4, clip: true }),
        Plot.dot(known, { y: "place", x: "effect", r: 5.5, fill: "var(--accent)", stroke: "var(--card)", dy: -4, clip: true }),
        ...arrows,
        ...(wide ? [Plot.text(rows, { y: "place", frameAnchor: "right", text: "text", textAnchor: "start", dx: 12, dy: -4, fill: "var(--ink)" })] : []),
      ],
    };
  });
}
const effectOn = () => (data.risk ? `change of the risk of ${short(data.outcome, 30)}, percentage points` : `change of ${short(data.measured, 40)}`);

// Love plot: the covariates that differ most, each comparison with its own sign.
const MOST_COVARIATES = 30;
const MOST_ON_PAPER = 12;
const COMPARISONS = [
  { symbol: "circle", sign: "●", colour: "var(--accent)" },
  { symbol: "triangle", sign: "▲", colour: "var(--harm)" },
  { symbol: "square", sign: "■", colour: "var(--benefit)" },
  { symbol: "diamond", sign: "◆", colour: "var(--ink-2)" },
];
function drawBalance() {
  const box = $("love-chart");
  if (!box) return;
  const comparisons = [...new Set(data.balance.map((each) => each.comparison))];
  const style = (each) => COMPARISONS[comparisons.indexOf(each.comparison) % COMPARISONS.length];
  const sized = data.balance.map((each) => ({ ...each, size: Math.abs(each.weighted ?? each.smd ?? NaN) })).filter((each) => !Number.isNaN(each.size));
  const largest = d3.rollup(sized, (mine) => d3.max(mine, (each) => each.size), (each) => each.covariate);
  const names = [...largest.keys()].sort((a, b) => largest.get(b) - largest.get(a));
  const kept = names.slice(0, paper ? MOST_ON_PAPER : MOST_COVARIATES);
  const shownNames = new Set(kept);
  const marks = sized.filter((each) => shownNames.has(each.covariate));
  const legend = $("love-legend");
  legend.replaceChildren(
    ...comparisons.map((comparison) => {
      const item = element("span");
      const { sign, colour } = style({ comparison });
      const mark = element("i", sign);
      mark.style.color = colour;
      item.append(mark, ` ${comparison}`);
      return item;
    }),
  );
  draw(box, (width) => ({
    height: (paper ? 13 : 20) * kept.length + 60,
    marginLeft: width < 520 ? 118 : 170,
    marginRight: 16,
    marginTop: 8,
    marginBottom: 44,
    x: { label: "standardised difference →", labelOffset: 40, domain: [0, Math.max(0.25, 1.05 * (d3.max(marks, (each) => each.size) ?? 0))], ticks: width < 520 ? 4 : 7, grid: true },
    y: { label: null, domain: kept, tickFormat: (name) => short(name, width < 520 ? 17 : 26), tickSize: 0 },
    marks: [
      Plot.ruleX([0.1], { stroke: "var(--ink)", strokeDasharray: "5,4" }),
      Plot.ruleY(kept, { stroke: "var(--line)" }),
      Plot.dot(marks, { y: "covariate", x: "size", r: 4.5, fill: (each) => style(each).colour, symbol: "comparison", stroke: "var(--card)", strokeWidth: 0.75 }),
    ],
    color: { type: "identity" },
    symbol: { domain: comparisons, range: comparisons.map((comparison) => style({ comparison }).symbol) },
  }));
  const said = ["Sizes of differences, whatever their sign"];
  if (data.balance.some((each) => each.weighted !== null)) said.push("weighted where weights apply");
  if (names.length > kept.length) said.push(`the ${kept.length} of ${names.length} covariates that differ most`);
  $("love-note").textContent = `${said.join("; ")}. The dashed line is at 0.1.`;
}

// What effects would be at each correlation of the two outcomes: the first pair of treatments.
function drawCorrelations() {
  const [curve] = data.correlations;
  if (!$("rho-width-chart") || !curve) return;
  const x = { label: "assumed correlation ρ →", labelOffset: 38, domain: [-1, 1], ticks: 5 };
  const shared = { height: 240, marginLeft: 56, marginBottom: 44, marginTop: 30 };
  const widths = curve.filter((each) => each.width !== null);
  const longest = Math.max(1e-12, ...widths.map((each) => each.width));
  draw($("rho-width-chart"), () => ({
    ...shared,
    x,
    y: { label: `↑ median width${unit}`, domain: [0, 1.08 * longest], grid: true, tickFormat: longest < 1e5 ? undefined : "~s" },
    marks: [
      Plot.line(widths, { x: "rho", y: "width", stroke: "var(--accent)", strokeWidth: 2, strokeDasharray: "6,4" }),
      Plot.dot(widths, { x: "rho", y: "width", fill: "var(--accent)", r: 4 }),
      Plot.ruleY([0]),
    ],
  }));
  const good = data.lowerIsBetter ? "below" : "above";
  const shares = curve.flatMap((each) => ["above", "below"].map((side) => ({ rho: each.rho, share: each[side], side, colour: !judged ? (side === "above" ? "var(--accent)" : "var(--ink-2)") : side === good ? "var(--benefit)" : "var(--harm)" })));
  const last = (side) => shares.filter((each) => each.side === side).slice(-1);
  draw($("rho-share-chart"), () => ({
    ...shared,
    marginRight: 62,
    x,
    y: { label: "↑ share of people", domain: [0, Math.max(0.05, 1.08 * d3.max(shares, (each) => each.share))], grid: true, tickFormat: (share) => `${Math.round(1000 * share) / 10} %` },
    marks: [
      ...["above", "below"].flatMap((side) => [
        Plot.line(shares.filter((each) => each.side === side), { x: "rho", y: "share", stroke: "colour", strokeWidth: 2, strokeDasharray: "6,4" }),
        Plot.text(last(side), { x: "rho", y: "share", text: () => `${side} 0`, dx: 8, textAnchor: "start", fill: "colour" }),
      ]),
      Plot.dot(shares, { x: "rho", y: "share", fill: "colour", r: 4, symbol: (each) => (each.side === "above" ? "triangle" : "circle") }),
      Plot.ruleY([0]),
    ],
    color: { type: "identity" },
  }));
}

const fixedCharts = () => {
  drawAverages();
  drawBalance();
  document.querySelectorAll("#methods[open] .coverage-chart").forEach(drawCoverage);
  drawWeights();
  drawCorrelations();
};

const drawCharts = () => {
  drawEffects();
  fixedCharts();
};
