// Ids that are chosen here: UUIDv7, so that a request may be repeated.

export function randomHex(bytes) {
  return Array.from(globalThis.crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export function uuid7() {
  const time = Date.now().toString(16).padStart(12, "0");
  const random = randomHex(10);
  const variant = ((parseInt(random[3], 16) & 0x3) | 0x8).toString(16);
  const all = time + "7" + random.slice(0, 3) + variant + random.slice(4, 19);
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-${all.slice(12, 16)}-${all.slice(16, 20)}-${all.slice(20, 32)}`;
}
