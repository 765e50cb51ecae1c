import { knexConfig } from './shared/database/connect.js';

/** For the Knex command-line tool: `DATABASE_URL=… npm run knex -- migrate:status`. */
export default knexConfig({
  url: process.env['DATABASE_URL'] ?? '',
  poolMax: 1,
  applicationName: 'raw-materials-knex',
});
