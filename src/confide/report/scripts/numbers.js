// Numbers, exactly as Python has them: the data of the page, and intervals at the level that is chosen.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const PAGE_ROWS = 25;
// Up to MOST_SINGLE rows are drawn one by one; more rows in STEPS groups.
const MOST_SINGLE = 250;
const STEPS = 160;
const EPSILON = Number.EPSILON;
const NO_VALUE = "–";

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
const exact = slides && !data.moved; // one offset for all rows gives the intervals at every level
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

// Ends at levels that were worked out beforehand: numbers of steps, rounded outwards, or a list of values.
const [MINUS_INFINITE, INFINITE, EMPTY] = [65533, 65534, 65535];
const worked = new Map();
function ends(column) {
  if (column.floats) return Float64Array.from(unpacked(column.floats, Float32Array));
  if (column.values) {
    const values = floats(column.values);
    if (!column.codes) return new Float64Array(n).fill(values[0]);
    return Float64Array.from(unpacked(column.codes, Uint8Array), (code) => values[code]);
  }
  const [mantissa, exponent] = data.step;
  const power = Number(`1e${Math.abs(exponent)}`);
  return Float64Array.from(unpacked(column.codes, Uint16Array), (code) => {
    if (code >= MINUS_INFINITE) return code === EMPTY ? NaN : code === INFINITE ? Infinity : -Infinity;
    const by = (column.from + code) * mantissa;
    return exponent < 0 ? by / power : by * power;
  });
}

function workedOut(place) {
  const key = `${alpha()}:${place}`;
  if (!worked.has(key)) {
    const columns = data.moved[alpha()];
    worked.set(key, { lower: ends(columns[2 * place]), upper: ends(columns[2 * place + 1]) });
  }
  return worked.get(key);
}
const elsewhere = () => data.moved && alpha() !== data.alpha;

function outcomes(number) {
  const arm = arms[number];
  if (elsewhere()) return workedOut(number);
  return exact ? armInterval(arm, arm.outcome, state.level) : arm;
}

function effect(number) {
  const [treated, control] = data.contrasts[number];
  const point = arms[treated].point.map((value, i) => value - arms[control].point[i]);
  if (elsewhere()) return { point, ...workedOut(arms.length + number) };
  if (!exact) return { point, lower: pool[data.effects[number].lower], upper: pool[data.effects[number].upper] };
  const one = armInterval(arms[treated], arms[treated].effect, state.level);
  const other = armInterval(arms[control], arms[control].effect, state.level);
  return {
    point,
    lower: one.lower.map((value, i) => value - other.upper[i]),
    upper: one.upper.map((value, i) => value - other.lower[i]),
  };
}


// The number of each row in the table that was asked about, of which the page may hold a sample.
const places = data.places && unpacked(data.places, Uint32Array);
const rowNumber = (row) => whole.format((places ? places[row] : row) + 1);

// Whom to choose: the number of the smallest rate at which each row is chosen, and its p-value.
const chosen = data.chosen && {
  first: unpacked(data.chosen.first, Uint8Array),
  pValue: ((levels, places) => (row) => levels[places[row]])(
    floats(data.chosen.pValues),
    unpacked(data.chosen.places, floats(data.chosen.pValues).length > 65535 ? Uint32Array : Uint16Array),
  ),
};
