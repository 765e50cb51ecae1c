import { expect } from 'chai';
import type { Knex } from 'knex';
import { isServerFull } from '../../../shared/database/raw-connection.js';

/** A client of Knex whose log-in is refused so. */
const refusedWith = (code: string, message: string) =>
  ({
    client: { acquireRawConnection: () => Promise.reject(Object.assign(new Error(message), { code })) },
  }) as unknown as Knex;

describe('a server that has no connection left', () => {
  for (const [code, message] of [
    ['53300', 'sorry, too many clients already'],
    ['08P01', 'no more connections allowed (max_client_conn)'],
    ['08P01', 'client connections exceeded (max_user_client_connections)'],
  ] as const)
    it(`is known by ${code} ${message}`, async () => {
      expect(await isServerFull(refusedWith(code, message))).to.equal(true);
    });

  it('is not one that refuses for another reason', async () => {
    expect(await isServerFull(refusedWith('08P01', 'server login has been failing, try again later'))).to.equal(false);
  });
});
