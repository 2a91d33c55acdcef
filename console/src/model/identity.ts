// Who acts from this browser: all tabs share one cookie, so a sign-in in one of them changes it for all. Pure.
import type { Session } from '../api/types.ts';

/** The same rights in the same name. Another session of the same token is the same person. */
export function is_same_identity(a: Session, b: Session): boolean {
  return a.token === b.token && a.role === b.role && a.scope === b.scope && a.owner.id === b.owner.id;
}

/** Whose things a browser keeps: of the person, with whichever token, as far as it may see. */
export function person_key(who: Session): string {
  return `${who.scope ?? ''} ${who.owner.id}`;
}

/** How a person is told who somebody is: the token's name, its role, and the scope if it has one. */
export function identity_words(who: Session): string {
  return `${who.token} (${who.role}${who.scope ? ` in ${who.scope}` : ''})`;
}
