// A token that is to be made, and the same one sent again because no answer came. Pure.

/** As it is filled in. `days`: after which it ends; 0 = never. */
export interface TokenForm {
  name: string;
  role: string;
  scope: string | null;
  days: number;
  expires_at: string | null;
}

/** `id`: chosen here, so quelld makes a token that is sent again only once. */
export type NewToken = TokenForm & { id: string };

/** The token to send. One that has no answer and is sent again unchanged stays the same, also its end; a changed one is another. */
export function token_of(form: TokenForm, unanswered: NewToken | null, new_id: () => string): NewToken {
  const is_same = unanswered !== null && (['name', 'role', 'scope', 'days'] as const).every((field) => unanswered[field] === form[field]);
  return is_same ? unanswered : { ...form, id: new_id() };
}

export function body_of({ id, name, role, scope, expires_at }: NewToken): object {
  return { id, name, role, scope, expires_at };
}

/** `why`: a sentence. */
export function unmade_words(why: string): string {
  return `${why} Whether this token was made is not known. Created again unchanged, it is made once, and its secret is shown.`;
}
