// The marked row of a list: by what stands in it, never by its place, since rows above it come and go. Pure.

/** `key`: of what is marked; '' = nothing. `last`: where its row stood when it was last seen; -1 = nowhere. */
export interface Mark {
  key: string;
  last: number;
}

/** Where the marked row stands among `count` rows; -1 = nothing is marked, or its row is gone. */
export function place_of(mark: Mark, count: number, key_at: (place: number) => string): number {
  if (mark.key === '') return -1;
  if (mark.last >= 0 && mark.last < count && key_at(mark.last) === mark.key) return mark.last;
  for (let place = 0; place < count; ++place) if (key_at(place) === mark.key) return place;
  return -1;
}

/** The row that is marked when somebody goes down (1) or up (-1) from `place`. Where a row has gone, they go on from there. -1 = there is none. */
export function next_place(place: number, last: number, count: number, by: 1 | -1): number {
  if (count === 0) return -1;
  const from = place >= 0 ? place + by : last < 0 ? 0 : by > 0 ? last : last - 1;
  return Math.max(0, Math.min(count - 1, from));
}
