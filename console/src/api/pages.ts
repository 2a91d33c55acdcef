// Lists that are shown from their newest row back, as far as somebody has asked for.
import { get } from './client.ts';

const most_in_page = 500;
const most_pages = 200; // pages can be short, even empty, and still not be the last

export interface Newest<T> {
  rows: T[];
  has_more: boolean;
}

/** The newest `many` rows of a list, under `field` of its pages. `path` has a query. */
export async function read_newest<T>(path: string, field: string, many: number): Promise<Newest<T>> {
  const rows: T[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < most_pages; ++pages) {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Record<string, unknown> = await get<Record<string, unknown>>(`${path}&limit=${Math.min(most_in_page, many - rows.length)}${more}`);
    rows.push(...(page[field] as T[]));
    cursor = (page['next_cursor'] as string | null | undefined) ?? null;
    if (cursor === null || rows.length >= many) break;
  }
  return { rows, has_more: cursor !== null };
}
