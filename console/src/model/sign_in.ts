// What somebody signs in with: a token, or the one-time link that `quell console` prints. Pure.

export type SignIn = { token: string } | { link: string };

/** The secret of a link that stands behind the `#` of an address; null = there is none. */
export function link_in(hash: string): string | null {
  return /^#link=([\w-]+)$/.exec(hash)?.[1] ?? null;
}

/** What was given in the field for a token: that, or a whole link, or the secret of one. */
export function sign_in_of(text: string): SignIn {
  const given = text.trim();
  const at = given.indexOf('#');
  const link = at >= 0 ? link_in(given.slice(at)) : /^ql_[\w-]+$/.test(given) ? given : null;
  return link === null ? { token: given } : { link };
}
