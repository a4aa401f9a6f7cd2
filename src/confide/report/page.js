// The report page. Names and values of the table come in as text and leave as text: never as markup.
(() => {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const PAGE_ROWS = 25;
  // Up to MOST_SINGLE rows are drawn one by one; more rows in STEPS groups.
  const MOST_SINGLE = 250;
  const STEPS = 160;
  const EPSILON = Number.EPSILON;
  const NO_VALUE = "–";

  // Numbers, exactly as Python has them.

  function unpacked(text, Kind) {
    const signs = atob(text);
    const bytes = new Uint8Array(signs.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = signs.charCodeAt(i);
    return new Kind(bytes.buffer);
  }

  const floats = (text) => unpacked(text, Float64Array);
  const n = data.rows;
  const pool = data.pool.map(floats);
  const arms = data.arms.map((arm) => ({
    point: pool[arm.point],
    lower: pool[arm.lower],
    upper: pool[arm.upper],
    bounds: arm.bounds ? floats(arm.bounds) : null,
    outcome: arm.outcome ? floats(arm.outcome) : null,
    effect: arm.effect ? floats(arm.effect) : null,
  }));
  const columns = data.columns.map((column) => {
    if (column.values) return { ...column, at: (row) => column.values[row] };
    const places = unpacked(column.places, Uint16Array);
    return { ...column, at: (row) => column.different[places[row]] };
  });
  const slides = data.levels.length > 0;
  // Intervals with one end are called bounds; the other end, infinite or that of the outcome's range, is not shown.
  const oneEnd = data.side === "both" ? null : data.side;
  const shownEnds = oneEnd ? [oneEnd] : ["lower", "upper"];
  const intervals = oneEnd ? `${oneEnd} bounds` : "intervals";

  // Ends moved apart by offsets, rounded outwards and cut to the bounds: confide.conformal.intervals.moved_apart and Intervals.clip.
  function movedApart(lower, upper, below, above, bounds) {
    const low = new Float64Array(n);
    const high = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const size = Math.max(Math.abs(lower[i]), Math.abs(upper[i]));
      let a = lower[i] - below - 4 * EPSILON * Math.max(size, Math.abs(below));
      let b = upper[i] + above + 4 * EPSILON * Math.max(size, Math.abs(above));
      if (bounds) {
        a = Math.max(a, bounds[0]);
        b = Math.min(b, bounds[1]);
      }
      const empty = !(a <= b);
      low[i] = empty ? NaN : a;
      high[i] = empty ? NaN : b;
    }
    return { lower: low, upper: high };
  }

  function armInterval(arm, offsets, level) {
    return movedApart(arm.lower, arm.upper, offsets[2 * level], offsets[2 * level + 1], arm.bounds);
  }

  function outcomes(number) {
    const arm = arms[number];
    return slides ? armInterval(arm, arm.outcome, state.level) : arm;
  }

  function effect(number) {
    const [treated, control] = data.contrasts[number];
    const point = arms[treated].point.map((value, i) => value - arms[control].point[i]);
    if (!slides) return { point, lower: pool[data.effects[number].lower], upper: pool[data.effects[number].upper] };
    const one = armInterval(arms[treated], arms[treated].effect, state.level);
    const other = armInterval(arms[control], arms[control].effect, state.level);
    return {
      point,
      lower: one.lower.map((value, i) => value - other.upper[i]),
      upper: one.upper.map((value, i) => value - other.lower[i]),
    };
  }

  // The reader's choices, and what follows from them.

  // One sign per group, in filter, table and chart. Those who benefit are better under the treated arm, those harmed under the control.
  const DOWN = {
    draw(context, size) {
      const y = Math.sqrt(size / (Math.sqrt(3) * 3));
      context.moveTo(0, 2 * y);
      context.lineTo(Math.sqrt(3) * y, -y);
      context.lineTo(-Math.sqrt(3) * y, -y);
      context.closePath();
    },
  };
  const GROUPS = {
    benefits: { sign: "▲", symbol: "triangle", colour: "var(--benefit)", says: () => `better under ${sideName("treated")}` },
    harmed: { sign: "▼", symbol: DOWN, colour: "var(--harm)", says: () => `better under ${sideName("control")}` },
    undecided: { sign: "●", symbol: "circle", colour: "var(--ink-2)", says: () => "undecided" },
  };
  // Nobody can be on the side of 0 that is beyond the end which intervals lack.
  const lacking = oneEnd ? ((oneEnd === "lower") !== data.lowerIsBetter ? "harmed" : "benefits") : null;
  const possible = Object.keys(GROUPS).filter((group) => group !== lacking);
  const called = (group) => (group === "undecided" ? "undecided" : GROUPS[group].says());
  const state = {
    level: slides ? data.levels.indexOf(data.alpha) : -1,
    contrast: 0,
    group: "all",
    search: "",
    sort: { key: "row", down: false },
    page: 0,
  };
  let now; // intervals and groups at the selected level and contrast
  let shown; // rows that pass filter and search, in order

  const alpha = () => (slides ? data.levels[state.level] : data.alpha);

  // Texts about levels. Effects get no percentage that is not theirs; a level that is only requested is not called promised.
  const outcomeLevel = () => `${percent(1 - alpha())} ${intervals}${data.promised ? "" : " requested"}`;
  const stepLevel = () => `each step at ${data.armAlpha}`;

  function effectsTitle(count) {
    const rows = `of ${counted(count, "row")}`;
    const level =
      data.armAlpha !== null
        ? `${intervals} ${rows}, ${stepLevel()}`
        : data.promised
          ? `${percent(1 - alpha())} ${intervals} ${rows}`
          : `${intervals} ${rows}, ${percent(1 - alpha())} requested`;
    return `Effect of ${contrastName()}: ${level}, sorted by predicted effect`;
  }

  function levelsText() {
    if (data.armAlpha === null) return `${outcomeLevel()}, effect of ${contrastName()}.`;
    return `outcomes: ${outcomeLevel()}; effect of ${contrastName()}: ${stepLevel()}.`;
  }

  function recompute() {
    const answered = arms.map((arm, number) => ({ ...outcomes(number), point: arm.point }));
    const effects = effect(state.contrast);
    const group = new Array(n);
    const counts = { all: n, benefits: 0, harmed: 0, undecided: 0 };
    for (let i = 0; i < n; i++) {
      const side = effects.lower[i] > 0 ? 1 : effects.upper[i] < 0 ? -1 : 0;
      const good = data.lowerIsBetter ? -side : side;
      group[i] = good > 0 ? "benefits" : good < 0 ? "harmed" : "undecided";
      counts[group[i]]++;
    }
    const drawn = {
      lower: oneEnd === "upper" ? effects.lower.map(() => -Infinity) : effects.lower,
      upper: oneEnd === "lower" ? effects.upper.map(() => Infinity) : effects.upper,
    };
    now = { answered, effects, drawn, group, counts };
  }

  const spaced = (text) => text.replace(/\s+/g, " ").trim();
  let haystack;
  function matches(row, needle) {
    haystack ??= new Array(n);
    haystack[row] ??= columns.map((column) => spaced(column.at(row) ?? "")).join("\0").toLowerCase();
    return haystack[row].includes(needle);
  }

  function select() {
    const needle = spaced(state.search).toLowerCase();
    const rows = [];
    for (let i = 0; i < n; i++) {
      if (state.group !== "all" && now.group[i] !== state.group) continue;
      if (needle && !matches(i, needle)) continue;
      rows.push(i);
    }
    const { key, down } = state.sort;
    const value = keyed(key);
    if (value) {
      const keys = rows.map(value);
      const order = rows.map((_, place) => place).sort((p, q) => compare(keys[p], keys[q], down) || rows[p] - rows[q]);
      shown = order.map((place) => rows[place]);
    } else {
      shown = down ? rows.reverse() : rows;
    }
    state.page = Math.min(state.page, Math.max(0, Math.ceil(shown.length / PAGE_ROWS) - 1));
  }

  // Missing values last, whichever way; numbers as numbers, other text by the alphabet.
  const alphabet = new Intl.Collator("en", { numeric: true });
  function compare(a, b, down) {
    const missing = (value) => value === null || value === undefined || Number.isNaN(value);
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    const order = typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0) : alphabet.compare(a, b);
    return down ? -order : order;
  }

  function keyed(key) {
    if (key === "row") return null;
    const [kind, number] = key.split(":");
    if (kind === "effect") return (row) => now.effects.point[row];
    if (kind === "interval") return (row) => now.effects[shownEnds[0]][row];
    if (kind === "group") return (row) => now.group[row];
    if (kind === "point") return (row) => now.answered[number].point[row];
    if (kind === "ends") return (row) => now.answered[number][shownEnds[0]][row];
    const column = columns[number];
    return (row) => {
      const value = column.at(row);
      return value === null || value === "" ? null : column.numeric ? Number(value) : value;
    };
  }

  // Text.

  // Decimals that show four digits of a typical outcome, and three of a typical effect and width. What is smaller than the
  // outcomes by more than nine digits is treated as a rounding error.
  function chooseDecimals() {
    const typical = (values, least) => {
      const sizes = values.flatMap((each) => Array.from(each.slice(0, 400), Math.abs)).filter((size) => size > least && size < Infinity);
      return sizes.sort((a, b) => a - b)[sizes.length >> 1];
    };
    const needed = (size, digits) => (size === undefined ? 0 : digits - 1 - Math.floor(Math.log10(size)));
    const outcome = typical(arms.map((arm) => arm.point), 0);
    const least = 1e-9 * (outcome ?? 0);
    const effects = data.contrasts.map((_, number) => effect(number).point);
    const widths = arms.map((_, number) => outcomes(number)).map(({ lower, upper }) => upper.map((end, i) => end - lower[i]));
    const decimals = Math.min(12, Math.max(0, needed(outcome, 4), needed(typical(effects, least), 3), needed(typical(widths, least), 3)));
    formatter = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }
  let formatter;
  const whole = new Intl.NumberFormat("en-US");

  function formatted(value) {
    if (Number.isNaN(value)) return NO_VALUE;
    if (value === Infinity) return "∞";
    if (value === -Infinity) return "−∞";
    const text = formatter.format(value).replace("-", "−");
    return /[1-9]/.test(text) ? text : text.replace("−", "");
  }

  // Ends of a discrete outcome are declared values, and those of its effects differences of them: written as such.
  const declared = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 12, useGrouping: false });
  const formattedEnd = (value, exact) => (exact && Number.isFinite(value) ? declared.format(value + 0).replace("-", "−") : formatted(value));
  function formattedInterval(lower, upper, exact) {
    if (Number.isNaN(lower)) return "empty";
    if (oneEnd) {
      const end = oneEnd === "lower" ? lower : upper;
      return Number.isFinite(end) ? `${oneEnd === "lower" ? "at least" : "at most"} ${formattedEnd(end, exact)}` : "no bound";
    }
    return exact && lower === upper ? formattedEnd(lower, exact) : `${formattedEnd(lower, exact)} to ${formattedEnd(upper, exact)}`;
  }
  const counted = (count, one, many = `${one}s`) => `${whole.format(count)} ${count === 1 ? one : many}`;
  const percent = (share) => `${Number((100 * share).toPrecision(10))} %`;
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function element(name, text, properties) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, properties);
  }

  const sideName = (side) => data.labels[data.contrasts[state.contrast][side === "treated" ? 0 : 1]];
  const contrastName = () => data.contrasts[state.contrast].map((place) => data.labels[place]).join(" against ");

  // The table.

  function headings() {
    const itsEnds = oneEnd ? `its ${oneEnd} bound` : "its interval";
    const own = columns.map((column, number) => ({ column, key: `own:${number}`, text: column.name }));
    const answers = data.labels.flatMap((label, number) => [
      { key: `point:${number}`, text: `under ${label}`, number: true },
      { key: `ends:${number}`, text: itsEnds, number: true, name: `${itsEnds}, under ${label}` },
    ]);
    return [
      { key: "row", text: "row", number: true },
      ...own.filter((each) => !each.column.covariate),
      { key: "effect:", text: "effect", number: true },
      { key: "interval:", text: itsEnds, number: true, name: `${itsEnds}, of the effect` },
      { key: null, text: "around 0", bar: true },
      { key: "group:", text: "says" },
      ...answers,
      ...own.filter((each) => each.column.covariate),
    ];
  }

  const heads = headings();
  // The first identifier names the row; without one its number does.
  if (!heads[1].column) heads[0].names = true;
  else {
    heads[1].names = true;
    heads.unshift(heads.splice(1, 1)[0]);
  }

  function drawHead() {
    const row = element("tr");
    for (const head of heads) {
      const cell = element("th", undefined, { scope: "col", className: classOf(head) });
      if (head.key === null) cell.textContent = head.text;
      else {
        const sorted = state.sort.key === head.key;
        const button = element("button", short(head.text, 40), { type: "button", title: head.name ?? head.text });
        button.dataset.key = head.key;
        if (head.name) button.setAttribute("aria-label", head.name);
        if (sorted) {
          cell.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
          button.append(element("span", state.sort.down ? " ↓" : " ↑", { ariaHidden: "true" }));
        }
        cell.append(button);
      }
      row.append(cell);
    }
    $("rows").tHead.replaceChildren(row);
  }

  const classOf = (head) =>
    [head.number || head.column?.numeric ? "n" : "", head.column?.covariate || head.bar ? "not-printed" : ""].join(" ").trim();

  function drawBody() {
    const first = state.page * PAGE_ROWS;
    const rows = shown.slice(first, first + PAGE_ROWS);
    const scale = barScale(rows);
    $("rows").tBodies[0].replaceChildren(
      ...rows.map((row) => {
        const line = element("tr");
        for (const head of heads) line.append(cellOf(head, row, scale));
        return line;
      }),
    );
    const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
    $("page").textContent = `page ${whole.format(state.page + 1)} of ${whole.format(pages)}`;
    const needle = state.search.trim();
    const whose = `${state.group === "all" ? "" : ` ${called(state.group)}`}${needle ? ` with “${needle}”` : ""}`;
    const held = shown.length > rows.length ? ` The table shows rows ${whole.format(first + 1)} to ${whole.format(first + rows.length)} of ${whole.format(shown.length)}, page ${whole.format(state.page + 1)}; the download has all of them.` : "";
    $("status").textContent = `${whole.format(shown.length)} of ${counted(n, "row")}${whose} selected; ${levelsText()}${held}`;
    for (const id of ["first", "previous"]) $(id).disabled = state.page === 0;
    for (const id of ["next", "last"]) $(id).disabled = state.page >= pages - 1;
  }

  function cellOf(head, row, scale) {
    const cell = element(head.names ? "th" : "td", undefined, { className: classOf(head) });
    if (head.names) cell.scope = "row";
    const [kind, number] = (head.key ?? ":").split(":");
    const answered = now.answered[number];
    if (head.bar) cell.append(bar(row, scale));
    else if (kind === "row") cell.textContent = whole.format(row + 1);
    else if (kind === "effect") cell.textContent = formatted(now.effects.point[row]);
    else if (kind === "interval") cell.textContent = formattedInterval(now.effects.lower[row], now.effects.upper[row], data.discrete.effects);
    else if (kind === "point") cell.textContent = formatted(answered.point[row]);
    else if (kind === "ends") cell.textContent = formattedInterval(answered.lower[row], answered.upper[row], data.discrete.outcomes);
    else if (kind === "group") {
      const group = GROUPS[now.group[row]];
      cell.append(element("span", `${group.sign} `, { ariaHidden: "true" }), group.says());
      cell.title = group.says();
      cell.classList.add(now.group[row]);
    } else {
      const value = head.column.at(row);
      cell.textContent = value === null ? NO_VALUE : value;
      if (value !== null && value.length > 24) cell.title = value;
    }
    return cell;
  }

  function barScale(rows) {
    const { point } = now.effects;
    const ends = rows.flatMap((row) => [now.drawn.lower[row], now.drawn.upper[row], point[row]]).filter(Number.isFinite);
    const reach = Math.max(...ends.map(Math.abs), 0) || 1;
    return (value) => 50 + 48 * Math.max(-1, Math.min(1, value / reach));
  }

  function bar(row, scale) {
    const made = (name, attributes) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      return node;
    };
    const picture = made("svg", { class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
    picture.append(made("line", { x1: 50, x2: 50, y1: 0, y2: 16, stroke: "currentColor", "stroke-width": 1 }));
    const { lower, upper } = now.drawn;
    if (!Number.isNaN(now.effects.lower[row])) {
      const { colour } = GROUPS[now.group[row]];
      const [from, to] = [scale(lower[row]), scale(upper[row])];
      picture.append(made("rect", { x: from, width: Math.max(1, to - from), y: 6, height: 4, rx: 1, fill: colour }));
      picture.append(made("rect", { x: scale(now.effects.point[row]) - 1, width: 2, y: 2, height: 12, fill: colour }));
    }
    return picture;
  }

  // Charts.

  // In print, charts are as wide as an A4 page allows, whatever the window.
  const PAPER = 660;
  let paper = null;

  function draw(box, options) {
    const width = paper ?? Math.max(260, Math.floor(box.clientWidth));
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
      height: width < 500 ? 240 : 320,
      marginLeft: 56,
      marginBottom: 44,
      x: { label: "rows, by predicted effect →", labelOffset: 40, domain: [0.5, Math.max(1.5, rows.length + 0.5)], ticks: 5, tickFormat: (value) => (Number.isInteger(value) ? whole.format(value) : "") },
      y: { label: "↑ effect", domain, grid: true, tickFormat: Math.max(...domain.map(Math.abs)) < 1e5 ? undefined : "~s" },
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
      for (const text of [whole.format(row + 1), formatted(now.effects.point[row]), ...ends]) line.append(element("td", text, { className: "n" }));
      return line;
    });
    const body = element("tbody");
    body.append(...lines);
    const top = element("thead");
    top.append(head);
    $("effects-numbers").replaceChildren(top, body);
  }

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

  const fixedCharts = () => {
    document.querySelectorAll(".coverage-chart").forEach(drawCoverage);
    drawWeights();
  };

  const drawCharts = () => {
    drawEffects();
    fixedCharts();
  };

  // Download: the columns of `confide run`, the rows as they are shown.

  function quoted(value) {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function written(value) {
    if (Number.isNaN(value)) return "";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    return Object.is(value, -0) ? "-0.0" : String(value);
  }

  function table() {
    const effects = data.contrasts.map((_, number) => effect(number));
    const numbers = [...now.answered, ...effects].flatMap((each) => [each.point, each.lower, each.upper]);
    const lines = [[...columns.map((column) => column.name), ...data.answers].map(quoted).join(",")];
    for (const row of shown) {
      lines.push([...columns.map((column) => quoted(column.at(row))), ...numbers.map((values) => written(values[row]))].join(","));
    }
    return `${lines.join("\n")}\n`;
  }

  function download() {
    const link = element("a", undefined, { download: `intervals-alpha-${alpha()}.csv` });
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv;charset=utf-8" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // From the reader's choices to what is shown.

  function showNames() {
    for (const box of document.querySelectorAll("[data-side]")) box.textContent = sideName(box.dataset.side);
  }

  // The slider changes only the intervals; everything else on the page is for the report's own level.
  function showMoved() {
    for (const box of document.querySelectorAll(".moved")) {
      box.hidden = alpha() === data.alpha;
      box.textContent = `Shown at α = ${alpha()}; the promise, coverage and warnings on this page are for α = ${data.alpha}.`;
    }
  }

  function showCounts() {
    for (const box of document.querySelectorAll("[data-count]")) box.textContent = whole.format(now.counts[box.dataset.count]);
    const text = $("alpha-text");
    if (!text) return;
    const fixed = data.armAlpha === null ? "" : `; effects do not change, ${stepLevel()}`;
    text.textContent = `α = ${alpha()}: ${outcomeLevel()}${fixed}`;
    $("alpha").setAttribute("aria-valuetext", text.textContent);
  }

  function showRows() {
    select();
    drawHead();
    drawBody();
    drawEffects();
  }

  function showAll() {
    recompute();
    showNames();
    showMoved();
    showCounts();
    showRows();
  }

  let waiting = 0;
  function soon(work) {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(work);
  }

  function listen() {
    $("controls").addEventListener("submit", (event) => event.preventDefault());
    $("contrast")?.addEventListener("change", (event) => {
      state.contrast = Number(event.target.value);
      showAll();
    });
    if (slides) {
      const slider = $("alpha");
      slider.max = data.levels.length - 1;
      slider.value = state.level;
      slider.addEventListener("input", () => {
        state.level = Number(slider.value);
        soon(showAll);
      });
    }
    for (const choice of document.querySelectorAll("[name=group]")) {
      choice.addEventListener("change", () => {
        state.group = choice.value;
        state.page = 0;
        showRows();
      });
    }
    $("search").addEventListener("input", (event) => {
      state.search = event.target.value;
      state.page = 0;
      soon(showRows);
    });
    $("download").addEventListener("click", download);
    $("rows").tHead.addEventListener("click", (event) => {
      const key = event.target.closest("button")?.dataset.key;
      if (key === undefined) return;
      state.sort = { key, down: state.sort.key === key && !state.sort.down };
      state.page = 0;
      showRows();
      $("rows").tHead.querySelector(`[data-key="${key}"]`).focus();
    });
    const turn = (to) => () => {
      state.page = to(Math.max(0, Math.ceil(shown.length / PAGE_ROWS) - 1));
      drawBody();
    };
    $("first").addEventListener("click", turn(() => 0));
    $("previous").addEventListener("click", turn(() => state.page - 1));
    $("next").addEventListener("click", turn(() => state.page + 1));
    $("last").addEventListener("click", turn((last) => last));
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      soon(drawCharts);
    });
    for (const [event, room] of [["beforeprint", PAPER], ["afterprint", null]]) {
      window.addEventListener(event, () => {
        paper = room;
        drawCharts();
      });
    }
  }

  chooseDecimals();
  listen();
  showAll();
  fixedCharts();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
