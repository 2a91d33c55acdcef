// What is written in a composer, and the message that is made of it. Pure.

/** `id`: chosen here, so quelld takes a message that is sent again only once. `manner`: what it is to do to a running answer, as somebody has chosen. */
export interface Outgoing {
  id: string;
  text: string;
  manner: string;
}

/**
 * The message to send; null = nothing is written. One that has no answer and is sent again unchanged stays the same message; a changed one is another.
 * What runs meanwhile changes nothing of it: that may be its own answer.
 */
export function message_of(text: string, manner: string, unanswered: Outgoing | null, new_id: () => string): Outgoing | null {
  if (!text.trim()) return null;
  if (unanswered && unanswered.text === text && unanswered.manner === manner) return unanswered;
  return { id: new_id(), text, manner };
}

/** What stays in the field once `sent` was taken: all that was typed behind it meanwhile; everything if it was changed in another way. */
export function rest_of(text: string, sent: string): string {
  return text.startsWith(sent) ? text.slice(sent.length).trimStart() : text;
}

/** `why`: a sentence. */
export function unanswered_words(why: string): string {
  return `${why} Whether this message has arrived is not known. Sent again unchanged, it is taken once.`;
}
