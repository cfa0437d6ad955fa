// ---- Values ----------------------------------------------------------------------------------

// What Python leaves out around a text.
const SPACES = /^[WHITE_SPACE]+|[WHITE_SPACE]+$/g;
const NUMBER = /^[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$/;
// How Python writes a number: "1.0" and "1.5", but not "1.50", which may be a version.
const PLAIN_NUMBER = /^-?(?:0|[1-9][0-9]{0,14})(?:\.(?:0|[0-9]{0,14}[1-9]))?$/;
const BOOLEANS = new Map([
  ["True", true], ["true", true], ["TRUE", true],
  ["False", false], ["false", false], ["FALSE", false],
]);

function table(pairs) {
  return new Map(pairs.map(([key, value]) => [key, value === null ? NaN : value]));
}

const TIME = /^(?:[T ]\s?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?: ?([AaPp])[Mm])?)?(?: ?(Z|UTC|[+-]\d{2}:?\d{2}))?$/;
const ISO_DATE = /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?!\d)/, YEAR_LAST = /^(\d{1,2})([-./])(\d{1,2})\2(\d{4})(?!\d)/;

// The seconds since 1970 that a text means in a form; null if it is no such date.
function parseDate(text, form) {
  const day = (form === "iso" ? ISO_DATE : YEAR_LAST).exec(text);
  const time = day && TIME.exec(text.slice(day[0].length));
  if (!time) return null;
  const [year, month, date] = (form === "iso" ? [day[1], day[3], day[4]]
    : form === "day-first" ? [day[4], day[3], day[1]] : [day[4], day[1], day[3]]).map(Number);
  const start = new Date(0);
  start.setUTCFullYear(year, month - 1, date);
  if (year < 1 || start.getUTCMonth() !== month - 1 || start.getUTCDate() !== date) return null;
  let hour = Number(time[1] || 0);
  const minute = Number(time[2] || 0), second = Number(time[3] || 0);
  if (time[5]) {
    if (hour < 1 || hour > 12) return null;
    hour = (hour % 12) + (/p/i.test(time[5]) ? 12 : 0);
  }
  if (hour > 23 || minute > 59 || second > 59) return null;
  let seconds = start.getTime() / 1000 + 3600 * hour + 60 * minute + second;
  if (time[6] && time[6] !== "Z" && time[6] !== "UTC")
    seconds -= (time[6][0] === "+" ? 60 : -60) * (60 * Number(time[6].slice(1, 3)) + Number(time[6].slice(-2)));
  return (1e6 * seconds + Number((time[4] || "").slice(0, 6).padEnd(6, "0"))) / 1e6;
}

// Ranks from January and Monday on, and hours with fractions.
const DATE_PARTS = {
  month: (seconds) => new Date(1000 * seconds).getUTCMonth(),
  weekday: (seconds) => (new Date(1000 * seconds).getUTCDay() + 6) % 7,
  hour: (seconds) => (seconds - 86400 * Math.floor(seconds / 86400)) / 3600,
};

const PIECE_LENGTH = 4, SCORE_UNIT = 2 ** -10;

