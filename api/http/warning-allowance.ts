import type { Logger } from '../../shared/runtime/logger.js';

const warningsMaxPerSecond = 50;

/**
 * Whether an answer with a server error may be logged now, at most `warningsMaxPerSecond` times a second: in an
 * overload refusing must stay cheaper than serving. A line at the end of the second counts the others.
 */
export function createWarningAllowance(logger: Logger): () => boolean {
  let asked = 0;
  const endSecond = () => {
    const leftOutCount = asked - warningsMaxPerSecond;
    asked = 0;
    if (leftOutCount > 0) logger.warn({ leftOutCount }, 'More were answered with a server error, and are not logged.');
  };
  return () => {
    if (asked === 0) setTimeout(endSecond, 1_000).unref();
    asked += 1;
    return asked <= warningsMaxPerSecond;
  };
}
