// UUIDv7: a stop that is sent twice because nobody answered is one stop.

export function uuid7(now = Date.now(), random = crypto.getRandomValues(new Uint8Array(10))): string {
  const time = now.toString(16).padStart(12, '0');
  const r = [...random];
  r[0] = (r[0]! & 0x0f) | 0x70;
  r[2] = (r[2]! & 0x3f) | 0x80;
  const hex = time + r.map((b) => b.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
