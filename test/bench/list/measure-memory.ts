import { Agent, request } from 'node:http';
import { memoryMib, peakMemoryMib } from '../process-times.js';

export interface MemoryFigures {
  clients: number;
  answers: number;
  /** Answered with 503: the pool had no connection for 3 s. */
  refused: number;
  megabytes: number;
  beforeMib: number | undefined;
  peakMib: number | undefined;
}

const pageSize = 1_000;

/** Lets clients ask for the largest pages without a pause, each on a connection of its own: what memory that takes. */
export async function measureMemory(
  api: { baseUrl: string; pid: number },
  { key, clients, forMs }: { key: string; clients: number; forMs: number },
): Promise<MemoryFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const beforeMib = memoryMib(api.pid);
  const endMs = performance.now() + forMs;
  let answers = 0;
  let bytes = 0;
  let refused = 0;
  const client = async (_: unknown, number: number) => {
    for (let page = number; performance.now() < endMs; page += clients) {
      const path = `/v1/raw-materials?pageSize=${pageSize}&page=${1 + (page % 100)}`;
      const answer = await drain(agent, `${api.baseUrl}${path}`, key);
      if (answer.status === 200) answers += 1;
      else refused += 1;
      bytes += answer.bytes;
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    agent.destroy();
  }
  return { clients, answers, refused, megabytes: Math.round(bytes / 1e6), beforeMib, peakMib: peakMemoryMib(api.pid) };
}

function drain(agent: Agent, url: string, key: string): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.once('error', reject);
      response.once('end', () => {
        const status = response.statusCode ?? 0;
        if (status === 200 || status === 503) resolve({ status, bytes });
        else reject(new Error(`${url}: ${String(status)}`));
      });
    });
    sent.once('error', reject);
    sent.end();
  });
}
