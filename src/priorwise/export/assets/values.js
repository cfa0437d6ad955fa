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

class ValueReader {
  constructor(rules) {
    Object.assign(this, rules);
    this.missing = rules.missing === null ? NaN : rules.missing;
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
    if (this.is_nominal) return -1;
    if (NUMBER.test(text)) {
      const number = Number(text);
      if (Number.isFinite(number)) return this.findNumber(number);
    }
    if (this.ignores_texts) return this.missing;
    throw new Error(`column '${this.name}' must hold numbers, as it does in training, got '${value}'`);
  }

  findNumber(number) {
    // Of a map's keys, 0 and -0 are the same.
    const known = this.numbers.get(number);
    if (known !== undefined) return known;
    if (this.is_nominal) return -1;
    if (!Number.isFinite(number))
      throw new Error(`column '${this.name}' must hold finite numbers, got ${number}`);
    return number;
  }

  findBoolean(value) {
    const known = this.booleans.get(value);
    if (known !== undefined) return known;
    return this.is_nominal ? -1 : this.findNumber(value ? 1 : 0);
  }
}
