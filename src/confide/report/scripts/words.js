// Numbers, intervals, levels and names as text.

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

// Means of outcomes 0 and 1 are risks, and their differences percentage points.
const signed = (text) => text.replace("-", "−");
const percents = (value) => signed((100 * value).toFixed(1));
const formattedMean = (value) => (data.risk && Number.isFinite(value) ? `${percents(value)} %` : formatted(value));
const formattedEffect = (value) => (data.risk && Number.isFinite(value) ? `${percents(value)} pp` : formatted(value));
const unit = data.risk || !data.unit ? "" : ` (${data.unit})`;

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

// Texts about levels. Effects get no percentage that is not theirs; a level that is only requested is not called promised.
const outcomeLevel = () => `${percent(1 - alpha())} ${intervals}${data.promised ? "" : " requested"}`;
const stepLevel = () => `each step at ${data.armAlpha}${data.gamma > 1 ? `/${data.gamma}` : ""}`;
const computedAt = () => (data.gamma > 1 ? `, computed at level ${alpha()}/${data.gamma} = ${Number((alpha() / data.gamma).toPrecision(3))}` : "");

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
