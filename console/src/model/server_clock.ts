// How far quelld's clock is ahead of this browser's, as far as what it says shows: every instant of the API is by quelld's clock. Pure.

/** A Date header names a whole second, the one that has begun. */
const date_ms = 1000;

export class ServerClock {
  private least = -Infinity;
  private most = Infinity;
  private is_dated = false;

  /** Milliseconds to add to the browser's clock; 0 while what was heard allows that both agree. */
  get offset(): number {
    return Math.min(Math.max(0, this.least), this.most);
  }

  /**
   * An instant that had come on quelld's clock when this was heard. All times are milliseconds since 1970. Behind a proxy with a Date of its own
   * both can contradict each other without end: then the Date counts.
   */
  heard(instant: number, heard_at: number): void {
    if (!Number.isFinite(instant) || (this.is_dated && instant - heard_at > this.most)) return;
    this.narrow(instant - heard_at, Infinity);
  }

  /** The Date of an answer that was written between these two moments. */
  answered(date: number, asked_at: number, answered_at: number): void {
    if (!Number.isFinite(date)) return;
    this.is_dated = true;
    this.narrow(date - answered_at, date + date_ms - asked_at);
  }

  /** What contradicts all before says that one of the clocks was set: then it alone counts. */
  private narrow(least: number, most: number): void {
    const is_set = least > this.most || most < this.least;
    this.least = is_set ? least : Math.max(this.least, least);
    this.most = is_set ? most : Math.min(this.most, most);
  }
}
