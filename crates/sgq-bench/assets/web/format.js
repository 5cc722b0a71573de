// Numbers and times as people read them: the same words as `sgq_bench::readable` and `sgq_ledger::money` write, which a
// table of cases compares.

// Where both neighbours are equally near, Rust takes the even digit and JavaScript the larger number: so many digits show
// whether that is so, as the distance of any other double from such a half shows much earlier.
const EXACT_DIGITS = 100;

// `exact`, a number with all its digits, cut after `kept` characters if that is where the rounded number should be.
function cutAtEvenHalf(exact, kept) {
  if (!/^\.?50*(e|$)/.test(exact.slice(kept))) return null;
  return "02468".includes(exact[kept - 1]) ? exact.slice(0, kept) : null;
}

// With `digits` digits behind the point, halves to the even digit.
function exponential(number, digits) {
  const exact = number.toExponential(EXACT_DIGITS);
  const even = cutAtEvenHalf(exact, exact.indexOf(".") + 1 + digits);
  return even === null ? number.toExponential(digits) : even + exact.slice(exact.indexOf("e"));
}

// The same without an exponent.
function fixed(number, digits) {
  const exact = number.toFixed(EXACT_DIGITS);
  const even = cutAtEvenHalf(exact, exact.indexOf(".") + (digits > 0 ? 1 + digits : 0));
  return even ?? number.toFixed(digits);
}

function shortest(number) {
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  return Object.is(number, -0) ? "-0" : String(number);
}

function scientific(number) {
  if (!Number.isFinite(number)) return shortest(number);
  return (Object.is(number, -0) ? "-" : "") + number.toExponential().replace("e+", "e");
}

// A number with four digits that count.
export function short(number) {
  if (number === 0 || !Number.isFinite(number)) return shortest(number);
  const rounded = Number(exponential(number, 3));
  const size = Math.abs(number);
  return size >= 1e-3 && size < 1e6 ? shortest(rounded) : scientific(rounded);
}

// A number as short as a reader likes it; it reads back as the same number.
export function readable(number) {
  return number >= 1e-4 && number < 1e6 ? shortest(number) : scientific(number);
}

// `12,345`; below a hundred with a digit behind the point, where it has one.
export function grouped(number) {
  if (number < 100) {
    const tenths = Math.sign(number) * Math.round(Math.abs(number * 10));
    return shortest((tenths === 0 && (number < 0 || Object.is(number, -0)) ? -0 : tenths) / 10);
  }
  if (!Number.isFinite(number)) return shortest(number);
  return BigInt(Math.round(number)).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

// Microseconds in a unit that fits, with three digits that count.
export function readableTime(us) {
  const [value, unit] = us < 999.5 ? [us, "µs"] : us < 999500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
  return `${fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
}

// An amount for a person: to the cent, or whole.
export function money(amount) {
  if (!Number.isFinite(amount) || Math.abs(amount) >= 1e13) return scientific(amount);
  if (amount > 0 && amount < 0.005) return "less than 0.01";
  if (Math.abs(amount) < 0.005) return "0";
  return fixed(amount, 2).replace(/\.00$/, "");
}

// How long something takes or took, from milliseconds: `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const two = (first, unit, rest, small) => `${first} ${unit}${rest > 0 ? ` ${rest} ${small}` : ""}`;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return two(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

// A moment, from milliseconds since 1970, on the reader's own clock: `2026-11-20 14:03:07`.
export function moment(ms) {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "–";
  const pad = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

// How long ago a moment is: `now`, `12 s ago`.
export function ago(ms, now = Date.now()) {
  return now - ms < 1000 ? "now" : `${duration(now - ms)} ago`;
}
