// ---- Arrays ----------------------------------------------------------------------------------

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  if (typeof Buffer === "function") return new Uint8Array(Buffer.from(base64, "base64"));
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Numbers of at most 24 bits above a low one; all bits set stand for the next number of `more`.
function readBits(bytes, bits, low, more, numbers) {
  const mask = (1 << bits) - 1, escape = more.length ? mask : -1, isShort = bits <= 9;
  for (let i = 0, place = 0, next = 0; i < numbers.length; ++i, place += bits) {
    const at = place >>> 3;
    let held = bytes[at] | (bytes[at + 1] << 8);
    if (!isShort) held |= (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    const code = (held >>> (place & 7)) & mask;
    numbers[i] = code === escape ? more[next++] : low + code;
  }
}

function addSteps(numbers) {
  for (let i = 1; i < numbers.length; ++i) numbers[i] += numbers[i - 1];
}

function lookUp(table, places, numbers) {
  for (let i = 0; i < places.length; ++i) numbers[i] = table[places[i]];
}

// Numbers of whole bytes, read without a loop but for those of `more`.
function readBytes(codes, bits, more, numbers) {
  numbers.set(codes);
  const escape = (1 << bits) - 1;
  for (let next = 0, at = -1; next < more.length; ++next) {
    at = codes.indexOf(escape, at + 1);
    numbers[at] = more[next];
  }
}

// Whole numbers, or steps between them. All loops have arrays of one type, which browsers compile to
// faster code.
function unpackIntegers(packed) {
  const { low, bits, steps } = packed, bytes = decode(packed.data);
  if (bits === 32) return new Int32Array(bytes.buffer);
  const codes = low !== 0 ? null
    : bits === 8 ? bytes : bits === 16 ? new Uint16Array(bytes.buffer) : null;
  if (codes && !packed.more && !steps) return codes;
  const numbers = new Int32Array(packed.shape.reduce((a, b) => a * b, 1));
  const more = new Int32Array(packed.more ? unpack(packed.more) : 0);
  if (bits === 0) numbers.fill(low);
  else if (codes) readBytes(codes, bits, more, numbers);
  else readBits(bytes, bits, low, more, numbers);
  if (steps) addSteps(numbers);
  return numbers;
}

// Numbers some of which are whole ones, apart from the others.
function mergeWhole(isWhole, whole, others, numbers) {
  for (let i = 0, w = 0, o = 0; i < isWhole.length; ++i)
    numbers[i] = isWhole[i] ? whole[w++] : others[o++];
}

function addOpposites(firsts, numbers) {
  for (let i = 0; i < firsts.length; ++i) {
    numbers[2 * i] = firsts[i];
    numbers[2 * i + 1] = -firsts[i];
  }
  return numbers;
}

// Rows of two numbers that add up to one, from the smaller ones and what _pack_pairs codes.
function joinPairs(smaller, codes, values, whole) {
  for (let i = 0; i < codes.length; ++i) {
    const second = codes[i] > 2 ? 1 : 0;
    values[2 * i + 1 - second] = smaller[i];
    values[2 * i + second] = 1 - smaller[i];
    whole[2 * i + second] += codes[i] - 3 * second - 1;
  }
  return values;
}

function unpack(packed) {
  if (packed.type === "int") return unpackIntegers(packed);
  const bytes = decode(packed.data);
  if (packed.type === "pairs") {
    const values = new Float32Array(bytes.length / 2);
    return joinPairs(
      new Float32Array(bytes.buffer), unpack(packed.codes), values, new Int32Array(values.buffer));
  }
  if (packed.type === "opposites")
    return addOpposites(new Float32Array(bytes.buffer), new Float32Array(bytes.length / 2));
  const Type = packed.type === "f4" ? Float32Array : Float64Array, table = new Type(bytes.buffer);
  if (packed.is_whole) {
    const isWhole = unpack(packed.is_whole), numbers = new Type(isWhole.length);
    mergeWhole(isWhole, unpack(packed.whole), table, numbers);
    return numbers;
  }
  if (!packed.places) return table;
  const places = unpack(packed.places), numbers = new Type(places.length);
  lookUp(table, places, numbers);
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
