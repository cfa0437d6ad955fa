// ---- Arrays ----------------------------------------------------------------------------------

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  if (typeof Buffer === "function") return new Uint8Array(Buffer.from(base64, "base64"));
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const ARRAY_TYPES = {
  u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

// All loops have arrays of one type, which browsers compile to faster code.
function lookUp(table, places, numbers) {
  for (let i = 0; i < places.length; ++i) numbers[i] = table[places[i]];
}

// Puts the numbers of `more` in the places of codes that have all bits set.
function addMore(codes, more, numbers) {
  const escape = 256 ** codes.BYTES_PER_ELEMENT - 1;
  numbers.set(codes);
  for (let next = 0, at = -1; next < more.length; ++next) {
    at = codes.indexOf(escape, at + 1);
    numbers[at] = more[next];
  }
}

function unpack(packed) {
  const Type = ARRAY_TYPES[packed.type], table = new Type(decode(packed.data).buffer);
  if (packed.places) {
    const places = unpack(packed.places), numbers = new Type(places.length);
    lookUp(table, places, numbers);
    return numbers;
  }
  if (!packed.more) return table;
  const numbers = new Int32Array(table.length);
  addMore(table, unpack(packed.more), numbers);
  return numbers;
}

// Unpacks the arrays of a description; all else stays as it is.
function unpackAll(value) {
  if (Array.isArray(value)) return value.map(unpackAll);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.data === "string" && typeof value.type === "string") return unpack(value);
  const result = {};
  for (const key of Object.keys(value)) result[key] = unpackAll(value[key]);
  return result;
}

// Sums of the numbers before each place, and of all.
function cumulate(numbers) {
  const sums = new Int32Array(numbers.length + 1);
  for (let i = 0; i < numbers.length; ++i) sums[i + 1] = sums[i] + numbers[i];
  return sums;
}
