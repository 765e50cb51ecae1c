import type { Knex } from 'knex';
import { knexConfig } from './shared/database/connect.js';

/** For the Knex command-line tool: `DATABASE_URL=… npm run knex -- migrate:status`. */
export default function config(): Knex.Config {
  const { DATABASE_URL: url } = process.env;
  // Without a URL the driver would dial the local port and change whatever database is there.
  if (url === undefined || url === '') throw new Error('DATABASE_URL is missing.');
  return knexConfig({ url, poolMax: 1, applicationName: 'raw-materials-knex' });
}
