import { expect } from 'chai';
import type { Logger } from '../../../shared/runtime/logger.js';
import { createLeftOutWarning } from '../../../worker/left-out-warning.js';

interface Line {
  materials: unknown[];
  count: number;
}

describe('of materials that another session holds', () => {
  let nowMs: number;
  let lines: Line[];
  let warn: ReturnType<typeof createLeftOutWarning>;

  beforeEach(() => {
    nowMs = 0;
    lines = [];
    const logger = { warn: (line: Line) => lines.push(line) } as unknown as Logger;
    warn = createLeftOutWarning(logger, () => nowMs);
  });

  const all = (count: number) => new Set(Array.from({ length: count }, (_, index) => `7.VMAT-${index}`));
  const worked = (queues: Iterable<string>) => [...queues].map((queue) => ({ queue }));
  /** Cycles of a tenth of a second that leave them out each time. */
  function leaveOut(queues: ReadonlySet<string>, forMs: number): void {
    for (const endMs = nowMs + forMs; nowMs < endMs; nowMs += 100) warn(queues, []);
  }

  it('the log tells after two seconds, each by its name, and again after half a minute', () => {
    leaveOut(all(2), 2_000);
    expect(lines).to.deep.equal([]);
    warn(all(2), []);
    const materials = [0, 1].map((index) => ({ shopId: 7, materialId: `VMAT-${index}` }));
    expect(lines).to.deep.equal([{ materials, count: 2 }]);
    leaveOut(all(2), 30_000);
    expect(lines).to.have.length(1);
    warn(all(2), []);
    expect(lines).to.have.length(2);
  });

  it('the log names some where they are many', () => {
    leaveOut(all(50), 2_100);
    expect(lines.map(({ materials, count }) => [materials.length, count])).to.deep.equal([[10, 50]]);
  });

  it('the log tells nothing of those that were worked on in between', () => {
    for (let round = 0; round < 10; round += 1) {
      leaveOut(all(1), 1_900);
      warn(new Set(), worked(all(1)));
    }
    expect(lines).to.deep.equal([]);
  });

  it('the log tells nothing of those that came back after another process had worked on them', () => {
    leaveOut(all(1), 1_000);
    nowMs += 6_000;
    leaveOut(all(1), 2_000);
    expect(lines).to.deep.equal([]);
  });
});