// The checksum of zlib, by which texts are dealt to folds.
function crc32(text) {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

// The words of the text that was asked for last: features of a text follow each other.
let lastText = null, lastWords = null;
function splitWords(text) {
  if (text !== lastText) {
    const all = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
    const joined = all.join(" "), tokens = new Set(all);
    for (const word of new Set(all)) {
      const letters = Array.from(word);
      if (letters.length > PIECE_LENGTH)
        letters.slice(PIECE_LENGTH - 1).forEach((_, k) =>
          tokens.add(`\u2026${letters.slice(k, k + PIECE_LENGTH).join("")}\u2026`));
    }
    [lastText, lastWords] = [text, { n: all.length, tokens, hash: crc32(joined) }];
  }
  return lastWords;
}

class ValueReader {
  constructor(rules) {
    Object.assign(this, rules);
    this.missing = rules.missing === null ? NaN : rules.missing;
    this.placeOf = new Map(rules.words.map((word, place) => [word, place]));
    this.scoreOf = rules.scores && unpack(rules.scores);
    this.texts = table(rules.texts);
    this.numbers = table(rules.numbers);
    this.booleans = table(rules.booleans);
  }

  read(value) {
    const number = this.find(value);
    const isUnknown = this.is_nominal && number < 0;
    if (this.refuses_unknown && (isUnknown || (Number.isNaN(number) && !this.is_ordered)))
      throw new Error(`column '${this.name}' has a value that training did not have: ${value}`);
    return isUnknown && this.is_ordered ? this.missing : number;
  }

  find(value) {
    if (this.form === "text") return this.readText(value);
    if (this.form !== null) {
      const seconds = this.readSeconds(value);
      if (Number.isNaN(seconds)) return this.missing;
      return this.part === null ? seconds : DATE_PARTS[this.part](seconds);
    }
    if (value === undefined || value === null) return this.missing;
    if (typeof value === "bigint") value = Number(value);
    if (typeof value === "number") {
      if (Number.isNaN(value)) return this.missing;
      return this.findNumber(value);
    }
    if (typeof value === "boolean") return this.findBoolean(value);
    const text = String(value).replace(SPACES, "");
    if (BOOLEANS.has(text)) {
      if (this.is_nominal || this.booleans.has(BOOLEANS.get(text)))
        return this.findBoolean(BOOLEANS.get(text));
    } else if (PLAIN_NUMBER.test(text)) {
      return this.findNumber(Number(text));
    }
    if (this.texts.has(text)) return this.texts.get(text);
    if (this.is_nominal) return this.unknown;
    if (NUMBER.test(text)) {
      const number = Number(text);
      if (Number.isFinite(number)) return this.findNumber(number);
    }
    if (this.ignores_texts) return this.missing;
    throw new Error(`column '${this.name}' must hold numbers, as it does in training, got '${value}'`);
  }

  // The number of words of a text, or whether a word or a piece of one is among them.
  readText(value) {
    const isMissing = value === undefined || value === null || Number.isNaN(value);
    let text = isMissing ? "" : String(value).replace(SPACES, "");
    if (PLAIN_NUMBER.test(text)) text = String(Number(text));
    if (isMissing || this.texts.has(text)) return this.part === null ? this.missing : 0;
    const words = splitWords(text);
    if (this.part === null) return words.n;
    if (this.scores === null) return Number(words.tokens.has(this.part));
    const fold = words.hash % this.scores.shape[0], width = this.words.length;
    let sum = 0;
    for (const token of words.tokens)
      if (this.placeOf.has(token)) sum += this.scoreOf[fold * width + this.placeOf.get(token)];
    return sum * SCORE_UNIT;
  }

  // Seconds since 1970: given as such, as a Date or as a text in the form that training had.
  readSeconds(value) {
    if (value === undefined || value === null) return NaN;
    if (value instanceof Date) return value.getTime() / 1000;
    if (typeof value === "bigint") value = Number(value);
    if (typeof value === "number") {
      if (Number.isFinite(value) || Number.isNaN(value)) return value;
      throw new Error(`column '${this.name}' must hold finite numbers, got ${value}`);
    }
    const text = String(value).replace(SPACES, "");
    if (this.texts.has(text)) return NaN;
    const seconds = NUMBER.test(text) ? Number(text) : parseDate(text, this.form);
    if (seconds === null)
      throw new Error(`column '${this.name}' must hold dates, as it does in training, got '${value}'`);
    return seconds;
  }

  findNumber(number) {
    // Of a map's keys, 0 and -0 are the same.
    const known = this.numbers.get(number);
    if (known !== undefined) return known;
    if (this.is_nominal) return this.unknown;
    if (!Number.isFinite(number))
      throw new Error(`column '${this.name}' must hold finite numbers, got ${number}`);
    return number;
  }

  findBoolean(value) {
    const known = this.booleans.get(value);
    if (known !== undefined) return known;
    return this.is_nominal ? this.unknown : this.findNumber(value ? 1 : 0);
  }
}
