// ---- Arrays ----------------------------------------------------------------------------------

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  if (typeof Buffer === "function") return new Uint8Array(Buffer.from(base64, "base64"));
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function readBits(bytes, bits, low, numbers) {
  const mask = (1 << bits) - 1;
  for (let i = 0, at = 0, held = 0, nHeld = 0; i < numbers.length; ++i) {
    for (; nHeld < bits; nHeld += 8) held |= bytes[at++] << nHeld;
    numbers[i] = low + (held & mask);
    held >>>= bits;
    nHeld -= bits;
  }
}

function addSteps(numbers) {
  for (let i = 1; i < numbers.length; ++i) numbers[i] += numbers[i - 1];
}

function lookUp(table, places, numbers) {
  for (let i = 0; i < places.length; ++i) numbers[i] = table[places[i]];
}

// Whole numbers of a few bits each above a low one, or steps between them; a few stand apart.
function unpackIntegers(packed) {
  const { low, bits, apart, steps } = packed, bytes = decode(packed.data);
  const Type = { 8: Uint8Array, 16: Uint16Array, 32: Int32Array }[bits];
  if (Type && low === 0 && !apart && !steps) return new Type(bytes.buffer);
  const numbers = new Int32Array(packed.shape.reduce((a, b) => a * b, 1));
  if (bits === 0) numbers.fill(low);
  else if (Type && low === 0) numbers.set(new Type(bytes.buffer));
  else readBits(bytes, bits, low, numbers);
  if (apart) {
    const places = unpack(apart), values = unpack(packed.values);
    for (let i = 0; i < places.length; ++i) numbers[places[i]] = values[i];
  }
  if (steps) addSteps(numbers);
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
  const Type = packed.type === "f4" ? Float32Array : Float64Array, table = new Type(bytes.buffer);
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
