// A list whose pages are searched here, too: a page can hold nothing that matches, and what matches can stand behind it. Pure but for what it is given.

/** Older pages are read until so many rows are found, or so many pages are read; then a person decides. */
export const enough_rows = 50, most_pages = 25;

/** `ended`: there is nothing older; `enough`: there is something to look at; `limit`: so far little or nothing was found; `unwanted`: nobody wants it any more. */
export type LookedBack = 'ended' | 'enough' | 'limit' | 'unwanted';

/** Reads from `cursor` (null: the newest) back, one page after the other. `take` shows a page and returns how many of its rows match; null = nobody wants it any more. */
export async function look_back<Page extends { next_cursor: string | null }>(
  cursor: string | null, read: (cursor: string | null) => Promise<Page>, take: (page: Page, cursor: string | null) => number | null,
): Promise<LookedBack> {
  let found = 0;
  for (let pages = 0; pages < most_pages; ++pages) {
    const page = await read(cursor);
    const more = take(page, cursor);
    if (more === null) return 'unwanted';
    found += more;
    cursor = page.next_cursor;
    if (cursor === null) return 'ended';
    if (found >= enough_rows) return 'enough';
  }
  return 'limit';
}
