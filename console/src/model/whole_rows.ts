// Which rows of a list in sight are drawn whole, where a frame has no time for all of them. Pure.

export interface Rows {
  first: number;
  last: number; // behind the last one
}

/** Of the rows from `first` to `last`: those that were whole stay so, and `most` more become it, downwards first. */
export function whole_rows(before: Rows, first: number, last: number, most: number): Rows {
  let from = Math.max(before.first, first), to = Math.min(before.last, last);
  if (from >= to) from = to = first;
  const below = Math.min(most, last - to);
  to += below;
  from = Math.max(first, from - (most - below));
  return { first: from, last: to };
}
