// One question to the person, in a dialog of the page: a box of the browser would stop everything else meanwhile, the feed and a stop that is sent again included.
import { signal } from '@preact/signals';

export interface Question {
  title: string;
  /** What happens then, in a sentence. */
  words: string;
  /** The label of a line to fill in; absent: yes or no. */
  line?: string;
  value?: string;
  /** The line may stay empty. */
  is_optional?: boolean;
  /** The word of the button that does it. */
  yes: string;
  is_danger?: boolean;
  most_length?: number;
}

export interface Asked extends Question {
  n: number; // of all questions of this page
  /** null: rather not. */
  answer: (text: string | null) => void;
}

export const asked = signal<Asked | null>(null);
let questions = 0;

/** What was written, without spaces around it ('' if the line may be empty or there is none); null: rather not. Another question ends the one before. */
export function ask_for(question: Question): Promise<string | null> {
  leave_question();
  return new Promise((resolve) => {
    const mine: Asked = { ...question, n: ++questions, answer: (text) => {
      if (asked.value === mine) asked.value = null;
      resolve(text);
    } };
    asked.value = mine;
  });
}

/** It is not answered any more. */
export function leave_question(): void {
  asked.value?.answer(null);
}
