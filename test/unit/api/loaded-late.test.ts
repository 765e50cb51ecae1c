import { expect } from 'chai';
import { pino } from 'pino';
import type { AgentSurfaceDeps } from '../../../api/agent/agent-surface.js';
import { loadAgentSurface } from '../../../api/agent/load-agent-surface.js';
import type { AgentRequest } from '../../../api/agent-exchange.js';
import { answerFault } from '../../../api/http/catch-faults.js';
import { createReference } from '../../../api/reference/reference.js';

const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const request = { caller: { scope: 'read', requestId: 'x' }, message, headers: {} } as unknown as AgentRequest;

describe('a part of the API that is loaded when it is first asked for', () => {
  const tooManyFiles = Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' });
  /** Fails once, as where the process has no file left to open. */
  const failingOnce = <T>(load: () => T) => {
    let calls = 0;
    return () => {
      calls += 1;
      return calls === 1 ? Promise.reject(tooManyFiles) : Promise.resolve(load());
    };
  };
  /** The code that a client is answered, and what the log says of it. */
  const told = async (work: () => Promise<unknown>) => {
    const error = await work().then(
      () => expect.fail('it was served'),
      (fault: unknown) => fault,
    );
    let line = '';
    const deps = { logger: pino({}, { write: (text) => (line += text) }), isStorageReady: () => true };
    const { code } = answerFault(deps, error, { requestId: 'x', route: undefined }).error;
    const { level, err } = JSON.parse(line) as { level: number; err: { message: string } };
    return { code, level: pino.levels.labels[level], said: err.message };
  };

  it('the agent surface: a failure is a fault of ours, not of Postgres, and the next message is served', async () => {
    const deps = { services: { logger: pino({ level: 'silent' }) } } as unknown as AgentSurfaceDeps;
    const surface = loadAgentSurface(
      deps,
      failingOnce(() => import('../../../api/agent/agent-surface.js')),
    );
    const { said, ...first } = await told(() => surface(request));
    expect(first).to.deep.equal({ code: 'INTERNAL_ERROR', level: 'error' });
    expect(said).to.match(/^the agent surface cannot be loaded: EMFILE/);
    expect(await surface(request)).to.include({ status: 200 });
  });

  it('a file of the page: a failure is a fault of ours, not of Postgres, and the next request is served', async () => {
    const read = failingOnce(() => Buffer.from('the file'));
    const file = createReference([], new Map([['page.css', { type: 'text/css', read }]])).get('/docs/page.css')!;
    const { said, ...first } = await told(() => file.content());
    expect(first).to.deep.equal({ code: 'INTERNAL_ERROR', level: 'error' });
    expect(said).to.match(/^a public file cannot be read: EMFILE/);
    expect(String((await file.content()).plain)).to.equal('the file');
  });
});
