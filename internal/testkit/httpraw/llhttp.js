// What Node's HTTP server, with its parser llhttp at its strict default, understands of the bytes of
// a connection. In: messages on stdin, each after its length (4 bytes, big endian). Out: a line of
// JSON for each, with the requests that were read whole, and the parser's error.
'use strict';
const http = require('http');
const { Duplex } = require('stream');

const server = http.createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
server.httpAllowHalfOpen = true;
server.on('request', (request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('error', () => {});
  request.on('end', () => {
    request.socket.seen.push({ method: request.method, target: request.url, body: Buffer.concat(parts).toString('base64') });
    response.end();
  });
});
server.on('checkContinue', (request, response) => server.emit('request', request, response));
server.on('checkExpectation', (request, response) => server.emit('request', request, response));
server.on('clientError', (err, socket) => {
  socket.error = err.code || String(err);
  setImmediate(() => socket.destroy()); // bodies that were read whole end before
});

function understand(message) {
  return new Promise((resolve) => {
    const socket = new Duplex({ allowHalfOpen: true, read() {}, write(chunk, encoding, done) { done(); } });
    socket.seen = [];
    socket.setTimeout = socket.setNoDelay = socket.setKeepAlive = socket.ref = socket.unref = () => socket;
    socket.on('error', () => {});
    socket.on('close', () => resolve(JSON.stringify({ seen: socket.seen, error: socket.error || '' })));
    server.emit('connection', socket);
    socket.push(message);
    socket.push(null);
  });
}

(async () => {
  let held = Buffer.alloc(0);
  for await (const part of process.stdin) {
    held = Buffer.concat([held, part]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
      const end = 4 + held.readUInt32BE(0);
      process.stdout.write((await understand(held.subarray(4, end))) + '\n');
      held = held.subarray(end);
    }
  }
})();
