import type { Logger } from '../runtime/logger.js';
import type { PlatformEvent } from './commerce-platform.js';

const otherVersion =
  'The commerce platform answers by another version of its API than this service was written for: update the service.';

/** What an adapter reports, as warnings. */
export function logPlatformEvents(logger: Logger): (event: PlatformEvent) => void {
  return (event) => {
    const isOtherVersion = event.kind === 'other-version';
    logger.warn(event, isOtherVersion ? otherVersion : 'The commerce platform fails, or answers again.');
  };
}
