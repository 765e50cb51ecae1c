import type { Redis } from 'ioredis';
import type { Database } from '../shared/database/connect.js';
import type { CommercePlatform } from '../shared/platform/commerce-platform.js';
import type { Logger } from '../shared/runtime/logger.js';
import type { ApiMetrics } from './admin/api-metrics.js';
import type { ApiSettings } from './config.js';
import type { Dispatch } from './dispatch/dispatch.js';
import type { OpenPlatformShop } from './platform-shop-opener.js';
import type { Reads } from './reads.js';

/** Everything the app needs, opened by main.ts. */
export interface Services {
  settings: ApiSettings;
  logger: Logger;
  metrics: ApiMetrics;
  /** For the process' own questions; what a client reads goes through `reads`. */
  database: Database;
  reads: Reads;
  dispatch: Pick<Dispatch, 'submit' | 'inHandMax' | 'ready'>;
  limiterRedis: Redis;
  platform: CommercePlatform;
  openPlatformShop: OpenPlatformShop;
}
