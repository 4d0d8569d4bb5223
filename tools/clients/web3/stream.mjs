// A client whose wsEndpoint is the transaction stream is told so, and does not run in circles.
import { Connection } from '@solana/web3.js';
import { assert, done, rpcURL } from './check.mjs';

let errors = 0;
let message = '';
console.error = (text, detail) => {
  errors++;
  message ||= `${text} ${detail?.error?.message}`;
};
const connection = new Connection(rpcURL, { wsEndpoint: process.env.MINTLAKE_STREAM.replace(/^http/, 'ws') });
connection.onSlotChange(() => {});
await new Promise((over) => setTimeout(over, 8000));
assert.match(message, /slotSubscribe.*RPC address/);
assert.ok(errors >= 1 && errors <= 30, `${errors} tries in 8 s`);
done(`stream (${errors} tries in 8 s)`);
