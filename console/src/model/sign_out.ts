// The words of a sign-out that quelld has not confirmed: only quelld can end a session, since no script of the page can drop its cookie. Pure.

/** `why`: a sentence. `may_be_over`: the request may have arrived. `who`: as whom the browser still acts. */
export function not_signed_out_words(why: string, may_be_over: boolean, who: string): string {
  const what = may_be_over ? 'Not signed out, as far as this page knows.' : 'Not signed out.';
  return `${what} ${why} Until quelld has ended the session, whoever uses this browser acts as ${who}.`;
}
