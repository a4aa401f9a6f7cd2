// The reader's choices, and what follows from them.

// One sign per group, in filter, table and chart. Those who benefit are better under the treated arm, those harmed under
// the control; if nobody said which direction is better, they are those above 0 and those below.
const judged = data.lowerIsBetter !== null;
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
  benefits: { sign: "▲", symbol: "triangle", colour: judged ? "var(--benefit)" : "var(--accent)", says: () => (judged ? `better under ${sideName("treated")}` : "effect above 0") },
  harmed: { sign: "▼", symbol: DOWN, colour: judged ? "var(--harm)" : "var(--ink-2)", says: () => (judged ? `better under ${sideName("control")}` : "effect below 0") },
  undecided: { sign: "●", symbol: "circle", colour: "var(--ink-2)", says: () => "undecided" },
};
// Nobody can be on the side of 0 that is beyond the end which intervals lack.
const lacking = oneEnd ? ((oneEnd === "lower") !== Boolean(data.lowerIsBetter) ? "harmed" : "benefits") : null;
const possible = Object.keys(GROUPS).filter((group) => group !== lacking);
const called = (group) => (group in GROUPS ? GROUPS[group].says() : group);
const isChosen = (row) => chosen !== null && chosen.first[row] <= state.rate;
const state = {
  level: slides ? data.levels.indexOf(data.alpha) : -1,
  contrast: 0,
  group: "all",
  rate: data.chosen ? data.chosen.rates.findIndex((each) => each.asked) : -1,
  search: "",
  filter: { passes: null, error: null, text: "" },
  columns: new Set(),
  sort: { key: "row", down: false },
  page: 0,
};
let now; // intervals and groups at the selected level and contrast
let shown; // rows that pass filter and search, in order

const alpha = () => (slides ? data.levels[state.level] : data.alpha);

function recompute() {
  const answered = arms.map((arm, number) => ({ ...outcomes(number), point: arm.point }));
  const effects = effect(state.contrast);
  const group = new Array(n);
  const counts = { all: n, benefits: 0, harmed: 0, undecided: 0, chosen: 0 };
  for (let i = 0; i < n; i++) {
    const side = effects.lower[i] > 0 ? 1 : effects.upper[i] < 0 ? -1 : 0;
    const good = data.lowerIsBetter ? -side : side;
    group[i] = good > 0 ? "benefits" : good < 0 ? "harmed" : "undecided";
    counts[group[i]]++;
    if (isChosen(i)) counts.chosen++;
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
    if (state.group === "chosen" ? !isChosen(i) : state.group !== "all" && now.group[i] !== state.group) continue;
    if (state.filter.passes && !state.filter.passes(i)) continue;
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
