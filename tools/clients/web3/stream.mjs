// A client whose wsEndpoint is the transaction stream gets slots. What the stream has not is refused
// by name, and the client does not run in circles.
import { Connection, PublicKey } from '@solana/web3.js';
import { assert, done, rpcURL, until } from './check.mjs';

let errors = 0;
let message = '';
console.error = (text, detail) => {
  errors++;
  message ||= `${text} ${detail?.error?.message}`;
};
const connection = new Connection(rpcURL, { wsEndpoint: process.env.MINTLAKE_STREAM.replace(/^http/, 'ws') });
let slots = 0;
connection.onSlotChange(() => slots++);
connection.onAccountChange(PublicKey.default, () => {});
await until(90, 'a slot and a refusal', () => slots > 0 && message !== '');
assert.match(message, /accountSubscribe.*RPC address/);
const before = errors;
await new Promise((over) => setTimeout(over, 8000));
errors -= before;
assert.ok(errors <= 30, `${errors} tries in 8 s`);
done(`stream (${slots} slots, ${errors} tries in 8 s)`);
