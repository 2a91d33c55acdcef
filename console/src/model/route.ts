// Addresses of views: every view has one, with its filters in the query. Pure.

export interface Route {
  view: 'home' | 'tree' | 'operation' | 'cancel' | 'cancels' | 'ended' | 'conversation' | 'workers' | 'cluster' | 'cost' | 'audit' | 'tokens' | 'unknown';
  id: string;
  query: URLSearchParams;
}

const plain_views = ['tree', 'cancels', 'ended', 'conversation', 'workers', 'cluster', 'cost', 'audit', 'tokens'] as const;

/** The path and the query of an address; a `?` in the query is a part of it. */
export function split_address(address: string): { path: string; search: string } {
  const at = address.indexOf('?');
  return at < 0 ? { path: address, search: '' } : { path: address.slice(0, at), search: address.slice(at + 1) };
}

/** null: it is not encoded as an address must be. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

export function parse_route(path: string, search: string): Route {
  const query = new URLSearchParams(search);
  const parts = path.split('/').filter(Boolean).map(decoded);
  if (parts.includes(null)) return { view: 'unknown', id: '', query };
  const [first, second] = parts;
  if (!first) return { view: 'home', id: '', query };
  if (parts.length === 2 && second && first === 'operations') return { view: 'operation', id: second, query };
  if (parts.length === 2 && second && first === 'cancels') return { view: 'cancel', id: second, query };
  const view = plain_views.find((name) => name === first);
  return { view: view && parts.length === 1 ? view : 'unknown', id: '', query };
}

/** A path of these parts, whatever characters they have. `.` and `..` would lead to another folder, however they are encoded; nothing has such an id. */
function path_of(parts: readonly string[]): string {
  return `/${parts.map((part) => (part === '.' || part === '..' ? '-' : encodeURIComponent(part))).join('/')}`;
}

/** A path of the API: `api_path('operations', id, 'output')`. */
export function api_path(...parts: string[]): string {
  return path_of(['v1', ...parts]);
}

export function operation_link(id: string): string {
  return path_of(['operations', id]);
}

export function cancel_link(id: string): string {
  return path_of(['cancels', id]);
}

/** The path with these parameters; empty ones are left out. */
export function link(path: string, query: Record<string, string | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}
