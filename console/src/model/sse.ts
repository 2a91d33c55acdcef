// A text/event-stream, piece by piece: text comes in as it arrives, events come out one at a time. Pure.

export interface StreamEvent {
  id: string; // '' = it has none
  data: string;
}

export class StreamParser {
  private text = '';
  private at = 0;

  add(text: string): void {
    this.text = this.at === this.text.length ? text : this.text.slice(this.at) + text;
    this.at = 0;
  }

  /** The next whole event that has data; null: more text is needed. Comments are passed over. */
  next(): StreamEvent | null {
    for (;;) {
      const end = this.text.indexOf('\n\n', this.at);
      if (end < 0) return null;
      const block = this.text.slice(this.at, end);
      this.at = end + 2;
      const event: StreamEvent = { id: '', data: '' };
      for (const line of block.split('\n')) {
        if (line.startsWith('data:')) event.data += (event.data ? '\n' : '') + line.slice(line[5] === ' ' ? 6 : 5);
        else if (line.startsWith('id:')) event.id = line.slice(3).trim();
      }
      if (event.data) return event;
    }
  }
}
