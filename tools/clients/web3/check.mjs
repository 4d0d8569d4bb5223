// What the scripts beside this one share.
import assert from 'node:assert/strict';

export const rpcURL = process.env.MINTLAKE_RPC;

// within fails when promise takes longer than some seconds. The machine may be busy: the limit is for hanging.
export function within(seconds, what, promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not done within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

// until repeats look until it returns something, for some seconds.
export async function until(seconds, what, look) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`${what}: not seen within ${seconds} s`);
}

// patient is fetch from a node that may be late: what asks to try again is tried again, for 90 seconds.
const plain = globalThis.fetch;
export async function patient(...request) {
  for (const end = Date.now() + 90_000; ; await new Promise((over) => setTimeout(over, 500))) {
    const answer = await plain(...request);
    if (![429, 502, 503].includes(answer.status) || Date.now() > end) return answer;
  }
}

export function done(name) {
  console.log(`${name}: ok`);
  process.exit(0); // the clients keep their WebSockets open for a while
}

process.on('unhandledRejection', (err) => {
  console.error(err);
  process.exit(1);
});

export { assert };
