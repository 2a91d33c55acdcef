// One request of a kind at a time, however often its button is pressed. Pure.

export class OneAtATime {
  private is_busy = false;
  private readonly tell: (is_busy: boolean) => void;

  /** `tell` hears when one begins and when it is over. */
  constructor(tell: (is_busy: boolean) => void = () => {}) {
    this.tell = tell;
  }

  /** False: another one is under way, and `act` was not called. Fails as `act` does. */
  async run(act: () => Promise<unknown>): Promise<boolean> {
    if (this.is_busy) return false;
    this.note(true);
    try {
      await act();
      return true;
    } finally {
      this.note(false);
    }
  }

  private note(is_busy: boolean): void {
    this.is_busy = is_busy;
    this.tell(is_busy);
  }
}
