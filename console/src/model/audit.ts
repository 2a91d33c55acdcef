// The number of the last entry of a list that can only be asked what stands behind a number. Pure but for the question.

/** `has_more(n)`: whether anything stands behind n. About 2 log2 of the end questions. */
export async function find_end(has_more: (after: number) => Promise<boolean>): Promise<number> {
  if (!(await has_more(0))) return 0;
  let low = 0, high = 1;
  while (await has_more(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await has_more(middle)) low = middle;
    else high = middle;
  }
  return high;
}
